/** What the tensors of a trace hold while its program is computed again: tensors that share memory share it here too. */
import { checkSize, isFloat, product, rounding, strided, strides, walk } from "./arrays";
import type { NumberArray } from "./arrays";
import { numbersOf } from "./numbers";
import type { TensorRecord, Trace } from "../trace/types";

/** An array, and where it came from. */
export interface Known {
  /** Null where the trace does not hold the numbers. */
  array: NumberArray | null;
  /** Whether it depends on a number that was changed. */
  touched: boolean;
  /** Whether it should have changed and could not be computed: these are the recorded numbers. */
  stale: boolean;
}

interface Buffer {
  data: Float64Array;
  known: Uint8Array;
  touched: boolean;
  stale: boolean;
}

const BYTES: Record<string, number> = { bool: 1, uint8: 1, int8: 1, int16: 2, int32: 4, int64: 8, float32: 4, float64: 8 };

export class Memory {
  /** The tensors whose numbers came from the trace, since no op of it made them. */
  readonly loaded = new Set<number>();
  /** Where each `.grad` lies. */
  readonly grads = new Map<number, number>();
  private readonly buffers = new Map<number, Buffer>();
  private readonly places = new Map<number, number>();
  private readonly views: ReadonlySet<number>;

  constructor(
    private readonly trace: Trace,
    changed: ReadonlyMap<number, readonly number[]>,
  ) {
    this.views = sharedViews(trace);
    for (const [tensor, numbers] of changed) {
      const record = trace.tensors[tensor];
      if (!record) continue;
      const round = rounding(record.dtype);
      this.write(tensor, { array: { shape: record.shape, dtype: record.dtype, data: Float64Array.from(numbers, round) }, touched: true, stale: false });
    }
  }

  /** A tensor, or a `.grad`, begins to lie in a storage. */
  hold(storage: number, what: number, id: number | null): void {
    if (id === null) return;
    if (what < 2) this.places.set(id, storage);
    if (what === 3) this.grads.set(id, storage);
  }

  /** Whether a tensor lies in the memory of another one, so that nothing has to be computed for it. */
  shares(tensor: number, others: readonly (number | null)[]): boolean {
    const place = this.place(tensor);
    return !this.apart(tensor) && others.some((other) => other !== null && other !== tensor && this.place(other) === place);
  }

  /** Whether writing to a tensor changes others in a way that is not known here. */
  entangled(tensor: number): boolean {
    return this.views.has(this.trace.tensors[tensor]?.storage ?? -1);
  }

  read(tensor: number): Known {
    const record = this.trace.tensors[tensor] as TensorRecord;
    const buffer = this.buffer(tensor, record);
    const [steps, offset] = this.layout(record);
    if (!buffer) return { array: null, touched: false, stale: false };
    if (!this.load(tensor, record, buffer, steps, offset)) return { array: null, touched: buffer.touched, stale: buffer.stale };
    const whole = { shape: [buffer.data.length], dtype: record.dtype, data: buffer.data };
    return { array: strided(whole, record.shape, steps, offset), touched: buffer.touched, stale: buffer.stale };
  }

  write(tensor: number, { array, touched, stale }: Known): void {
    const record = this.trace.tensors[tensor] as TensorRecord;
    const buffer = this.buffer(tensor, record);
    if (!buffer) return;
    const [steps, offset] = this.layout(record);
    const whole = product(record.shape) >= buffer.data.length;
    buffer.touched = whole ? touched : buffer.touched || touched;
    buffer.stale = whole ? stale : buffer.stale || stale;
    if (!array) return;
    walk(record.shape, steps, offset, (place, at) => {
      buffer.data[place] = array.data[at] as number;
      buffer.known[place] = 1;
    });
  }

  /** A `.grad` as its memory has it; undefined where that is not known. */
  readGrad(tensor: number): Known | undefined {
    const buffer = this.buffers.get(this.grads.get(tensor) ?? -1);
    const record = this.trace.tensors[tensor];
    if (!buffer || !record || buffer.data.length !== product(record.shape) || buffer.known.includes(0)) return undefined;
    return { array: { shape: record.shape, dtype: record.dtype, data: buffer.data.slice() }, touched: buffer.touched, stale: buffer.stale };
  }

  writeGrad(tensor: number, { array, touched, stale }: Known): void {
    const place = this.grads.get(tensor);
    if (place === undefined || !array) return;
    this.buffers.set(place, { data: array.data.slice(), known: new Uint8Array(array.data.length).fill(1), touched, stale });
  }

  private place(tensor: number): number {
    return this.places.get(tensor) ?? this.trace.tensors[tensor]?.storage ?? -1;
  }

  /** PyTorch's traces do not say where a view lies: it is computed, and has memory of its own. */
  private apart(tensor: number): boolean {
    return !this.trace.library.startsWith("minigrad") && this.trace.tensors[tensor]?.base !== undefined;
  }

  private buffer(tensor: number, record: TensorRecord): Buffer | null {
    const key = this.apart(tensor) ? -2 - tensor : this.place(tensor);
    const known = this.buffers.get(key);
    if (known) return known;
    const bytes = BYTES[record.dtype];
    if (bytes === undefined) return null;
    const stored = this.apart(tensor) ? 0 : (this.trace.storages?.[key] ?? 0) / bytes;
    const size = Math.max(product(record.shape), Math.floor(stored));
    try {
      checkSize(size);
    } catch {
      return null;
    }
    const made = { data: new Float64Array(size), known: new Uint8Array(size), touched: false, stale: false };
    this.buffers.set(key, made);
    return made;
  }

  private layout(record: TensorRecord): [steps: readonly number[], offset: number] {
    return [record.strides ?? strides(record.shape), record.offset ?? 0];
  }

  /** Fills in from the record of a tensor what nobody has written; says whether all is there then. */
  private load(tensor: number, record: TensorRecord, buffer: Buffer, steps: readonly number[], offset: number): boolean {
    let all = true;
    walk(record.shape, steps, offset, (place) => {
      if (!buffer.known[place]) all = false;
    });
    if (all) return true;
    const recorded = numbersOf(this.trace.values[record.value]);
    if (!recorded) return false;
    this.loaded.add(tensor);
    walk(record.shape, steps, offset, (place, at) => {
      if (buffer.known[place]) return;
      buffer.data[place] = recorded.data[at] as number;
      buffer.known[place] = 1;
    });
    return true;
  }
}

/** The storages of PyTorch's traces in which views lie. */
function sharedViews(trace: Trace): Set<number> {
  if (trace.library.startsWith("minigrad")) return new Set();
  return new Set(trace.tensors.filter((record) => record.base !== undefined).map((record) => record.storage));
}

export const isNumber = (record: TensorRecord): boolean => isFloat(record.dtype) && record.dtype in BYTES;
