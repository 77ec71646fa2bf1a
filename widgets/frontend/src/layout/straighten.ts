/** The horizontal positions of the nodes of each layer: near their neighbours, without overlap. In linear time. */
import type { Graph } from "./layers";

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
