/** The layer of each box, and the edges that get room between layers. The rules are minigrad_widgets/graph/layout.py's. */
import type { BoxId } from "../trace/groups";

export type Pair = [from: BoxId, to: BoxId];

/** The contents of the layers: the boxes, numbered before the marks through which long edges pass. */
export interface Graph {
  layers: number[][];
  /** For each item its successors in the layer below, and its predecessors in the one above. */
  down: number[][];
  up: number[][];
  /** The number of boxes. */
  boxes: number;
}

/** The average length, beyond one layer, up to which edges count as short. */
const TIGHT = 1.02;
/** The number of layers that all edges together may pass. */
const ROOM = 1_500;

/** The longest path to each box, from boxes without predecessors. */
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
  /** The edges that get room; the others are drawn straight, behind the boxes. */
  kept: readonly Pair[];
  levels: Map<BoxId, number>;
}

export function plan(pairs: readonly Pair[]): Plan {
  const deep = depths(pairs);
  const high = depths(pairs.map(([from, to]) => [to, from]));
  const length = (levels: Map<BoxId, number>, [from, to]: Pair): number => Math.abs((levels.get(to) ?? 0) - (levels.get(from) ?? 0));
  if (pairs.reduce((sum, pair) => sum + length(high, pair), 0) <= TIGHT * pairs.length) {
    const last = Math.max(0, ...new Set(high.values()));
    return { kept: pairs, levels: new Map([...high].map(([id, level]) => [id, last - level])) };
  }
  if (pairs.reduce((sum, pair) => sum + length(deep, pair) - 1, 0) <= ROOM) return { kept: pairs, levels: deep };
  let room = ROOM;
  const sorted = [...pairs].sort((a, b) => length(deep, a) - length(deep, b));
  return { kept: sorted.filter((pair) => (room -= length(deep, pair) - 1) >= 0), levels: deep };
}
