/** Positions for what is visible after folding, computed in the browser; Python's are for the initial drawing. */
import { HEIGHT, LAYER, widthOf } from "./geometry";
import type { BoxId, Groups } from "../trace/groups";
import type { Layout } from "../trace/types";

const GAP = 56;
const MARGIN = 24;
/** The width reserved for an edge that passes a layer. */
const LANE = 20;

/** The edges between boxes, each pair once, without those that lead back. */
function pairs(groups: Groups): Pair[] {
  const found = new Map<string, Pair>();
  groups.trace.nodes.forEach((node, id) => {
    for (const edge of node.next) {
      const [from, to] = [groups.owner[id], edge && groups.owner[edge[0]]];
      if (from === undefined || to === null || to === undefined || from === to) continue;
      if (!found.has(`${to}>${from}`)) found.set(`${from}>${to}`, [from, to]);
    }
  });
  return [...found.values()];
}

/** Fills the layers; returns, for each pair that passes layers, the marks on its way. */
function layered(ids: BoxId[], kept: readonly Pair[], levels: ReadonlyMap<BoxId, number>): [Graph, Map<string, number[]>] {
  const graph: Graph = { layers: [], down: [], up: [], boxes: ids.length };
  const number = new Map(ids.map((id, at) => [id, at]));
  const level = (id: BoxId): number => levels.get(id) ?? 0;
  const add = (at: number): number => {
    while (graph.layers.length <= at) graph.layers.push([]);
    graph.layers[at]?.push(graph.down.length);
    graph.up.push([]);
    return graph.down.push([]) - 1;
  };
  for (const id of ids) add(level(id));
  const ways = new Map<string, number[]>();
  for (const [from, to] of kept) {
    const way: number[] = [];
    if (level(to) <= level(from)) continue; // on a cycle
    for (let at = level(from) + 1; at < level(to); at++) way.push(add(at));
    const points = [number.get(from) as number, ...way, number.get(to) as number];
    for (let at = 1; at < points.length; at++) {
      const [above, below] = [points[at - 1] as number, points[at] as number];
      graph.down[above]?.push(below);
      graph.up[below]?.push(above);
    }
    if (way.length > 0) ways.set(`${from}>${to}`, way);
  }
  return [graph, ways];
}

export function arrange(groups: Groups): Layout {
  const ids = [...groups.members.keys()];
  const { kept, levels } = plan(pairs(groups));
  const [graph, ways] = layered(ids, kept, levels);
  graph.layers = untangle(graph);
  const wide = (at: number): number => (at < ids.length ? widthOf(groups, ids[at] as BoxId) : LANE);
  const widths = graph.down.map((_, at) => wide(at));
  const gap = (a: number, b: number): number =>
    ((widths[a] as number) + (widths[b] as number)) / 2 + (a < ids.length && b < ids.length ? GAP : LANE);
  const places = straighten(graph, gap);
  const sides = places.map((x, at) => [x - (widths[at] as number) / 2, x + (widths[at] as number) / 2] as const);
  const left = sides.reduce((least, [side]) => Math.min(least, side), Infinity) - MARGIN;
  const right = sides.reduce((most, [, side]) => Math.max(most, side), left) + MARGIN;
  const spots: [number, number][] = [];
  graph.layers.forEach((layer, level) => {
    for (const at of layer) spots[at] = [(places[at] as number) - left, MARGIN + HEIGHT / 2 + level * LAYER];
  });
  const nodes: Layout["nodes"] = Object.fromEntries(ids.map((id, at) => [id, spots[at] as [number, number]]));
  const edges = Object.fromEntries([...ways].map(([pair, way]) => [pair, way.map((at) => spots[at] as [number, number])]));
  const height = 2 * MARGIN + HEIGHT + Math.max(0, graph.layers.length - 1) * LAYER;
  return { nodes, size: ids.length === 0 ? [2 * MARGIN, 2 * MARGIN] : [right - left, height], edges };
}

// ---- The layer of each box, and the edges that get room between layers. The rules are
// minigrad_widgets/graph/layout.py's.
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

// ---- Orders the nodes of each layer so that few edges cross.
/** Sweeps down and up, from each of two orders; it ends early if nothing crosses. */
const ORDERINGS = 12;
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
    for (let sweep = 0; sweep <= ORDERINGS && stuck < PATIENCE && fewest > 0; sweep++) {
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

// ---- The horizontal positions of the nodes of each layer: near their neighbours, without overlap. In linear time.
const SWEEPS = 16;
const BOTH = 4;
/** The weight of straightness where an edge passes a layer. */
const PASSING = 20;

/** What a sweep needs of a node, computed once. */
interface Item {
  x: number;
  up: Item[];
  down: Item[];
  /** The longest path below it. A node with a longer one is kept straight, others give way. */
  weight: number;
  passes: boolean;
}

/** The position of each node. The rules are minigrad_widgets/graph/layout.py's. */
export function straighten(graph: Graph, gap: (a: number, b: number) => number): number[] {
  const all = itemsOf(graph);
  const layers = graph.layers.map((layer) => layer.map((at) => all[at] as Item));
  const gaps = graph.layers.map((layer) => layer.map((at, place) => (place === 0 ? 0 : gap(layer[place - 1] as number, at))));
  layers.forEach((layer, at) => pack(layer, gaps[at] as number[]));
  const order = layers.map((_, at) => at);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const both = sweep >= SWEEPS - BOTH;
    const near = (item: Item): Item[] => (both ? [...item.up, ...item.down] : down ? item.up : item.down);
    for (const at of down ? order : [...order].reverse()) settle(layers[at] as Item[], gaps[at] as number[], near);
  }
  return all.map((item) => item.x);
}

function itemsOf({ layers, down, boxes }: Graph): Item[] {
  const items = down.map((_, at): Item => ({ x: 0, up: [], down: [], weight: 1, passes: at >= boxes }));
  for (const layer of [...layers].reverse()) {
    for (const at of layer) {
      const item = items[at] as Item;
      for (const to of down[at] ?? []) {
        const below = items[to] as Item;
        item.down.push(below);
        below.up.push(item);
        item.weight = Math.max(item.weight, below.weight + 1);
      }
    }
  }
  return items;
}

/** Packed closely, around zero. */
function pack(layer: Item[], gaps: number[]): void {
  const wide = gaps.reduce((sum, gap) => sum + gap, 0);
  let x = -wide / 2;
  layer.forEach((item, at) => (item.x = x += gaps[at] as number));
}

interface Block {
  sum: number;
  weight: number;
  count: number;
}

/** Least squares in the order of the layer: items that would overlap move as a block. */
function settle(layer: Item[], gaps: number[], near: (item: Item) => Item[]): void {
  const offsets: number[] = [];
  const blocks: Block[] = [];
  let offset = 0;
  layer.forEach((item, at) => {
    offsets.push((offset += gaps[at] as number));
    let block: Block = { ...wish(item, near(item), offset), count: 1 };
    for (let above = blocks.at(-1); above && above.sum / above.weight > block.sum / block.weight; above = blocks.at(-1)) {
      blocks.pop();
      block = { sum: above.sum + block.sum, weight: above.weight + block.weight, count: above.count + block.count };
    }
    blocks.push(block);
  });
  let at = 0;
  for (const { sum, weight, count } of blocks) {
    for (const end = at + count; at < end; at++) (layer[at] as Item).x = sum / weight + (offsets[at] as number);
  }
}

/** The position of an item by itself, less its offset, times its weight. */
function wish(item: Item, near: Item[], offset: number): { sum: number; weight: number } {
  let [sum, weight] = [(item.x - offset) * 0.01, 0.01];
  for (const other of near) {
    const pull = Math.min(item.weight, other.weight) * (item.passes || other.passes ? PASSING : 1);
    sum += (other.x - offset) * pull;
    weight += pull;
  }
  return { sum, weight };
}
