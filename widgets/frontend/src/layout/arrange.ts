/** Positions for what is visible after folding, computed in the browser; Python's are for the initial drawing. */
import { HEIGHT, LAYER, widthOf } from "./geometry";
import type { BoxId, Groups } from "../trace/groups";
import { plan } from "./layers";
import type { Graph, Pair } from "./layers";
import { straighten } from "./straighten";
import type { Layout } from "../trace/types";
import { untangle } from "./untangle";

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
