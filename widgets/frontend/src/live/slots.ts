/** A copy of a trace in which whatever a run can change has a preview of its own. */
import { numbersOf, previewOf } from "./numbers";
import type { Known } from "./memory";
import type { NumberArray } from "./arrays";
import type { Maybe, NodeRecord, Scalar, TensorRecord, Trace, TraceEvent, Value } from "../trace/types";

type Fields = Record<string, unknown>;

/** The preview of an array that was computed: what nobody looks at is not made. */
class Preview implements Value {
  readonly live = true;
  private made: Value | null = null;

  constructor(
    private readonly array: NumberArray,
    readonly recorded: Value,
  ) {}

  get shape(): number[] {
    return this.recorded.shape;
  }

  get dtype(): string {
    return this.recorded.dtype;
  }

  get data(): Scalar[] {
    return this.preview.data as Scalar[];  // undefined where there are statistics, as in every preview
  }

  get stats(): NonNullable<Value["stats"]> {
    return this.preview.stats as NonNullable<Value["stats"]>;
  }

  private get preview(): Value {
    return (this.made ??= previewOf(this.array));
  }
}

export class Slots {
  readonly trace: Trace;
  /** By slot, the preview that was recorded. */
  private readonly recorded = new Map<number, Value>();
  /** By slot, the index of that preview in the recorded trace. */
  private readonly origin = new Map<number, number>();
  /** By slot, all numbers that are shown there, where they are known. */
  private readonly arrays = new Map<number, NumberArray>();

  constructor(original: Trace) {
    const events = original.events.map((event) => ({ ...event })) as TraceEvent[];
    const tensors = original.tensors.map((record): TensorRecord => ({ ...record }));
    const nodes = original.nodes.map((node): NodeRecord => ({ ...node, saved: node.saved.map((row): NodeRecord["saved"][number] => [...row]) }));
    this.trace = { ...original, values: [...original.values], events, tensors, nodes };
  }

  /** The index that a preview of the copy has in the recorded trace. */
  recordedIndex(value: number): number {
    return this.origin.get(value) ?? value;
  }

  /** All numbers of a preview of the copy; null where they are not known. */
  array(value: Maybe | undefined): NumberArray | null {
    return value == null ? null : (this.arrays.get(value) ?? numbersOf(this.trace.values[value]));
  }

  /** Shows what a field of an event holds now. */
  show(step: number, field: string, known: Known | null): void {
    const event = this.trace.events[step] as unknown as Fields;
    event[field] = this.exchange(event[field] as Maybe | undefined, known);
  }

  /** The same of an entry of a list. */
  showAt(step: number, field: string, at: number, known: Known): void {
    const event = this.trace.events[step] as unknown as Fields;
    const list = event[field] as Maybe[];
    const slot = this.exchange(list[at], known);
    if (slot === list[at]) return;
    event[field] = list.map((value, i) => (i === at ? slot : value));
  }

  /** The same of a list of pairs, of tensors and what they hold. */
  showPair(step: number, field: string, at: number, known: Known): void {
    const event = this.trace.events[step] as unknown as Fields;
    event[field] = (event[field] as [number, Maybe][]).map(([tensor, value], i) => [tensor, i === at ? this.exchange(value, known) : value]);
  }

  /** What was sent along an edge is also what has piled up, where nothing was before. */
  share(step: number): void {
    const event = this.trace.events[step];
    if (event?.kind === "flow" && event.sum !== null) event.sum = event.gradient;
  }

  showTensor(id: number, known: Known): void {
    const record = this.trace.tensors[id];
    if (record) record.value = this.exchange(record.value, known) as number;
  }

  showSaved(id: number, at: number, known: Known): void {
    const row = this.trace.nodes[id]?.saved[at];
    if (row) row[2] = this.exchange(row[2], known) as Maybe;
  }

  private exchange(value: Maybe | undefined, known: Known | null): Maybe | undefined {
    if (value == null) return value;
    const { values } = this.trace;
    const slot = this.recorded.has(value) ? value : values.push(values[value] as Value) - 1;
    if (slot !== value) {
      this.recorded.set(slot, values[value] as Value);
      this.origin.set(slot, value);
    }
    const recorded = this.recorded.get(slot) as Value;
    if (known?.array && !known.stale) this.arrays.set(slot, known.array);
    else this.arrays.delete(slot);
    if (!known || (!known.touched && !known.stale)) values[slot] = recorded;
    else if (known.stale || !known.array) values[slot] = { ...recorded, stale: true };
    else values[slot] = new Preview(known.array, recorded);
    return slot;
  }
}
