/** Small arrays in the browser: float64 numbers, rounded to the dtype that the array has in Python. */

export interface NumberArray {
  shape: readonly number[];
  dtype: string;
  data: Float64Array;
}

/** An argument of a function: an array, or a Python value next to one. */
export type Argument = NumberArray | number | boolean | null | string | Slice | Ellipsis | Dtype | Argument[];

export class Slice {
  constructor(readonly start: number | null, readonly stop: number | null, readonly step: number | null) {}
}
export class Ellipsis {}
export class Dtype {
  constructor(readonly name: string) {}
}

/** Something that cannot be computed here; the message says what. */
export class Unsupported extends Error {}

/** The maximum number of elements of an array. */
export const MOST = 10_000;
const KINDS = ["bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64"];
const wrap: Record<string, (x: number) => number> = {
  float32: Math.fround,
  float64: (x) => x,
  bool: (x) => (x !== 0 ? 1 : 0),
  uint8: (x) => Math.trunc(x) & 0xff,
  int8: (x) => (Math.trunc(x) << 24) >> 24,
  int16: (x) => (Math.trunc(x) << 16) >> 16,
  int32: (x) => Math.trunc(x) | 0,
  int64: Math.trunc,
};

export const product = (sizes: readonly number[]): number => sizes.reduce((a, b) => a * b, 1);
export const isFloat = (dtype: string): boolean => dtype.startsWith("float");
export const isArray = (x: unknown): x is NumberArray => typeof x === "object" && x !== null && "data" in x && "shape" in x;

/** Whether numbers of a dtype can be computed here. */
export const computes = (dtype: string): boolean => Object.hasOwn(wrap, dtype);

export function rounding(dtype: string): (x: number) => number {
  const found = wrap[dtype];
  if (!found) throw new Unsupported(`numbers of ${dtype} are not computed here`);
  return found;
}

export function checkSize(count: number): void {
  if (count > MOST) throw new Unsupported(`an array of more than ${MOST.toLocaleString("en")} elements is not computed here`);
}

export function make(shape: readonly number[], dtype: string, fill: (at: number) => number): NumberArray {
  const count = product(shape);
  checkSize(count);
  const [round, data] = [rounding(dtype), new Float64Array(count)];
  for (let at = 0; at < count; at++) data[at] = round(fill(at));
  return { shape, dtype, data };
}

export function scalar(x: number | boolean, like?: string): NumberArray {
  const dtype = like ?? (typeof x === "boolean" ? "bool" : "float64");
  return make([], dtype, () => Number(x));
}

/** The dtype to which NumPy promotes two arrays. */
function meet(a: string, b: string): string {
  if (a === b) return a;
  const [low, high] = KINDS.indexOf(a) < KINDS.indexOf(b) ? [a, b] : [b, a];
  if (high === "float32" && ["int32", "int64"].includes(low)) return "float64";
  if (low === "uint8" && high === "int8") return "int16";
  return high;
}

/** The dtype of a result: a number next to arrays takes theirs, unless they are integers and it is not. */
export function resultDtype(args: readonly Argument[]): string {
  const arrays = args.filter(isArray);
  const first = arrays.map((each) => each.dtype).reduce<string | null>((a, b) => (a === null ? b : meet(a, b)), null);
  const numbers = args.filter((each): each is number => typeof each === "number");
  if (first === null) return numbers.length > 0 ? "float64" : "bool";
  if (isFloat(first)) return first;
  if (numbers.some((each) => !Number.isInteger(each))) return "float64";
  return first === "bool" && numbers.length > 0 ? "int64" : first;
}

export function broadcastShape(shapes: readonly (readonly number[])[]): number[] {
  const ndim = Math.max(0, ...shapes.map((each) => each.length));
  return Array.from({ length: ndim }, (_, i) => {
    const sizes = shapes.map((each) => each[each.length - ndim + i] ?? 1);
    return sizes.find((n) => n !== 1) ?? 1;
  });
}

export function strides(shape: readonly number[]): number[] {
  const found = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    found[i] = step;
    step *= shape[i] as number;
  }
  return found;
}

/** Calls back with the offset of each element of a view with this shape and these strides, in row-major order. */
export function walk(shape: readonly number[], steps: readonly number[], offset: number, visit: (place: number, at: number) => void): void {
  const [ndim, count] = [shape.length, product(shape)];
  const index = new Array<number>(ndim).fill(0);
  let place = offset;
  for (let at = 0; at < count; at++) {
    visit(place, at);
    for (let i = ndim - 1; i >= 0; i--) {
      const next = (index[i] as number) + 1;
      place += steps[i] as number;
      if (next < (shape[i] as number)) {
        index[i] = next;
        break;
      }
      place -= next * (steps[i] as number);
      index[i] = 0;
    }
  }
}

export function strided(x: NumberArray, shape: readonly number[], steps: readonly number[], offset = 0): NumberArray {
  checkSize(product(shape));
  const data = new Float64Array(product(shape));
  walk(shape, steps, offset, (place, at) => {
    data[at] = x.data[place] as number;
  });
  return { shape, dtype: x.dtype, data };
}

export function broadcastTo(x: NumberArray, shape: readonly number[]): NumberArray {
  if (same(x.shape, shape)) return x;
  const own = strides(x.shape);
  const more = shape.length - x.shape.length;
  return strided(x, shape, shape.map((_, i) => ((x.shape[i - more] ?? 1) === 1 ? 0 : (own[i - more] as number))));
}

export const same = (a: readonly number[], b: readonly number[]): boolean => a.length === b.length && a.every((n, i) => n === b[i]);

/** An elementwise function. */
export function elementwise(args: readonly Argument[], dtype: string, f: (...x: number[]) => number): NumberArray {
  const shape = broadcastShape(args.map((each) => (isArray(each) ? each.shape : [])));
  const computed = resultDtype(args);
  const round = isFloat(computed) ? rounding(computed) : Number;  // 0.3 is another number in float32
  const given = args.map((each) => (isArray(each) ? broadcastTo(each, shape).data : new Float64Array(1).fill(round(Number(each)))));
  const last = given.map((each) => (each.length === 1 ? 0 : 1));
  const [x, y, z] = given as [Float64Array, Float64Array?, Float64Array?];
  const [p, q, r] = last as [number, number?, number?];
  if (!y) return make(shape, dtype, (at) => f(x[at * p] as number));
  if (!z) return make(shape, dtype, (at) => f(x[at * p] as number, y[at * (q ?? 0)] as number));
  return make(shape, dtype, (at) => f(x[at * p] as number, y[at * (q ?? 0)] as number, z[at * (r ?? 0)] as number));
}

export function cast(x: NumberArray, dtype: string): NumberArray {
  return x.dtype === dtype ? x : make(x.shape, dtype, (at) => x.data[at] as number);
}

export function reshape(x: NumberArray, sizes: readonly number[]): NumberArray {
  const known = product(sizes.filter((n) => n !== -1));
  const shape = sizes.map((n) => (n === -1 ? x.data.length / known : n));
  if (product(shape) !== x.data.length) throw new Unsupported("a shape that does not fit");
  return { ...x, shape };
}

export function transpose(x: NumberArray, dims: readonly number[]): NumberArray {
  const own = strides(x.shape);
  return strided(x, dims.map((d) => x.shape[d] as number), dims.map((d) => own[d] as number));
}

export function swapaxes(x: NumberArray, i: number, j: number): NumberArray {
  const dims = x.shape.map((_, d) => d);
  const ndim = dims.length;
  const [a, b] = [(i + ndim) % ndim, (j + ndim) % ndim];
  [dims[a], dims[b]] = [b, a];
  return transpose(x, dims);
}

/** Reductions along some axes: the kept shape, and for each of its positions the elements. */
export function reduce(x: NumberArray, axes: readonly number[] | null, keepdims: boolean, dtype: string, f: (row: Float64Array) => number): NumberArray {
  const ndim = x.shape.length;
  const gone = axes === null ? x.shape.map((_, i) => i) : axes.map((a) => (a + ndim) % Math.max(ndim, 1));
  const kept = x.shape.map((_, i) => i).filter((i) => !gone.includes(i));
  const turned = transpose(x, [...kept, ...gone.filter((i) => i < ndim)]);
  const shape = x.shape.flatMap((n, i) => (gone.includes(i) ? (keepdims ? [1] : []) : [n]));
  const length = product(gone.filter((i) => i < ndim).map((i) => x.shape[i] as number));
  return make(shape, dtype, (at) => f(turned.data.subarray(at * length, (at + 1) * length)));
}

export function matmul(x: NumberArray, y: NumberArray): NumberArray {
  const dtype = resultDtype([x, y]);
  const a = x.shape.length === 1 ? reshape(x, [1, ...x.shape]) : x;
  const b = y.shape.length === 1 ? reshape(y, [...y.shape, 1]) : y;
  const [rows, inner, columns] = [a.shape.at(-2) as number, a.shape.at(-1) as number, b.shape.at(-1) as number];
  if (b.shape.at(-2) !== inner) throw new Unsupported("a product whose sizes do not fit");
  const batch = broadcastShape([a.shape.slice(0, -2), b.shape.slice(0, -2)]);
  const [u, v] = [broadcastTo(a, [...batch, rows, inner]).data, broadcastTo(b, [...batch, inner, columns]).data];
  const found = make([...batch, rows, columns], dtype, (at) => {
    const column = at % columns;
    const row = Math.floor(at / columns) % rows;
    const group = Math.floor(at / (columns * rows));
    let sum = 0;
    for (let k = 0; k < inner; k++) sum += (u[(group * rows + row) * inner + k] as number) * (v[(group * inner + k) * columns + column] as number);
    return sum;
  });
  const shape = [...batch, ...(x.shape.length === 1 ? [] : [rows]), ...(y.shape.length === 1 ? [] : [columns])];
  return { ...found, shape };
}

export function concatenate(parts: readonly NumberArray[], axis: number): NumberArray {
  const first = parts[0] as NumberArray;
  const dim = (axis + first.shape.length) % Math.max(1, first.shape.length);
  const shape = first.shape.map((n, i) => (i === dim ? parts.reduce((sum, each) => sum + (each.shape[dim] as number), 0) : n));
  checkSize(product(shape));
  const data = new Float64Array(product(shape));
  const outer = product(shape.slice(0, dim));
  let start = 0;
  for (const part of parts) {
    const length = product(part.shape.slice(dim));
    for (let o = 0; o < outer; o++) data.set(part.data.subarray(o * length, (o + 1) * length), start + o * product(shape.slice(dim)));
    start += length;
  }
  return { shape, dtype: resultDtype([...parts]), data };
}
