/** Indices as in NumPy: the elements of an array that an index selects. */
import { broadcastShape, broadcastTo, Ellipsis, isArray, make, product, Slice, strides, Unsupported, type Argument, type NumberArray } from "./arrays";

interface Named {
  shape: number[];
  places: Float64Array;
}

/** One dimension of the result: its number of entries, and the offset of each. */
interface Axis {
  size: number;
  place: (at: number) => number;
}

function sliced(part: Slice, size: number, step: number): Axis {
  const by = part.step ?? 1;
  const clip = (at: number): number => Math.max(by < 0 ? -1 : 0, Math.min(by < 0 ? size - 1 : size, at < 0 ? at + size : at));
  const start = part.start === null ? (by < 0 ? size - 1 : 0) : clip(part.start);
  const stop = part.stop === null ? (by < 0 ? -1 : size) : clip(part.stop);
  return { size: Math.max(0, Math.ceil((stop - start) / by)), place: (at) => (start + at * by) * step };
}

function wrapped(at: number, size: number): number {
  const found = at < 0 ? at + size : at;
  if (!(found >= 0 && found < size)) throw new Unsupported("an index out of range");
  return found;
}

/** The parts of an index, one for each dimension, and null for a new one. */
function partsOf(index: Argument, ndim: number): Argument[] {
  const given = Array.isArray(index) ? [...index] : [index];
  if (given.some((part) => isArray(part) && part.dtype === "bool")) throw new Unsupported("a mask as an index has a size that depends on numbers");
  const used = given.filter((part) => part !== null && !(part instanceof Ellipsis)).length;
  const at = given.findIndex((part) => part instanceof Ellipsis);
  const all = Array.from({ length: ndim - used }, () => new Slice(null, null, null));
  return at < 0 ? [...given, ...all] : [...given.slice(0, at), ...all, ...given.slice(at + 1)];
}

/** The elements that an index selects from an array of a shape. */
export function named(shape: readonly number[], index: Argument): Named {
  const steps = strides(shape);
  const parts = partsOf(index, shape.length);
  const advanced = parts.some((part) => isArray(part) && part.shape.length > 0);
  const axes: Axis[] = [];
  const arrays: [part: NumberArray | number, size: number, step: number][] = [];
  const spots: number[] = [];
  let [dim, first] = [0, -1];
  parts.forEach((part, at) => {
    if (part === null) return void axes.push({ size: 1, place: () => 0 });
    const [size, step] = [shape[dim] as number, steps[dim] as number];
    dim++;
    if (part instanceof Slice) return void axes.push(sliced(part, size, step));
    if (!isArray(part) && typeof part !== "number") throw new Unsupported("an index of another kind");
    if (first < 0) first = axes.length;
    spots.push(at);
    arrays.push([part, size, step]);
  });
  const together = broadcastShape(arrays.map(([part]) => (isArray(part) ? part.shape : [])));
  const flat = arrays.map(([part, size, step]) => [isArray(part) ? broadcastTo(part, together).data : null, part, size, step] as const);
  const inner = (at: number): number =>
    flat.reduce((sum, [data, part, size, step]) => sum + wrapped(data ? (data[at] as number) : Number(part), size) * step, 0);
  const beside = spots.every((at, i) => i === 0 || at === (spots[i - 1] as number) + 1);
  const where = !advanced ? axes.length : beside ? first : 0;
  const sizes = [...axes.slice(0, where).map((axis) => axis.size), ...together, ...axes.slice(where).map((axis) => axis.size)];
  const places = new Float64Array(product(sizes));
  const [middle, after] = [product(together), product(axes.slice(where).map((axis) => axis.size))];
  for (let at = 0; at < places.length; at++) {
    let place = flat.length > 0 ? inner(Math.floor(at / after) % middle) : 0;
    place += spread(axes.slice(0, where), Math.floor(at / (after * middle))) + spread(axes.slice(where), at % after);
    places[at] = place;
  }
  return { shape: sizes, places };
}

function spread(axes: readonly Axis[], at: number): number {
  let [rest, place] = [at, 0];
  for (let i = axes.length - 1; i >= 0; i--) {
    const axis = axes[i] as Axis;
    place += axis.place(rest % axis.size);
    rest = Math.floor(rest / axis.size);
  }
  return place;
}

export function getitem(x: NumberArray, index: Argument): NumberArray {
  const { shape, places } = named(x.shape, index);
  return make(shape, x.dtype, (at) => x.data[places[at] as number] as number);
}

/** Zeros of a shape to which `x` is added at an index. */
export function scatter(x: NumberArray, index: Argument, shape: readonly number[]): NumberArray {
  const found = named(shape, index);
  const given = broadcastTo(x, found.shape).data;
  const out = make(shape, x.dtype, () => 0);
  const round = x.dtype === "float32" ? Math.fround : Number;
  found.places.forEach((place, at) => (out.data[place] = round((out.data[place] as number) + (given[at] as number))));
  return out;
}

/** `x` with the elements at an index replaced. */
export function put(x: NumberArray, index: Argument, part: Argument): NumberArray {
  const { shape, places } = named(x.shape, index);
  const given = isArray(part) ? broadcastTo(part, shape).data : null;
  const out = make(x.shape, x.dtype, (at) => x.data[at] as number);
  const round = make([places.length], x.dtype, (at) => (given ? (given[at] as number) : Number(part)));
  places.forEach((place, at) => (out.data[place] = round.data[at] as number));
  return out;
}
