/** Previews of a trace as arrays, and arrays as previews. */
import { isFloat, type NumberArray } from "./arrays";
import type { Scalar, Value, Maybe, NodeRecord, TensorRecord, Trace, TraceEvent } from "../trace/types";
import type { Known } from "./memory";

const SHOWN = 64;
const SPECIAL: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

function plain(entry: Scalar): number {
  return typeof entry === "string" ? (SPECIAL[entry] ?? Number(entry)) : Number(entry);
}

function shown(x: number, dtype: string): Scalar {
  if (dtype === "bool") return x !== 0;
  return Number.isFinite(x) ? x : Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

/** The array of a preview; null if it has only statistics. */
export function numbersOf(value: Value | undefined): NumberArray | null {
  const numbers = value?.data ?? value?.entries;
  return value && numbers ? { shape: value.shape, dtype: value.dtype, data: Float64Array.from(numbers, plain) } : null;
}

/** An array as a preview: its numbers if they are few, else its statistics. */
export function previewOf({ shape, dtype, data }: NumberArray): Value {
  const head = { shape: [...shape], dtype };
  if (data.length <= SHOWN) return { ...head, data: Array.from(data, (x) => shown(x, dtype)) };
  const finite = data.filter(Number.isFinite);
  const [nan, sum] = [data.filter(Number.isNaN).length, finite.reduce((a, b) => a + b, 0)];
  const inf = data.length - finite.length - nan;
  const norm = nan ? "nan" : inf ? "inf" : Math.hypot(...finite);
  const [min, max] = [finite.reduce((a, b) => Math.min(a, b), Infinity), finite.reduce((a, b) => Math.max(a, b), -Infinity)];
  const some = finite.length > 0;
  return { ...head, stats: { min: some ? min : null, max: some ? max : null, mean: some ? sum / finite.length : null, norm, nan, inf } };
}

/** Whether two numbers are equal up to rounding: for float32, several roundings in a row. */
function near(a: number, b: number, exact: boolean): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (!Number.isFinite(a) || !Number.isFinite(b)) return Number.isNaN(a) && Number.isNaN(b);
  const tolerance = exact ? 1e-9 : 2e-5;
  return Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b)) + tolerance / 10;
}

/** Whether an array equals what was recorded, as far as the preview shows. */
export function agrees(found: NumberArray, value: Value): boolean {
  if (found.shape.length !== value.shape.length || found.shape.some((n, i) => n !== value.shape[i]) || found.dtype !== value.dtype) return false;
  const exact = !isFloat(found.dtype) || found.dtype === "float64";
  const recorded = numbersOf(value);
  if (recorded) return recorded.data.every((x, at) => near(x, found.data[at] as number, exact));
  const stats = previewOf(found).stats ?? null;
  return !stats || (["min", "max", "norm"] as const).every((key) => near(plain(stats[key]), plain(value.stats?.[key] ?? null), exact));
}

// ---- A copy of a trace in which whatever a run can change has its own preview.
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
