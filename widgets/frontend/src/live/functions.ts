/** The functions of expressions (docs/trace.md) on small arrays. */
import * as A from "./arrays";
import { Dtype, Ellipsis, isArray, isFloat, Slice, Unsupported, cast, type Argument, type NumberArray } from "./arrays";
import { getitem, put, scatter } from "./indexing";
import type { Expression } from "../trace/types";

export type Function = (...args: Argument[]) => Argument;

export function array(x: Argument | undefined): NumberArray {
  if (isArray(x)) return x;
  if (typeof x === "number" || typeof x === "boolean") return A.scalar(x);
  throw new Unsupported("an argument that is no array");
}

function integers(x: Argument | undefined): number[] {
  if (typeof x === "number") return [x];
  if (Array.isArray(x)) return x.map(Number);
  throw new Unsupported("sizes that are no numbers");
}

const axes = (x: Argument | undefined): number[] | null => (x === null || x === undefined ? null : integers(x));
const dtypeOf = (x: Argument | undefined): string => (x instanceof Dtype ? x.name : String(x));
const asFloat = (dtype: string): string => (isFloat(dtype) ? dtype : "float64");

const elementwise = new WeakSet<Function>();
/** Whether each entry of a function's result comes from the entries at the same position. */
export const isElementwise = (name: string): boolean => Object.hasOwn(FUNCTIONS, name) && elementwise.has(FUNCTIONS[name] as Function);
function ofElements(f: Function): Function {
  elementwise.add(f);
  return f;
}

const unary = (f: (x: number) => number, kind = asFloat): Function =>
  ofElements((x) => A.elementwise([x as Argument], kind(A.resultDtype([x as Argument])), f));
const kept = (dtype: string): string => dtype;
const binary = (f: (x: number, y: number) => number, kind = kept): Function =>
  ofElements((x, y) => {
    const args = [x as Argument, y as Argument];
    return A.elementwise(args, kind(A.resultDtype(args)), f);
  });
const test = (f: (x: number, y: number) => boolean): Function => binary((x, y) => Number(f(x, y)), () => "bool");
const modulo = (x: number, y: number): number => {
  const rest = x % y;
  return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
};
/** To the nearest integer, ties to the even one. */
const rint = (x: number): number => {
  const low = Math.floor(x);
  return x - low === 0.5 ? (low % 2 === 0 ? low : low + 1) : Math.round(x);
};
const nanless = (f: (x: number, y: number) => number) => (x: number, y: number): number => (Number.isNaN(x) ? y : Number.isNaN(y) ? x : f(x, y));
const sum = (row: Float64Array): number => row.reduce((a, b) => a + b, 0);
const index = (row: Float64Array, better: (a: number, b: number) => boolean): number => {
  let best = 0;
  for (let at = 1; at < row.length; at++) {
    const [x, y] = [row[at] as number, row[best] as number];
    if (!Number.isNaN(y) && (Number.isNaN(x) || better(x, y))) best = at;
  }
  return best;
};
const reduction = (f: (row: Float64Array) => number, kind = kept): Function => (x, dims, keep) => {
  const given = array(x);
  return A.reduce(given, axes(dims), keep === true, kind(given.dtype), f);
};

function along(x: NumberArray, axis: number, f: (row: number[]) => number[], dtype = x.dtype): NumberArray {
  if (x.shape.length === 0) return A.make([], dtype, () => f([x.data[0] as number])[0] as number);
  const last = x.shape.length - 1;
  const turned = A.swapaxes(x, axis, last);
  const length = turned.shape[last] as number;
  const data = new Float64Array(turned.data.length);
  for (let at = 0; at < data.length; at += length) data.set(f([...turned.data.subarray(at, at + length)]), at);
  return A.swapaxes(A.make(turned.shape, dtype, (at) => data[at] as number), axis, last);
}

const order = (row: readonly number[]): number[] => {
  const less = (a: number, b: number): number => (Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a - b);
  return row.map((_, at) => at).sort((i, j) => less(row[i] as number, row[j] as number) || i - j);
};
const running = (f: (a: number, b: number) => number): Function => (x, axis) => {
  const given = array(x);
  const round = A.rounding(given.dtype);
  return along(given, Number(axis ?? 0), (row) => {
    let total: number | null = null;
    return row.map((each) => (total = total === null ? each : round(f(total, each))));
  });
};

/** The triangle on or below a diagonal (`lower`), or on or above it. */
const triangle = (lower: boolean): Function => (x, k) => {
  const given = array(x);
  const [rows, columns] = given.shape.slice(-2) as [number, number];
  const diagonal = Number(k ?? 0);
  return A.make(given.shape, given.dtype, (at) => {
    const by = (at % columns) - (Math.floor(at / columns) % rows);
    return (lower ? by <= diagonal : by >= diagonal) ? (given.data[at] as number) : 0;
  });
};

function whereOf(mask: Argument, x: Argument, y: Argument): NumberArray {
  return A.elementwise([mask, x, y], A.resultDtype([x, y]), (m, a, b) => (m ? a : b));
}

function diagonal(x: NumberArray, offset = 0, first = 0, second = 1): NumberArray {
  const ndim = x.shape.length;
  const [i, j] = [(first + ndim) % ndim, (second + ndim) % ndim];
  const own = A.strides(x.shape);
  const rest = x.shape.map((_, d) => d).filter((d) => d !== i && d !== j);
  const [rows, columns] = [x.shape[i] as number, x.shape[j] as number];
  const length = Math.max(0, Math.min(rows + Math.min(offset, 0), columns - Math.max(offset, 0)));
  const start = offset < 0 ? -offset * (own[i] as number) : offset * (own[j] as number);
  const steps = [...rest.map((d) => own[d] as number), (own[i] as number) + (own[j] as number)];
  return A.strided(x, [...rest.map((d) => x.shape[d] as number), length], steps, start);
}

const flip = (x: NumberArray, dims: number[] | null): NumberArray => {
  const all = dims?.map((d) => (d + x.shape.length) % x.shape.length);
  return getitem(x, x.shape.map((_, d) => new Slice(null, null, all === undefined || all.includes(d) ? -1 : 1)));
};

function stack(parts: readonly NumberArray[], axis: number): NumberArray {
  const ndim = (parts[0] as NumberArray).shape.length + 1;
  const at = (axis + ndim) % ndim;
  return A.concatenate(parts.map((each) => A.reshape(each, [...each.shape.slice(0, at), 1, ...each.shape.slice(at)])), at);
}

function takeAlong(x: NumberArray, indices: NumberArray, axis: number): NumberArray {
  const dim = (axis + x.shape.length) % x.shape.length;
  const grid = indices.shape.map((n, d) => A.make(indices.shape.map((_, i) => (i === d ? n : 1)), "int64", (at) => at));
  return getitem(x, grid.map((each, d) => (d === dim ? indices : each)));
}

function tile(x: NumberArray, times: readonly number[]): NumberArray {
  const ndim = Math.max(x.shape.length, times.length);
  const [shape, by] = [x.shape, times].map((each) => [...new Array<number>(ndim - each.length).fill(1), ...each]) as [number[], number[]];
  const apart = A.reshape(x, shape.flatMap((n) => [1, n]));
  return A.reshape(A.broadcastTo(apart, shape.flatMap((n, i) => [by[i] as number, n])), shape.map((n, i) => n * (by[i] as number)));
}

/** The distribution function of the normal distribution, as minigrad has it for float32: accurate to 2e-7. */
function normalCdf(x: number): number {
  const t = 1 / (1 + 0.3275911 * Math.SQRT1_2 * Math.abs(x));
  const tail = t * (0.127414796 + t * (-0.142248368 + t * (0.7107068705 + t * (-0.7265760135 + t * 0.5307027145)))) * Math.exp(x * x * -0.5);
  return x > 0 ? 1 - tail : tail;
}

const [add, sub, mul] = [binary((x, y) => x + y), binary((x, y) => x - y), binary((x, y) => x * y)] as [Function, Function, Function];

/** The gradient of a normalisation's input: docs/trace.md calls it by the name of minigrad's class. */
function standardBackward(g: Argument, x: Argument, scale: Argument, dims: Argument): Argument {
  const mean = (each: Argument): Argument => {
    const given = array(each);
    const total = A.reduce(given, axes(dims), true, given.dtype, sum);
    return A.elementwise([total, given.data.length / total.data.length], given.dtype, (a, b) => a / b);
  };
  return mul(sub(sub(g, mul(x, mean(mul(g, x)))), mean(g)), scale);
}

const parts = (x: Argument | undefined): NumberArray[] => (Array.isArray(x) ? x.map(array) : []);
const wide = (dtype: string): string => (dtype === "bool" ? "int64" : dtype);

export const FUNCTIONS: Record<string, Function> = {
  tuple: (...each) => each,
  slice: (start, stop, step) => new Slice(start as number | null, stop as number | null, step as number | null),
  ellipsis: () => new Ellipsis(),
  output: (results, i) => (results as Argument[])[Number(i)] as Argument,
  array: (dtype, shape, ...entries) => A.make(integers(shape), dtypeOf(dtype), (at) => Number(entries[at])),
  // elementwise functions
  neg: unary((x) => -x, kept),
  abs: unary(Math.abs, kept),
  exp: unary(Math.exp),
  exp2: unary((x) => 2 ** x),
  expm1: unary(Math.expm1),
  log: unary(Math.log),
  log2: unary(Math.log2),
  log10: unary(Math.log10),
  log1p: unary(Math.log1p),
  sqrt: unary(Math.sqrt),
  cbrt: unary(Math.cbrt),
  square: unary((x) => x * x, kept),
  reciprocal: unary((x) => 1 / x),
  sin: unary(Math.sin),
  cos: unary(Math.cos),
  tan: unary(Math.tan),
  sinh: unary(Math.sinh),
  cosh: unary(Math.cosh),
  tanh: unary(Math.tanh),
  arcsin: unary(Math.asin),
  arccos: unary(Math.acos),
  arctan: unary(Math.atan),
  arcsinh: unary(Math.asinh),
  arccosh: unary(Math.acosh),
  arctanh: unary(Math.atanh),
  sigmoid: unary((x) => 1 / (1 + Math.exp(-x))),
  sign: unary((x) => (x > 0 ? 1 : x < 0 ? -1 : 0), kept),
  floor: unary(Math.floor, kept),
  ceil: unary(Math.ceil, kept),
  trunc: unary(Math.trunc, kept),
  rint: unary(rint, kept),
  round: ofElements((x, decimals) => unary((each) => rint(each * 10 ** Number(decimals ?? 0)) / 10 ** Number(decimals ?? 0), kept)(x as Argument)),
  isnan: unary((x) => Number(Number.isNaN(x)), () => "bool"),
  isinf: unary((x) => Number(Math.abs(x) === Infinity), () => "bool"),
  isfinite: unary((x) => Number(Number.isFinite(x)), () => "bool"),
  signbit: unary((x) => Number(x < 0 || Object.is(x, -0)), () => "bool"),
  invert: ofElements((x) => (array(x).dtype === "bool" ? unary((each) => 1 - each, kept) : unary((each) => ~each, kept))(x as Argument)),
  logical_not: unary((x) => Number(x === 0), () => "bool"),
  add,
  sub,
  mul,
  div: binary((x, y) => x / y, asFloat),
  pow: binary((x, y) => (x === 1 || y === 0 ? 1 : x ** y)),
  remainder: binary(modulo),
  floor_divide: binary((x, y) => Math.floor(x / y)),
  fmod: binary((x, y) => x % y),
  maximum: binary(Math.max),
  minimum: binary(Math.min),
  fmax: binary(nanless(Math.max)),
  fmin: binary(nanless(Math.min)),
  arctan2: binary(Math.atan2, asFloat),
  hypot: binary(Math.hypot, asFloat),
  copysign: binary((x, y) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x)), asFloat),
  logaddexp: binary((x, y) => (x === y ? x + Math.LN2 : Math.max(x, y) + Math.log1p(Math.exp(-Math.abs(x - y)))), asFloat),
  lt: test((x, y) => x < y),
  le: test((x, y) => x <= y),
  gt: test((x, y) => x > y),
  ge: test((x, y) => x >= y),
  eq: test((x, y) => x === y),
  ne: test((x, y) => x !== y),
  and: binary((x, y) => x & y),
  or: binary((x, y) => x | y),
  bitwise_xor: binary((x, y) => x ^ y),
  logical_and: test((x, y) => x !== 0 && y !== 0),
  logical_or: test((x, y) => x !== 0 || y !== 0),
  logical_xor: test((x, y) => (x !== 0) !== (y !== 0)),
  where: ofElements((mask, x, y) => whereOf(mask as Argument, x as Argument, y as Argument)),
  masked: ofElements((mask, x) => whereOf(mask as Argument, x as Argument, 0)),
  clip: ofElements((x, low, high) => {
    const raised = low === null || low === undefined ? array(x) : (binary(Math.max)(x as Argument, low) as NumberArray);
    return high === null || high === undefined ? raised : binary(Math.min)(raised, high);
  }),
  cast: ofElements((x, dtype) => A.cast(array(x), dtypeOf(dtype))),
  NormalCdf: (x) => {
    if (array(x).dtype !== "float32") throw new Unsupported("the normal distribution of float64 is not computed here");
    return unary(normalCdf)(x as Argument);
  },
  Standard: (x, _axes, _eps, kept) => {
    const [mean, scale] = kept as Argument[];
    return [mul(sub(x as Argument, mean as Argument), scale as Argument), scale as Argument];
  },
  StandardBackward: (g, x, scale, dims) => standardBackward(g as Argument, x as Argument, scale as Argument, dims as Argument),
  // products and reductions
  matmul: (x, y) => A.matmul(array(x), array(y)),
  sum: reduction(sum),
  prod: reduction((row) => row.reduce((a, b) => a * b, 1), wide),
  amax: reduction((row) => row.reduce((a, b) => Math.max(a, b), -Infinity)),
  amin: reduction((row) => row.reduce((a, b) => Math.min(a, b), Infinity)),
  all: reduction((row) => Number(row.every((x) => x !== 0)), () => "bool"),
  any: reduction((row) => Number(row.some((x) => x !== 0)), () => "bool"),
  argmax: reduction((row) => index(row, (a, b) => a > b), () => "int64"),
  argmin: reduction((row) => index(row, (a, b) => a < b), () => "int64"),
  cumsum: running((a, b) => a + b),
  CumsumBackward0: (x, axis) => A.cast(running((a, b) => a + b)(A.cast(array(x), "float64"), axis as Argument) as NumberArray, array(x).dtype),
  cumprod: running((a, b) => a * b),
  // shapes and indices
  reshape: (x, shape) => A.reshape(array(x), integers(shape)),
  transpose: (x, dims) => A.transpose(array(x), integers(dims)),
  swapaxes: (x, i, j) => A.swapaxes(array(x), Number(i), Number(j)),
  broadcast_to: (x, shape) => A.broadcastTo(array(x), integers(shape)),
  getitem: (x, at) => getitem(array(x), at as Argument),
  scatter: (x, at, shape) => scatter(array(x), at as Argument, integers(shape)),
  tile: (x, times) => tile(array(x), integers(times)),
  PlaceBackward0: (x, at, shape) => scatter(array(x), at as Argument, integers(shape)),
  put: (x, at, part) => put(array(x), at as Argument, part as Argument),
  stack: (each, axis) => stack(parts(each), Number(axis ?? 0)),
  concatenate: (each, axis) => A.concatenate(parts(each), Number(axis ?? 0)),
  flip: (x, dims) => flip(array(x), axes(dims)),
  diagonal: (x, offset, i, j) => diagonal(array(x), Number(offset ?? 0), Number(i ?? 0), Number(j ?? 1)),
  take: (x, at, axis) =>
    axis === null || axis === undefined
      ? getitem(A.reshape(array(x), [-1]), at as Argument)
      : getitem(array(x), [...Array.from({ length: Number(axis) }, () => new Slice(null, null, null)), at as Argument]),
  take_along_axis: (x, at, axis) => takeAlong(array(x), array(at), Number(axis)),
  sort: (x, axis) => along(array(x), Number(axis ?? -1), (row) => order(row).map((at) => row[at] as number)),
  argsort: (x, axis) => along(array(x), Number(axis ?? -1), order, "int64"),
  tril: triangle(true),
  triu: triangle(false),
  tri: (n, m, k, dtype) => A.make([Number(n), Number(m)], dtypeOf(dtype), (at) => Number((at % Number(m)) - Math.floor(at / Number(m)) <= Number(k))),
  zeros: (shape, dtype) => A.make(integers(shape), dtypeOf(dtype), () => 0),
  full: (shape, value, dtype) => (isArray(value) ? A.broadcastTo(A.cast(value, dtypeOf(dtype)), integers(shape)) : A.make(integers(shape), dtypeOf(dtype), () => Number(value))),
};

// ---- Evaluates the expressions of a trace (docs/trace.md, *Expression*).
/** The value of a name; undefined if there is none. */
export type Operands = (name: string) => Argument | undefined;

const NUMBERS: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

export function evaluate(expression: Expression, operands: Operands): Argument {
  if (typeof expression === "string") {
    const found = operands(expression);
    if (found === undefined) throw new Unsupported(`the trace does not hold ${expression}`);
    return found;
  }
  if (!Array.isArray(expression)) return expression;
  const [name, ...args] = expression;
  if (name === "dtype") return new Dtype(String(args[0]));
  if (name === "text") return new Dtype(String(args[0]));
  if (name === "float") return NUMBERS[String(args[0])] ?? NaN;
  const call = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (!call) throw new Unsupported(`${name.replace(/Backward\d+$/, "")} is not computed here`);
  return call(...args.map((each) => evaluate(each, operands)));
}

/** The array of an expression, in the recorded dtype and shape. */
export function evaluated(expression: Expression, operands: Operands, like: { shape: readonly number[]; dtype: string } | null): NumberArray {
  const found = evaluate(expression, operands);
  const result = isArray(found) ? found : array(found);
  if (!like) return result;
  if (result.shape.length !== like.shape.length || result.shape.some((n, i) => n !== like.shape[i])) throw new Unsupported("a result of another shape");
  return cast(result, like.dtype);
}
