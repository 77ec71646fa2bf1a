/** Positions for what is visible after folding, made in the browser by d3-dag; Python's are for the whole graph. */
import { coordGreedy, coordSimplex, decrossTwoLayer, graph, layeringLongestPath, layeringSimplex, sugiyama } from "d3-dag";
import type { MutGraphNode } from "d3-dag";
import { HEIGHT, LAYER, widthOf } from "./geometry";
import type { BoxId, Groups } from "./groups";
import type { Layout } from "./types";

const GAP = 44;
const MARGIN = 24;
/** Above this many boxes the quick methods are used: a little less straight, but at once. */
const MANY = 120;

/** The edges between boxes, each pair once, those that lead back left out. */
function pairs(groups: Groups): [BoxId, BoxId][] {
  const found = new Map<string, [BoxId, BoxId]>();
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
  for (const [from, to] of pairs(groups)) {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (a && b) drawn.link(a, b, undefined);
  }
  const many = groups.members.size > MANY;
  const sizes = sugiyama().nodeSize((node: { data: BoxId }) => [widthOf(groups, node.data), HEIGHT] as const);
  const layout = sizes.gap([GAP, LAYER - HEIGHT]).decross(decrossTwoLayer().passes(many ? 4 : 24));
  const size = many
    ? layout.layering(layeringLongestPath()).coord(coordGreedy())(drawn)
    : layout.layering(layeringSimplex()).coord(coordSimplex())(drawn);
  const nodes: Layout["nodes"] = {};
  const edges: NonNullable<Layout["edges"]> = {};
  for (const node of drawn.nodes()) nodes[node.data] = [node.x + MARGIN, node.y + MARGIN];
  for (const link of drawn.links()) {
    const bends = link.points.slice(1, -1).map(([x, y]): [number, number] => [x + MARGIN, y + MARGIN]);
    if (bends.length > 0) edges[`${link.source.data}>${link.target.data}`] = bends;
  }
  return { nodes, size: [size.width + 2 * MARGIN, size.height + 2 * MARGIN], edges };
}
