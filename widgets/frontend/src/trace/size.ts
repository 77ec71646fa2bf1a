/** How large a gradient is: the words by which heat is drawn. */
import { broken, norm } from "./format";
import type { Value } from "./types";

/** By the root mean square of the entries: where one size ends and the next begins. */
export const SIZES = [
  ["tiny", 1e-6, "below 1e-6"],
  ["small", 1e-3, "below 1e-3"],
  ["usual", 10, "1e-3 to 10"],
  ["large", 1e3, "above 10"],
  ["huge", Infinity, "above 1e3"],
] as const;

/** The root mean square of a value's entries; null where it is not known, or no finite number. */
export function rootMeanSquare(value: Value): number | null {
  const [length, count] = [norm(value), value.shape.reduce((a, b) => a * b, 1)];
  return typeof length === "number" && count > 0 ? length / Math.sqrt(count) : null;
}

/** The size of a gradient: a word of `SIZES`, "zero", "broken" for NaN and infinity, or nothing. */
export function sizeOf(value: Value | undefined): string {
  if (!value) return "";
  if (broken(value)) return "broken";
  const size = rootMeanSquare(value);
  if (size === null) return "";
  return size === 0 ? "zero" : (SIZES.find(([, below]) => size < below)?.[0] ?? "huge");
}
