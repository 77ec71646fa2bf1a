/** The operands of expressions: their names, and their combined state. */
import { computes, make } from "./arrays";
import type { NumberArray } from "./arrays";
import type { Known } from "./memory";
import type { Expression } from "../trace/types";

const places = new Map<string, [list: string, at: number]>();

/** A name such as `inputs[1]` as its list and index; for any other name the index is 0. */
export function placeOf(name: string): [list: string, at: number] {
  const known = places.get(name);
  if (known) return known;
  const [, list = name, at = "0"] = /^(inputs|reads|grads)\[(\d+)\]$/.exec(name) ?? [];
  const found: [string, number] = [list, Number(at)];
  places.set(name, found);
  return found;
}

const names = new WeakMap<object, string[]>();

/** The operands of an expression. */
export function namesIn(expression: Expression): string[] {
  if (typeof expression === "string") return [expression];
  if (!Array.isArray(expression)) return [];
  const known = names.get(expression);
  if (known) return known;
  const [name, ...args] = expression;
  const found = ["dtype", "text", "float"].includes(name) ? [] : [...new Set(args.flatMap(namesIn))];
  names.set(expression, found);
  return found;
}

/** The combined state of several arrays: touched, or stale, if any of them is. */
export function together(all: readonly Known[]): Known {
  return { array: null, touched: all.some((each) => each.touched), stale: all.some((each) => each.stale) };
}

/** Whether two arrays hold the same numbers. */
export function alike(a: NumberArray | null, b: NumberArray | null): boolean {
  return a === b || (a !== null && b !== null && a.data.length === b.data.length && a.data.every((x, at) => Object.is(x, b.data[at])));
}

export function added(a: Known, b: Known): Known {
  const [x, y] = [a.array, b.array];
  const state = together([a, b]);
  return { ...state, array: x && y && !state.stale && computes(y.dtype) ? make(y.shape, y.dtype, (at) => (x.data[at] as number) + (y.data[at] as number)) : null };
}
