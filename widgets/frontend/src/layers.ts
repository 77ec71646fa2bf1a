/** In which layer each box stands, and which edges get room between the layers. The rules are minigrad_widgets/layout.py's. */
import type { BoxId } from "./groups";

export type Pair = [from: BoxId, to: BoxId];

/** So much longer than one layer may edges be on average to count as short. */
const TIGHT = 1.02;
/** So many layers in all may edges pass. */
const ROOM = 1_500;

/** The longest path to each box, from boxes to which nothing leads. */
function depths(pairs: readonly Pair[]): Map<BoxId, number> {
  const onward = new Map<BoxId, BoxId[]>();
  const waits = new Map<BoxId, number>();
  for (const [from, to] of pairs) {
    onward.set(from, [...(onward.get(from) ?? []), to]);
    waits.set(to, (waits.get(to) ?? 0) + 1);
  }
  const found = new Map([...onward.keys()].filter((id) => !waits.has(id)).map((id) => [id, 0]));
  for (const [id, depth] of found) {
    for (const to of onward.get(id) ?? []) {
      const left = (waits.get(to) ?? 0) - 1;
      waits.set(to, left);
      if (left === 0) found.set(to, depth + 1);
    }
  }
  return found;
}

export interface Plan {
  pairs: Pair[];
  /** Whether layers are counted from the roots, or from the leaves. */
  topDown: boolean;
  /** Whether the length of edges is as good as it can be. */
  tight: boolean;
}

export function plan(pairs: readonly Pair[]): Plan {
  const deep = depths(pairs);
  const high = depths(pairs.map(([from, to]) => [to, from]));
  const passed = ([from, to]: Pair): number => (deep.get(to) ?? 0) - (deep.get(from) ?? 0) - 1;
  const upward = pairs.reduce((sum, [from, to]) => sum + (high.get(from) ?? 0) - (high.get(to) ?? 0), 0);
  if (upward <= TIGHT * pairs.length) return { pairs: [...pairs], topDown: false, tight: true };
  const long = pairs.reduce((sum, pair) => sum + passed(pair), 0);
  const tight = long <= (TIGHT - 1) * pairs.length;
  if (long <= ROOM) return { pairs: [...pairs], topDown: true, tight };
  // The edges that make a box as deep as it is pass no layer: they stay, and so all others still point down.
  let room = ROOM;
  const sorted = [...pairs].sort((a, b) => passed(a) - passed(b));
  return { pairs: sorted.filter((pair) => (room -= passed(pair)) >= 0), topDown: true, tight: true };
}
