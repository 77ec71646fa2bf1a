/** The size of a gradient: the classes of the heat colours. */
import { broken, norm } from "./format";
import type { Value } from "./types";

/** By the root mean square of the entries: the bounds between sizes. */
export const SIZES = [
  ["tiny", 1e-6, "below 1e-6"],
  ["small", 1e-3, "below 1e-3"],
  ["usual", 10, "1e-3 to 10"],
  ["large", 1e3, "above 10"],
  ["huge", Infinity, "above 1e3"],
] as const;

/** The root mean square of a value's entries; null if it is unknown or not finite. */
export function rootMeanSquare(value: Value): number | null {
  const [length, count] = [norm(value), value.shape.reduce((a, b) => a * b, 1)];
  return typeof length === "number" && count > 0 ? length / Math.sqrt(count) : null;
}

/** The size of a gradient: one of `SIZES`, "zero", "broken" for NaN and infinity, or nothing. */
export function sizeOf(value: Value | undefined): string {
  if (!value) return "";
  if (broken(value)) return "broken";
  const size = rootMeanSquare(value);
  if (size === null) return "";
  return size === 0 ? "zero" : (SIZES.find(([, below]) => size < below)?.[0] ?? "huge");
}
