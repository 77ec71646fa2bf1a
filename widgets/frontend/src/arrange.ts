/** Positions for what is visible after folding, made in the browser by d3-dag; Python's are for the whole graph. */
import { coordSimplex, graph, layeringLongestPath, layeringSimplex, sugiyama } from "d3-dag";
import type { Coord, Layering, MutGraphNode } from "d3-dag";
import { HEIGHT, LAYER, widthOf } from "./geometry";
import type { BoxId, Groups } from "./groups";
import { plan } from "./layers";
import type { Pair } from "./layers";
import { straighten } from "./straighten";
import type { Layout } from "./types";
import { untangle } from "./untangle";

const GAP = 44;
const MARGIN = 24;
/** Above this many boxes quick methods are used: a little less straight, but at once. */
const MANY = 120;

/** The edges between boxes, each pair once, those that lead back left out. */
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

export function arrange(groups: Groups): Layout {
  const drawn = graph<BoxId, undefined>();
  const boxes = new Map<BoxId, MutGraphNode<BoxId, undefined>>();
  for (const id of groups.members.keys()) boxes.set(id, drawn.node(id));
  const { pairs: kept, topDown, tight } = plan(pairs(groups));
  for (const [from, to] of kept) {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (a && b) drawn.link(a, b, undefined);
  }
  const many = groups.members.size > MANY;
  const layering: Layering<unknown, unknown> = many || tight ? layeringLongestPath().topDown(topDown) : layeringSimplex();
  const coord: Coord<unknown, unknown> = many ? straighten : coordSimplex();
  const sizes = sugiyama().nodeSize((node: { data: BoxId }) => [widthOf(groups, node.data), HEIGHT] as const);
  const size = sizes.gap([GAP, LAYER - HEIGHT]).layering(layering).decross(untangle).coord(coord)(drawn);
  const nodes: Layout["nodes"] = {};
  const edges: NonNullable<Layout["edges"]> = {};
  for (const node of drawn.nodes()) nodes[node.data] = [node.x + MARGIN, node.y + MARGIN];
  for (const link of drawn.links()) {
    const bends = link.points.slice(1, -1).map(([x, y]): [number, number] => [x + MARGIN, y + MARGIN]);
    if (bends.length > 0) edges[`${link.source.data}>${link.target.data}`] = bends;
  }
  return { nodes, size: [size.width + 2 * MARGIN, size.height + 2 * MARGIN], edges };
}
