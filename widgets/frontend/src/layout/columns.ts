/** A map that is too high for its window is laid out in columns, like a newspaper; edges to the next one turn between them. */
import { HEIGHT, LAYER, narrowOf, widthOf } from "./geometry";
import type { BoxId, Groups } from "../trace/groups";
import type { Layout } from "../trace/types";

/** More boxes are no map. */
const MOST = 30;
const COLUMNS = 6;
/** The layers of columns are closer to each other. */
const TIGHT = 0.8;
/** Between two columns, and between edges that turn there. */
const [GUTTER, LANE, MARGIN] = [64, 9, 24];
/** Between two boxes that stand side by side. */
const BETWEEN = 24;

/** How many columns, and how their rows are: centred ones let edges pass beside the column, narrow ones hold short titles. */
export type Columns = readonly [count: number, rows: "" | "centred" | "narrow"];

/** A map that is drawn smaller than this has no room for anything but titles. */
const TITLES = 0.65;

/** The columns in which a map is drawn at its size or, if none does that, largest; its boxes are narrow if it has titles only. */
export function fitting(layout: Layout, groups: Groups, [wide, high]: readonly [number, number]): Columns {
  let [best, largest]: [Columns, number] = [[1, ""], 0];
  if (groups.folded.size === 0 || groups.members.size > MOST || wide <= 0 || high <= 0) return best;
  for (const rows of ["", "centred", "narrow"] as const) {
    if (rows === "narrow" && largest >= TITLES) break;
    for (let count = rows === "" ? 1 : 2; count <= COLUMNS && largest < 1; count++) {
      const [width, height] = inColumns(layout, groups, [count, rows]).size;
      const scale = Math.min(wide / width, high / height);
      if (scale > largest * 1.05) [best, largest] = [[count, rows], scale];
    }
  }
  return best;
}

/** The least share of their distance at which layers have room for gradients, and for a `.grad` above another edge's end. */
const [LEAST, ROOMY] = [0.74, 0.9];
/** How many times as high as the window a graph may be that has its layers so close even where it is seen in part. */
const NEARLY = 1.3;

const middles = ({ nodes }: Layout): number[] => Object.values(nodes).map(([, y]) => y);

/** How much closer the layers must be for a graph to fit into a height at its own size, or nearly; 1 if it never does. */
export function tightness(layout: Layout, high: number): number {
  const [ys, [, own]] = [middles(layout), layout.size];
  if (own <= high) return 1;
  const span = ys.reduce((a, b) => Math.max(a, b), 0) - ys.reduce((a, b) => Math.min(a, b), Infinity);
  const share = Math.floor((100 * (high - own + span)) / span) / 100;
  if (span > 4 * LAYER) return share >= ROOMY ? share : 1; // of many layers: among them are such ends
  return share >= LEAST ? share : own - span * (1 - LEAST) <= NEARLY * high ? LEAST : 1;
}

/** The same layers, this much closer to each other. */
export function tightened(layout: Layout, share: number): Layout {
  if (share === 1) return layout;
  const top = Math.min(...middles(layout));
  const move = ([x, y]: [number, number]): [number, number] => [x, top + (y - top) * share];
  const bottom = Math.max(...middles(layout));
  const nodes = Object.fromEntries(Object.entries(layout.nodes).map(([id, at]) => [id, move(at)]));
  const edges = Object.fromEntries(Object.entries(layout.edges ?? {}).map(([key, points]) => [key, points.map(move)]));
  return { ...layout, nodes, edges, size: [layout.size[0], layout.size[1] - (bottom - top) * (1 - share)] };
}

/** The same layers, cut into so many columns of about equal height. */
export function inColumns(layout: Layout, groups: Groups, [count, kind]: Columns): Layout {
  const [centred, widthIn] = [kind !== "", kind === "narrow" ? narrowOf : widthOf];
  const boxes = Object.entries(layout.nodes).map(([id, [x, y]]) => ({ id: Number(id), x, y, half: widthIn(groups, Number(id)) / 2 + 5 }));
  const rows = [...new Set(boxes.map(({ y }) => y))].sort((a, b) => a - b);
  const each = Math.ceil(rows.length / count);
  if (count < 2 || rows.length < 2) return layout;
  if (centred) for (const row of rows) centre(boxes.filter(({ y }) => y === row), kind === "narrow");
  const column = (y: number): number => Math.floor(rows.findIndex((row) => y <= row + 1) / each);
  const place = new Map(boxes.map(({ id, y }) => [id, column(y)]));
  const turns = [...new Set([...turning(groups, place), ...(centred ? Object.keys(layout.edges ?? {}) : [])])];
  const kept = Object.entries(layout.edges ?? {}).filter(([pair]) => !turns.includes(pair));
  const shifts: [x: number, y: number][] = [];
  let right = 0;
  for (let at = 0; at * each < rows.length; at++) {
    const own = boxes.filter(({ id }) => place.get(id) === at);
    const ways = kept.flatMap(([pair, points]) => (place.get(ends(pair)[0]) === at ? points.map(([x]) => x) : []));
    const left = Math.min(...own.map(({ x, half }) => x - half), ...ways);
    right += at === 0 ? MARGIN : GUTTER + LANE * turns.filter((pair) => place.get(ends(pair)[1]) === at).length;
    shifts.push([right - left, (rows[0] as number) - (rows[at * each] as number)]);
    right += Math.max(...own.map(({ x, half }) => x + half), ...ways) - left;
  }
  const top = rows[0] as number;
  const moved = ([x, y]: readonly [number, number], at: number): [number, number] => [x + (shifts[at]?.[0] ?? 0), top + TIGHT * (y + (shifts[at]?.[1] ?? 0) - top)];
  const nodes = Object.fromEntries(boxes.map(({ id, x, y }) => [id, moved([x, y], place.get(id) as number)]));
  const edges = Object.fromEntries(kept.map(([pair, points]) => [pair, points.map((point) => moved(point, place.get(ends(pair)[0]) as number))]));
  const bottom = Math.max(...Object.values(nodes).map(([, y]) => y)) + HEIGHT / 2 + MARGIN;
  const lefts = new Map<number, number>();
  for (const { id, half } of boxes) {
    const at = place.get(id) as number;
    lefts.set(at, Math.min(lefts.get(at) ?? Infinity, (nodes[id]?.[0] ?? 0) - half + 5));
  }
  return { nodes, size: [right + MARGIN, bottom], edges, turns: turned(turns, nodes, lefts, place), narrow: kind === "narrow" };
}

/** Moves the boxes of a row so that its middle is at 0; if they are to be close, they stand side by side. */
function centre(row: { x: number; half: number }[], close: boolean): void {
  row.sort((a, b) => a.x - b.x).forEach((box, at) => {
    const before = row[at - 1];
    if (close && before) box.x = before.x + before.half + BETWEEN + box.half;
  });
  const middle = (Math.min(...row.map(({ x, half }) => x - half)) + Math.max(...row.map(({ x, half }) => x + half))) / 2;
  for (const box of row) box.x -= middle;
}

const ends = (pair: string): [BoxId, BoxId] => pair.split(">").map(Number) as [BoxId, BoxId];

/** The edges from one column to another. */
function turning(groups: Groups, place: ReadonlyMap<BoxId, number>): string[] {
  const found = new Set<string>();
  groups.trace.nodes.forEach((node, id) => {
    for (const edge of node.next) {
      const [from, to] = [groups.owner[id], edge && groups.owner[edge[0]]];
      if (from !== undefined && to != null && place.get(from) !== place.get(to)) found.add(`${from}>${to}`);
    }
  });
  return [...found];
}

/** For each of them the two points between which it runs up or down, at the left of the column to which it leads. */
function turned(turns: readonly string[], nodes: Layout["nodes"], lefts: ReadonlyMap<number, number>, place: ReadonlyMap<BoxId, number>): Record<string, [number, number][]> {
  const used = new Map<number, number>();
  return Object.fromEntries(turns.map((pair) => {
    const [from, to] = ends(pair);
    const at = place.get(to) as number;
    const lane = used.get(at) ?? 0;
    used.set(at, lane + 1);
    const x = (lefts.get(at) as number) - GUTTER / 2 - LANE * lane;
    const [above, below] = [(nodes[from]?.[1] ?? 0) + HEIGHT / 2, (nodes[to]?.[1] ?? 0) - HEIGHT / 2];
    if (above >= below) return [pair, [[x, above], [x, below]]];
    const gap = TIGHT * LAYER - HEIGHT; // it leads down: into the next row at once, or along the column
    return [pair, below - above < 1.5 * gap ? [] : [[x, above + gap], [x, below - gap]]];
  }));
}
