/** Where the nodes of each layer stand, side to side: near their neighbours, clear of one another. In linear time. */
import type { Coord, SugiNode, SugiSeparation } from "d3-dag";

type Node = SugiNode<unknown, unknown>;
type Between = SugiSeparation<unknown, unknown>;

const SWEEPS = 16;
/** How much straighter an edge is wanted where it only passes a layer. */
const PASSING = 20;

/** What a sweep needs of a node, asked once. */
interface Item {
  node: Node;
  x: number;
  up: Item[];
  down: Item[];
  /** How much hangs from it: the longest way down. What has more stands straight, what has less gives way. */
  weight: number;
  bend: boolean;
}

export const straighten: Coord<unknown, unknown> = (layers, sep) => {
  const items = itemsOf(layers);
  const gaps = layers.map((layer) => layer.map((node, at) => (at === 0 ? 0 : sep(layer[at - 1], node))));
  items.forEach((layer, at) => pack(layer, gaps[at] as number[]));
  const order = items.map((_, at) => at);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const all = sweep >= SWEEPS - 4;
    for (const at of down ? order : [...order].reverse()) {
      settle(items[at] as Item[], gaps[at] as number[], all ? (item) => [...item.up, ...item.down] : (item) => (down ? item.up : item.down));
    }
  }
  return shifted(items, sep as Between);
};

function itemsOf(layers: readonly Node[][]): Item[][] {
  const known = new Map<Node, Item>();
  const items = layers.map((layer) =>
    layer.map((node) => {
      const item: Item = { node, x: 0, up: [], down: [], weight: 1, bend: node.data.role === "link" };
      known.set(node, item);
      return item;
    }),
  );
  for (const layer of [...items].reverse()) {
    for (const item of layer) {
      for (const child of item.node.children()) {
        const below = known.get(child) as Item;
        item.down.push(below);
        below.up.push(item);
        item.weight = Math.max(item.weight, below.weight + 1);
      }
    }
  }
  return items;
}

/** Close together, around zero. */
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

/** Least squares in the order of the layer: those that would stand on one another move as a block. */
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

/** Where an item would stand if it were alone, less its offset, times how much that matters. */
function wish(item: Item, near: Item[], offset: number): { sum: number; weight: number } {
  let [sum, weight] = [(item.x - offset) * 0.01, 0.01];
  for (const other of near) {
    const pull = Math.min(item.weight, other.weight) * (item.bend || other.bend ? PASSING : 1);
    sum += (other.x - offset) * pull;
    weight += pull;
  }
  return { sum, weight };
}

/** Writes the places into the nodes, from zero on; gives the width. */
function shifted(items: Item[][], sep: Between): number {
  let [left, right] = [Infinity, -Infinity];
  for (const layer of items) {
    const [first, last] = [layer[0], layer.at(-1)];
    if (!first || !last) continue;
    left = Math.min(left, first.x - sep(undefined, first.node));
    right = Math.max(right, last.x + sep(last.node, undefined));
  }
  for (const layer of items) for (const item of layer) item.node.x = item.x - left;
  return right - left;
}
