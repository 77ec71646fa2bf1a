/** Which entries of all tensors one number reaches. */
import type { NumberArray } from "./arrays";
import type { Live } from "./live";

/** A tensor that a number reaches: how many of its entries, and the first of these, counted row by row. */
export interface Reached {
  tensor: number;
  count: number;
  at: number;
}

/** How many entries two arrays differ in, and the first of them. */
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
 * The tensors that an entry of a leaf reaches, in the order in which they were made; the leaf is the first.
 *
 * NaN is put in its place and the program computed again: whatever uses the number is another one then.
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
