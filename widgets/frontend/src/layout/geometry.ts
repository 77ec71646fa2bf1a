/** The geometry of the drawing: sizes of boxes, ports on them, curves between them. Pure numbers, no page. */
import { shape } from "../trace/format";
import { boxTitle, failureAt, scopeOf, type BoxId, type Groups } from "../trace/groups";
import { middle, shortened } from "../trace/rows";
import type { NodeRecord } from "../trace/events";
import type { Layout, Maybe, Trace } from "../trace/types";

export type Point = [x: number, y: number];

export const HEIGHT = 46;
const PORTS = 34;
export const LAYER = 98;
/** How far below its box and above the next an edge to another column turns, and how round its corners are. */
const [TURN, ROUND] = [16, 9];

/** The sides of a part of the drawing. */
export interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  title: string;
  caption: string;
}

export interface Wire {
  /** The edge's name in a frame; where several lead from one folded box to another, that of the first. */
  key: string;
  keys: string[];
  from: BoxId;
  index: number;
  to: BoxId | null;
  /** The output of its node that it leads to; unknown for an edge into a folded box. */
  output_nr: Maybe;
  points: Point[];
  /** Whether its gradient is at its left, as for the first of several edges between two boxes. */
  left?: boolean;
}

/** An input of a node that needs no gradient: PyTorch's `(None, 0)`. */
export interface Stub {
  key: string;
  at: Point;
  /** Where its word is: beside it, away from the other edges, or below it where there are some on both sides. */
  side: "left" | "right" | "below";
  /** "None" and, where there is room, the name of the input. */
  word: string;
}

/** So many nodes and no modules: then a node without a name shows the number that sentences give it. */
const NUMBERED = 60;
/** The longest name before "None", and the widths of the word with and without it. */
const [NAMED, LETTER, PLAIN] = [6, 6.4, 33];

export interface Drawing {
  boxes: Map<BoxId, Box>;
  wires: Wire[];
  stubs: Stub[];
  size: Point;
}

export function labels(groups: Groups, id: BoxId): [title: string, caption: string] {
  const trace = groups.trace;
  const failed = failureAt(groups, id)?.caption;
  if (id < 0) {
    const count = groups.members.get(id)?.length ?? 0;
    const nodes = count === 1 ? "1 node" : `${count} nodes`;
    const module = trace.scopes?.[scopeOf(id)]?.module ?? "";
    return [boxTitle(trace, scopeOf(id)), failed ?? (module === "" ? nodes : `${module} · ${nodes}`)];
  }
  const node = trace.nodes[id];
  if (!node) return [`node ${id}`, ""];
  const tensor = trace.tensors[node.variable ?? node.outputs[0] ?? -1];
  const parts = [tensor?.name ?? numberOf(trace, node, id), tensor ? shape(tensor.shape) : ""].filter((part) => part !== "");
  if (node.outputs.length > 1) parts.push(`× ${node.outputs.length}`);
  return [node.name, failed ?? parts.join(" · ")];
}

/** Of a node without a name of its own the number that sentences give it, where others of its class are beside it. */
function numberOf(trace: Trace, { name, variable }: NodeRecord, id: number): string {
  const few = trace.nodes.length <= NUMBERED && variable === undefined && !trace.scopes?.length;
  return few && trace.nodes.filter((each) => each.name === name).length > 1 ? `#${id}` : "";
}

/** The width that holds both lines, the marks and the longest word; minigrad_widgets/graph/geometry.py has the same rule. */
export function widthOf(groups: Groups, id: BoxId): number {
  const [title, caption] = labels(groups, id);
  const [letter, word] = id < 0 ? [10.6, 44] : [9.2, 78];
  return Math.max(id < 0 ? 176 : 132, Math.ceil(Math.max(title.length * letter + marksOf(groups, id), caption.length * 6.6 + word)) + 44);
}

const marksOf = (groups: Groups, id: BoxId): number => 11 * Math.min(4, groups.trace.nodes[id]?.saved.length ?? 0) + 8;

/** The width of a letter of a title, as a part of its height, and the largest letters of a map that is drawn small. */
export const BOLD = 0.66;
const LETTERS = 19;
/** A path of so many letters is not shortened, nor the title of a row of blocks. */
const [SHORT, ROW] = [12, 18];

/** What stands on a box where there is little room: no `Backward0`, and of a long path the first letters and the last name. */
export function briefly(title: string): string {
  const name = title.replace(/Backward\d+$/, "");
  const words = name.split(" ");
  const least = (path: string): number => path.slice(path.lastIndexOf(".") + 1).length + 2 * (path.split(".").length - 1);
  if (words.length > 1) return name.length <= ROW ? name : words.map((each) => shortened(each, least(each))).join(" ");
  return shortened(name, Math.max(SHORT, least(name)));
}

/** As much of a title as so many letters say; of a row of blocks, both ends and their number. */
export function within(title: string, most: number): string {
  if (title.length <= most) return title;
  const short = briefly(title);
  return short.length <= most ? short : middle(short.replace(" … ", "…"), most);
}

/** The width that holds this, or the norm of a gradient, in letters that are legible where a map is drawn small. */
export function narrowOf(groups: Groups, id: BoxId): number {
  const title = briefly(labels(groups, id)[0]).length * BOLD * LETTERS;
  return Math.max(144, Math.ceil(title + marksOf(groups, id)) + 44);
}

/** Positions if there are none: one column, in order. Python places nodes better. */
function column(groups: Groups): Layout["nodes"] {
  const ids = [...groups.members.keys()];
  return Object.fromEntries(ids.map((id, at) => [id, [120, 40 + (ids.length - 1 - at) * LAYER]]));
}

function placed(groups: Groups, layout: Layout | null): Drawing["boxes"] {
  const boxes = new Map<BoxId, Box>();
  for (const [key, [x, y]] of Object.entries(layout?.nodes ?? column(groups))) {
    const id = Number(key);
    const [title, caption] = labels(groups, id);
    boxes.set(id, { x, y, width: (layout?.narrow ? narrowOf : widthOf)(groups, id), title, caption });
  }
  return boxes;
}

/** Spreads `count` ports over a side of a box, close together and centred. */
function spread(box: Box, count: number, at: number): number {
  const gap = Math.min(PORTS, (box.width - PORTS) / Math.max(1, count - 1));
  return box.x + (at - (count - 1) / 2) * gap;
}

interface End {
  wire: Wire;
  toward: number;
}

function wordOf({ nodes, tensors }: Groups["trace"], { from, index }: Wire, side: Stub["side"]): string {
  const name = tensors[nodes[from]?.inputs?.[index] ?? -1]?.name ?? "";
  return name !== "" && name.length <= NAMED && side !== "below" ? `${name}: None` : "None";
}

/** What the word of an input without gradient covers. */
export function stubRegion({ at: [x, y], side, word }: Stub): Region {
  const wide = word === "None" ? PLAIN : LETTER * word.length;
  if (side === "below") return { left: x - PLAIN / 2, right: x + PLAIN / 2, top: y, bottom: y + 28 };
  return { left: side === "left" ? x - 5 - wide : x - 5, right: side === "left" ? x + 5 : x + 5 + wide, top: y, bottom: y + 12 };
}

/** Edges in the order of where they lead, so that few of them cross; one to nothing at the place that its input has. */
function inOrder(list: readonly End[]): readonly End[] {
  const sorted = list.filter(({ wire }) => wire.to !== null).sort((a, b) => a.toward - b.toward || a.wire.from - b.wire.from || a.wire.index - b.wire.index);
  const stubs = list.filter(({ wire }) => wire.to === null).sort((a, b) => a.wire.index - b.wire.index);
  for (const stub of stubs) sorted.splice(list.filter(({ wire }) => wire.index < stub.wire.index).length, 0, stub);
  return sorted;
}

function attach(ends: Map<number, End[]>, boxes: Drawing["boxes"], put: (wire: Wire, x: number, box: Box, side: Stub["side"]) => void): void {
  for (const [id, list] of ends) {
    const box = boxes.get(id);
    if (!box) continue;
    inOrder(list).forEach((end, at) => put(end.wire, spread(box, list.length, at), box, at === list.length - 1 ? "right" : at === 0 ? "left" : "below"));
  }
}

export function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

/** Every edge between boxes: one for each between two nodes, a single one if an end is a folded box. */
function joined(groups: Groups, boxes: Drawing["boxes"], layout: Layout | null): Wire[] {
  const wires = new Map<string, Wire>();
  for (const from of boxes.keys()) {
    for (const id of groups.members.get(from) ?? []) {
      groups.trace.nodes[id]?.next.forEach((edge, index) => {
        const to = edge ? (groups.owner[edge[0]] ?? null) : null;
        if (to === from || (to === null && from < 0)) return;
        const key = `${id}:${index}`;
        const pair = `${from}>${to}`;
        const name = from < 0 || (to ?? 0) < 0 ? pair : key;
        const bends = layout?.edges?.[key] ?? layout?.edges?.[pair] ?? [];
        const points: Point[] = [[0, 0], ...(layout?.turns?.[pair] ?? bends.flatMap(bend)), [0, 0]];
        const output_nr = (to ?? 0) < 0 ? null : (edge?.[1] ?? 0);
        const wire = wires.get(name) ?? { key, keys: [], from, index, to, output_nr, points };
        wire.keys.push(key);
        wires.set(name, wire);
      });
    }
  }
  return [...wires.values()];
}

function connect(groups: Groups, boxes: Drawing["boxes"], layout: Layout | null): [Wire[], Stub[]] {
  const wires: Wire[] = [];
  const stubs: Stub[] = [];
  const leaving = new Map<BoxId, End[]>();
  const arriving = new Map<BoxId, End[]>();
  for (const wire of joined(groups, boxes, layout)) {
    const [box, target] = [boxes.get(wire.from), wire.to === null ? undefined : boxes.get(wire.to)];
    if (!box) continue;
    const bends = wire.points.slice(1, -1);
    push(leaving, wire.from, { wire, toward: bends[0]?.[0] ?? target?.x ?? 0 });
    if (wire.to === null || !target) continue;
    wires.push(wire);
    push(arriving, wire.to, { wire, toward: bends.at(-1)?.[0] ?? box.x });
  }
  attach(leaving, boxes, (wire, x, box, side) => {
    wire.points[0] = [x, box.y + HEIGHT / 2];
    if (wire.to === null) stubs.push({ key: wire.key, at: wire.points[0], side, word: wordOf(groups.trace, wire, side) });
  });
  attach(arriving, boxes, (wire, x, box) => {
    wire.points[wire.points.length - 1] = [x, box.y - HEIGHT / 2];
  });
  const pairs = new Map<string, Wire[]>();
  for (const wire of wires) push(pairs, `${wire.from}>${wire.to}`, wire);
  for (const twins of pairs.values()) {
    const [first, second] = twins.sort((a, b) => (a.points[0] as Point)[0] - (b.points[0] as Point)[0]);
    if (first && second) first.left = true;
  }
  return [wires, stubs];
}

/** An edge that passes a layer runs straight down next to the boxes of that layer. */
export function bend([x, y]: Point): Point[] {
  return [
    [x, y - HEIGHT / 2],
    [x, y + HEIGHT / 2],
  ];
}

export function draw(groups: Groups, layout: Layout | null): Drawing {
  const boxes = placed(groups, layout);
  const [wires, stubs] = connect(groups, boxes, layout);
  let [width, height] = layout?.size ?? [0, 0];
  for (const box of boxes.values()) {
    width = Math.max(width, box.x + box.width / 2);
    height = Math.max(height, box.y + HEIGHT / 2);
  }
  return { boxes, wires, stubs, size: [width, height] };
}

/** How far a segment turns below its ends, the first of an edge, or above them, if both are equally high. */
const turn = (points: readonly Point[], end: number): number => (points[end - 1]?.[1] !== points[end]?.[1] ? 0 : end === 1 ? TURN : -TURN);

/** From a point to another of the same height, by a line that far below it, with round corners. */
function around([ax, y]: Point, [bx]: Point, far: number): string {
  const [side, up] = [Math.sign(bx - ax) * Math.min(ROUND, Math.abs(bx - ax) / 2), Math.sign(far) * ROUND];
  const line = y + far;
  return `L${ax},${line - up}Q${ax},${line} ${ax + side},${line}L${bx - side},${line}Q${bx},${line} ${bx},${line - up}L${bx},${y}`;
}

/** A smooth path through the points, leaving and arriving straight down, with an arrow head; it ends that far above the last. */
export function path(given: readonly Point[], above = 0): string {
  const points = given.map(([x, y], at): Point => [x, at === given.length - 1 ? y - above : y]);
  const [first = [0, 0]] = points;
  let text = `M${first[0]},${first[1]}`;
  for (let i = 1; i < points.length; i++) {
    const [ax, ay] = points[i - 1] as Point;
    const [bx, by] = points[i] as Point;
    const far = turn(given, i);
    const middle = (ay + by) / 2;
    text += far !== 0 ? around([ax, by], [bx, by], far) : ax === bx ? `L${bx},${by}` : `C${ax},${middle} ${bx},${middle} ${bx},${by}`;
  }
  const [x, y] = points.at(-1) ?? first;
  return `${text}M${x - 4},${y - 6}L${x},${y - 0.5}L${x + 4},${y - 6}`;
}

/** The point at the fraction `t` of the segment of a wire that ends with point `end`. */
export function along(points: readonly Point[], end: number, t: number): Point {
  const [ax, ay] = points[end - 1] ?? [0, 0];
  const [bx, by] = points[end] ?? [0, 0];
  const far = turn(points, end);
  if (far !== 0) return [ax + (bx - ax) * t, ay + far];
  const s = 1 - t;
  const x = s * s * s * ax + 3 * s * s * t * ax + 3 * s * t * t * bx + t * t * t * bx;
  const middle = (ay + by) / 2;
  const y = s * s * s * ay + 3 * s * s * t * middle + 3 * s * t * t * middle + t * t * t * by;
  return [x, y];
}

// ---- The part of a drawing to show first.
/** The first view: the whole if it is legible, else a part of it, else as much as fits around a point. */
export interface Outlook {
  size: Point;
  /** What frames cover, which may stand out of the drawing. */
  over: Region | null;
  part: Region;
  point: Point;
  /** What of it is drawn at this step, if that is not all: it is in the middle until something beyond the view is drawn. */
  now?: Region | undefined;
}

/** The view of a box: what it is connected with. Without a box it is the whole, from the top. */
export function outlook({ boxes, wires, size }: Drawing, box: BoxId | null, drawn: (id: BoxId) => boolean = () => true, over: Region | null = null): Outlook {
  const near = box === null ? null : connected(box, wires);
  const part = covered([...boxes].flatMap(([id, each]) => (near === null || near.has(id) ? [each] : [])));
  const at = box === null ? undefined : boxes.get(box);
  const now = [...boxes].flatMap(([id, each]) => (drawn(id) ? [each] : []));
  return {
    size,
    over,
    part: near === null && over ? both(part, over) : part,
    point: at ? [at.x, at.y] : top(boxes),
    now: now.length > 0 && now.length < boxes.size ? covered(now) : undefined,
  };
}

/** The smallest region around two. */
export function both(a: Region, b: Region): Region {
  return { left: Math.min(a.left, b.left), top: Math.min(a.top, b.top), right: Math.max(a.right, b.right), bottom: Math.max(a.bottom, b.bottom) };
}

/** The centre of the highest box: of several columns that of the first, with which a map begins. */
export function top(boxes: Drawing["boxes"]): Point {
  let best: Box | null = null;
  for (const box of boxes.values()) if (!best || box.y < best.y - 1 || (box.y < best.y + 1 && box.x < best.x)) best = box;
  return best ? [best.x, best.y] : [0, 0];
}

/** The region that the boxes cover. */
function covered(boxes: readonly Box[]): Region {
  const region = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { x, y, width } of boxes) {
    region.left = Math.min(region.left, x - width / 2);
    region.right = Math.max(region.right, x + width / 2);
    region.top = Math.min(region.top, y - HEIGHT / 2);
    region.bottom = Math.max(region.bottom, y + HEIGHT / 2);
  }
  return boxes.length > 0 ? region : { left: 0, top: 0, right: 0, bottom: 0 };
}

/** The boxes connected with one by edges, in either direction, and itself. */
function connected(start: BoxId, wires: readonly Wire[]): Set<BoxId> {
  const beside = new Map<BoxId, BoxId[]>();
  for (const { from, to } of wires) {
    if (to === null) continue;
    push(beside, from, to);
    push(beside, to, from);
  }
  const found = new Set([start]);
  for (const box of found) for (const next of beside.get(box) ?? []) found.add(next);
  return found;
}
