/** Previews of a trace as arrays, and arrays as previews. */
import { isFloat, type NumberArray } from "./arrays";
import type { Scalar, Value } from "../trace/types";

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
