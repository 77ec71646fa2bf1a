/** The entries of all tensors that one number affects. */
import type { NumberArray } from "./arrays";
import type { Live } from "./live";

/** A tensor that a number affects: how many of its entries, and the first of these in row-major order. */
export interface Reached {
  tensor: number;
  count: number;
  at: number;
}

/** The number of entries in which two arrays differ, and the first of them. */
function difference(before: NumberArray | null, after: NumberArray | null): [count: number, first: number] {
  let [count, first] = [0, -1];
  after?.data.forEach((x, at) => {
    if (Object.is(x, before?.data[at])) return;
    count += 1;
    if (first < 0) first = at;
  });
  return before ? [count, first] : [0, -1];
}

/**
 * The tensors that an entry of a leaf affects, in the order of their creation; the leaf is the first.
 *
 * It is replaced by NaN and the program recomputed: whatever uses the number changes.
 */
export function reached(live: Live, leaf: number, at: number): Reached[] {
  const { changes } = live;
  const arrays = (): (NumberArray | null)[] => live.trace.tensors.map((record) => live.slots.array(record.value));
  const before = arrays();
  const numbers = [...(changes.get(leaf) ?? live.numbers(leaf))];
  numbers[at] = NaN;
  live.run(new Map([...changes, [leaf, numbers]]));
  const after = arrays();
  live.run(changes);
  const found = after.flatMap((array, tensor): Reached[] => {
    const [count, first] = difference(before[tensor] ?? null, array);
    return count > 0 && tensor !== leaf ? [{ tensor, count, at: first }] : [];
  });
  return [{ tensor: leaf, count: 1, at }, ...found];
}
