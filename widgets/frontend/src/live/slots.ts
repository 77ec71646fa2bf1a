/** A copy of a trace in which whatever a run can change has its own preview. */
import type { NumberArray } from "./arrays";
import type { Scalar, Value, Maybe, NodeRecord, TensorRecord, Trace, TraceEvent } from "../trace/types";
import type { Known } from "./memory";
import { numbersOf, previewOf } from "./previews";

type Fields = Record<string, unknown>;

/** The preview of a computed array, created on demand. */
class Preview implements Value {
  readonly live = true;
  #made: Value | null = null;

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
    return this.#preview.data as Scalar[];  // undefined where there are statistics, as in every preview
  }

  get stats(): NonNullable<Value["stats"]> {
    return this.#preview.stats as NonNullable<Value["stats"]>;
  }

  get #preview(): Value {
    return (this.#made ??= previewOf(this.array));
  }
}

export class Slots {
  readonly trace: Trace;
  /** By slot, the recorded preview. */
  readonly #recorded = new Map<number, Value>();
  /** By slot, the index of that preview in the recorded trace. */
  readonly #origin = new Map<number, number>();
  /** By slot, all numbers shown there, if they are known. */
  readonly #arrays = new Map<number, NumberArray>();

  constructor(original: Trace) {
    const events = original.events.map((event) => ({ ...event })) as TraceEvent[];
    const tensors = original.tensors.map((record): TensorRecord => ({ ...record }));
    const nodes = original.nodes.map((node): NodeRecord => ({ ...node, saved: node.saved.map((row): NodeRecord["saved"][number] => [...row]) }));
    this.trace = { ...original, values: [...original.values], events, tensors, nodes };
  }

  /** The index in the recorded trace of a preview of the copy. */
  recordedIndex(value: number): number {
    return this.#origin.get(value) ?? value;
  }

  /** All numbers of a preview of the copy; null if they are unknown. */
  array(value: Maybe | undefined): NumberArray | null {
    return value == null ? null : (this.#arrays.get(value) ?? numbersOf(this.trace.values[value]));
  }

  /** Shows the new value of a field of an event. */
  show(step: number, field: string, known: Known | null): void {
    const event = this.trace.events[step] as unknown as Fields;
    event[field] = this.#exchange(event[field] as Maybe | undefined, known);
  }

  /** The same for an entry of a list. */
  showAt(step: number, field: string, at: number, known: Known): void {
    const event = this.trace.events[step] as unknown as Fields;
    const list = event[field] as Maybe[];
    const slot = this.#exchange(list[at], known);
    if (slot === list[at]) return;
    event[field] = list.map((value, i) => (i === at ? slot : value));
  }

  /** The same for a list of pairs of tensors and their values. */
  showPair(step: number, field: string, at: number, known: Known): void {
    const event = this.trace.events[step] as unknown as Fields;
    event[field] = (event[field] as [number, Maybe][]).map(([tensor, value], i) => [tensor, i === at ? this.#exchange(value, known) : value]);
  }

  /** The gradient sent along an edge is also the sum, if there was none before. */
  share(step: number): void {
    const event = this.trace.events[step];
    if (event?.kind === "flow" && event.sum !== null) event.sum = event.gradient;
  }

  showTensor(id: number, known: Known): void {
    const record = this.trace.tensors[id];
    if (record) record.value = this.#exchange(record.value, known) as number;
  }

  showSaved(id: number, at: number, known: Known): void {
    const row = this.trace.nodes[id]?.saved[at];
    if (row) row[2] = this.#exchange(row[2], known) as Maybe;
  }

  #exchange(value: Maybe | undefined, known: Known | null): Maybe | undefined {
    if (value == null) return value;
    const { values } = this.trace;
    const slot = this.#recorded.has(value) ? value : values.push(values[value] as Value) - 1;
    if (slot !== value) {
      this.#recorded.set(slot, values[value] as Value);
      this.#origin.set(slot, value);
    }
    const recorded = this.#recorded.get(slot) as Value;
    if (known?.array && !known.stale) this.#arrays.set(slot, known.array);
    else this.#arrays.delete(slot);
    if (!known || (!known.touched && !known.stale)) values[slot] = recorded;
    else if (known.stale || !known.array) values[slot] = { ...recorded, stale: true };
    else values[slot] = new Preview(known.array, recorded);
    return slot;
  }
}
