/** Orders the nodes of each layer so that few edges cross. */
import type { Graph } from "./layers";

/** Sweeps down and up, from each of two orders; it ends early if nothing crosses. */
const SWEEPS = 12;
const PATIENCE = 4;

type Order = number[][];
type Links = Pick<Graph, "up" | "down">;

/** The layers in that order. */
export function untangle(graph: Graph): Order {
  return best([deepFirst(graph.layers, graph), graph.layers], graph);
}

/** Each node's neighbours next to one another: the order in which a walk along the edges visits them. */
function deepFirst(layers: Order, { down, up }: Links): Order {
  const level: number[] = [];
  layers.forEach((layer, at) => layer.forEach((id) => (level[id] = at)));
  const found: Order = layers.map(() => []);
  const seen = new Set<number>();
  for (const start of layers.flat()) {
    const stack = [start];
    while (stack.length > 0) {
      const id = stack.pop() as number;
      if (seen.has(id)) continue;
      seen.add(id);
      found[level[id] as number]?.push(id);
      stack.push(...(up[id] as number[]), ...[...(down[id] as number[])].reverse());
    }
  }
  return found;
}

function best(starts: Order[], links: Links): Order {
  let [kept, fewest] = [starts[0] as Order, Infinity];
  for (const start of starts) {
    let order = start;
    let stuck = 0;
    for (let sweep = 0; sweep <= SWEEPS && stuck < PATIENCE && fewest > 0; sweep++) {
      if (sweep > 0) order = swept(order, links, sweep % 2 === 1);
      const count = crossings(order, links.down);
      stuck = count < fewest ? 0 : stuck + 1;
      if (count < fewest) [kept, fewest] = [order, count];
    }
  }
  return kept;
}

/** One sweep: each node moves to the middle of its neighbours in the layer before; one without any stays. */
function swept(order: Order, { up, down }: Links, downwards: boolean): Order {
  const found = [...order];
  const place: number[] = [];
  const put = (layer: number[]): void => layer.forEach((id, at) => (place[id] = at / layer.length));
  const turns = order.map((_, at) => (downwards ? at : order.length - 1 - at));
  for (const at of turns) {
    const layer = order[at] as number[];
    put(layer);
    const middle = new Map(layer.map((id) => [id, mean((downwards ? up : down)[id] as number[], place) ?? (place[id] as number)]));
    const sorted = [...layer].sort((a, b) => (middle.get(a) as number) - (middle.get(b) as number));
    put(sorted);
    found[at] = sorted;
  }
  return found;
}

function mean(ids: number[], place: number[]): number | null {
  if (ids.length === 0) return null;
  return ids.reduce((sum, id) => sum + (place[id] as number), 0) / ids.length;
}

/** The number of crossings of edges between neighbouring layers. */
function crossings(order: Order, down: number[][]): number {
  let found = 0;
  for (let at = 0; at + 1 < order.length; at++) {
    const below = order[at + 1] as number[];
    const place = new Map(below.map((id, x) => [id, x]));
    const ends = (order[at] as number[]).flatMap((id) => (down[id] as number[]).map((to) => place.get(to) as number).sort((a, b) => a - b));
    found += inversions(ends, below.length);
  }
  return found;
}

/** Pairs in which the larger number comes first, counted by a tree of sums. */
function inversions(numbers: number[], limit: number): number {
  const sums = new Int32Array(limit + 1);
  let found = 0;
  numbers.forEach((number, seen) => {
    let smaller = 0;
    for (let at = number + 1; at > 0; at -= at & -at) smaller += sums[at] as number;
    found += seen - smaller;
    for (let at = number + 1; at <= limit; at += at & -at) sums[at] = (sums[at] as number) + 1;
  });
  return found;
}
