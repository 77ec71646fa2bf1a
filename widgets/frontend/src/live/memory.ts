/** The values of a trace's tensors while its program is recomputed: tensors that share memory share it here too. */
import { checkSize, isFloat, product, rounding, strided, strides, walk, type NumberArray } from "./arrays";
import { numbersOf } from "./previews";
import type { TensorRecord, Trace } from "../trace/types";

/** An array, and its origin. */
export interface Known {
  /** Null if the trace does not have the numbers. */
  array: NumberArray | null;
  /** Whether it depends on a number that was changed. */
  touched: boolean;
  /** Whether it should have changed but could not be computed: these are the recorded numbers. */
  stale: boolean;
}

interface Buffer {
  data: Float64Array;
  known: Uint8Array;
  /** Whether all is known. */
  full: boolean;
  touched: boolean;
  stale: boolean;
}

const BYTES: Record<string, number> = { bool: 1, uint8: 1, int8: 1, int16: 2, int32: 4, int64: 8, float32: 4, float64: 8 };

export class Memory {
  /** The tensors whose numbers came from the trace, since no op of it created them. */
  readonly loaded = new Set<number>();
  /** The location of each `.grad`. */
  readonly grads = new Map<number, number>();
  readonly #buffers = new Map<number, Buffer>();
  readonly #places = new Map<number, number>();

  constructor(
    private readonly trace: Trace,
    changed: ReadonlyMap<number, readonly number[]>,
    /** The values of a tensor that no op created, if they differ from the recording. */
    private readonly unexplained: (tensor: number) => Known | undefined,
  ) {
    for (const [tensor, numbers] of changed) {
      const record = trace.tensors[tensor];
      if (!record) continue;
      const round = rounding(record.dtype);
      this.write(tensor, { array: { shape: record.shape, dtype: record.dtype, data: Float64Array.from(numbers, round) }, touched: true, stale: false });
    }
  }

  /** A tensor, or a `.grad`, starts using a storage. */
  hold(storage: number, what: number, id: number | null): void {
    if (id === null) return;
    if (what < 2) this.#places.set(id, storage);
    if (what === 3) this.grads.set(id, storage);
  }

  /** A `.grad` stops using a storage. */
  drop(storage: number, what: number, id: number | null): void {
    if (what === 3 && id !== null && this.grads.get(id) === storage) this.grads.delete(id);
  }

  /** Whether ops have written all numbers of a tensor's memory. */
  knows(tensor: number): boolean {
    return this.#buffers.get(this.#place(tensor))?.full ?? false;
  }

  /** Whether a tensor is in the memory of another one, so that nothing has to be computed for it. */
  shares(tensor: number, others: readonly (number | null)[]): boolean {
    const place = this.#place(tensor);
    return others.some((other) => other !== null && other !== tensor && this.#place(other) === place);
  }

  read(tensor: number): Known {
    const record = this.trace.tensors[tensor] as TensorRecord;
    const buffer = this.#buffer(tensor, record);
    if (!buffer) return { array: null, touched: false, stale: false };
    if (buffer.full && !record.strides && buffer.data.length === product(record.shape)) {
      return { array: { shape: record.shape, dtype: record.dtype, data: buffer.data.slice() }, touched: buffer.touched, stale: buffer.stale };
    }
    const [steps, offset] = this.#layout(record);
    if (!this.#load(tensor, record, buffer, steps, offset)) return { array: null, touched: buffer.touched, stale: buffer.stale };
    const whole = { shape: [buffer.data.length], dtype: record.dtype, data: buffer.data };
    return { array: strided(whole, record.shape, steps, offset), touched: buffer.touched, stale: buffer.stale };
  }

  write(tensor: number, { array, touched, stale }: Known): void {
    const record = this.trace.tensors[tensor] as TensorRecord;
    const buffer = this.#buffer(tensor, record);
    if (!buffer) return;
    const [steps, offset] = this.#layout(record);
    const whole = product(record.shape) >= buffer.data.length;
    buffer.touched = whole ? touched : buffer.touched || touched;
    buffer.stale = whole ? stale : buffer.stale || stale;
    if (!array) return;
    if (whole && !record.strides && array.data.length === buffer.data.length) {
      buffer.data.set(array.data);
      buffer.full = true;
      return;
    }
    walk(record.shape, steps, offset, (place, at) => {
      buffer.data[place] = array.data[at] as number;
      buffer.known[place] = 1;
    });
  }

  /** The whole of a storage, as an array; undefined if no tensor that the trace has is there. */
  whole(storage: number, shape: readonly number[], dtype: string): Known | undefined {
    const buffer = this.#buffers.get(storage);
    if (!buffer) return undefined;
    const complete = buffer.data.length === product(shape) && (buffer.full || !buffer.known.includes(0));
    return { array: complete ? { shape, dtype, data: buffer.data.slice() } : null, touched: buffer.touched, stale: buffer.stale };
  }

  /** A `.grad` as in its memory; undefined if that is unknown. */
  readGrad(tensor: number): Known | undefined {
    const buffer = this.#buffers.get(this.grads.get(tensor) ?? -1);
    const record = this.trace.tensors[tensor];
    if (!buffer || !record || buffer.data.length !== product(record.shape) || (!buffer.full && buffer.known.includes(0))) return undefined;
    return { array: { shape: record.shape, dtype: record.dtype, data: buffer.data.slice() }, touched: buffer.touched, stale: buffer.stale };
  }

  writeGrad(tensor: number, { array, touched, stale }: Known): void {
    const place = this.grads.get(tensor);
    if (place === undefined || !array) return;
    this.#buffers.set(place, { data: array.data.slice(), known: new Uint8Array(0), full: true, touched, stale });
  }

  #place(tensor: number): number {
    return this.#places.get(tensor) ?? this.trace.tensors[tensor]?.storage ?? -1;
  }

  #buffer(tensor: number, record: TensorRecord): Buffer | null {
    const key = this.#place(tensor);
    const known = this.#buffers.get(key);
    if (known) return known;
    const bytes = BYTES[record.dtype];
    if (bytes === undefined) return null;
    const stored = (this.trace.storages?.[key] ?? 0) / bytes;
    const size = Math.max(product(record.shape), Math.floor(stored), this.#reach(record));
    try {
      checkSize(size);
    } catch {
      return null;
    }
    const made = { data: new Float64Array(size), known: new Uint8Array(size), full: false, touched: false, stale: false };
    this.#buffers.set(key, made);
    return made;
  }

  /** A lower bound of the number of elements in a tensor's memory. */
  #reach(record: TensorRecord): number {
    const [steps, offset] = this.#layout(record);
    return product(record.shape) === 0 ? 0 : record.shape.reduce((last, n, i) => last + (n - 1) * (steps[i] as number), offset) + 1;
  }

  #layout(record: TensorRecord): [steps: readonly number[], offset: number] {
    return [record.strides ?? strides(record.shape), record.offset ?? 0];
  }

  /** Fills in, from the record of a tensor, what has not been written; returns whether all is then known. */
  #load(tensor: number, record: TensorRecord, buffer: Buffer, steps: readonly number[], offset: number): boolean {
    let all = buffer.full;
    if (all) return true;
    all = true;
    walk(record.shape, steps, offset, (place) => {
      if (!buffer.known[place]) all = false;
    });
    if (all) return true;
    const known = buffer.known.includes(1) ? undefined : this.unexplained(tensor);
    if (known) {
      this.write(tensor, known);
      return known.array !== null;
    }
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

export const isNumber = (record: TensorRecord): boolean => isFloat(record.dtype) && record.dtype in BYTES;
