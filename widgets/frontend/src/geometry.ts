/** Where things are drawn: sizes of boxes, ports on them, curves between them. Pure numbers, no page. */
import { shape } from "./format";
import type { Trace } from "./types";

export type Point = [x: number, y: number];

export const HEIGHT = 46;
const PORTS = 34;
export const LAYER = 98;

export interface Box {
  x: number;
  y: number;
  width: number;
  title: string;
  caption: string;
}

export interface Wire {
  key: string;
  from: number;
  index: number;
  to: number;
  output_nr: number;
  points: Point[];
}

/** An input of a node that needs no gradient: PyTorch's `(None, 0)`. */
export interface Stub {
  key: string;
  at: Point;
}

export interface Drawing {
  boxes: Map<number, Box>;
  wires: Wire[];
  stubs: Stub[];
  size: Point;
}

export function labels(trace: Trace, id: number): [title: string, caption: string] {
  const node = trace.nodes[id];
  if (!node) return [`node ${id}`, ""];
  const tensor = trace.tensors[node.variable ?? node.outputs[0] ?? -1];
  const parts = [tensor?.name ?? "", tensor ? shape(tensor.shape) : ""].filter((part) => part !== "");
  if (node.outputs.length > 1) parts.push(`× ${node.outputs.length}`);
  return [node.name, parts.join(" · ")];
}

/** The width that holds both lines and the marks; minigrad_widgets/layout.py has the same rule. */
export function widthOf(trace: Trace, id: number): number {
  const [title, caption] = labels(trace, id);
  const marks = 11 * Math.min(4, trace.nodes[id]?.saved.length ?? 0) + 8;
  return Math.max(132, Math.ceil(Math.max(title.length * 9.2 + marks, caption.length * 6.6 + 62)) + 44);
}

function box(trace: Trace, id: number, x: number, y: number): Box {
  const [title, caption] = labels(trace, id);
  return { x, y, width: widthOf(trace, id), title, caption };
}

/** Positions for a trace that has none: one column, in order. Python places nodes better. */
function fallback(trace: Trace): Drawing["boxes"] {
  const boxes = new Map<number, Box>();
  trace.nodes.forEach((_, id) => {
    boxes.set(id, box(trace, id, 120, 40 + (trace.nodes.length - 1 - id) * LAYER));
  });
  return boxes;
}

function placed(trace: Trace): Drawing["boxes"] {
  if (!trace.layout) return fallback(trace);
  const boxes = new Map<number, Box>();
  for (const [key, [x, y]] of Object.entries(trace.layout.nodes)) {
    boxes.set(Number(key), box(trace, Number(key), x, y));
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

function attach(ends: Map<number, End[]>, boxes: Drawing["boxes"], put: (wire: Wire, x: number, box: Box) => void): void {
  for (const [id, list] of ends) {
    const box = boxes.get(id);
    if (!box) continue;
    list.sort((a, b) => a.toward - b.toward || a.wire.from - b.wire.from || a.wire.index - b.wire.index);
    list.forEach((end, at) => put(end.wire, spread(box, list.length, at), box));
  }
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function connect(trace: Trace, boxes: Drawing["boxes"]): [Wire[], Stub[]] {
  const wires: Wire[] = [];
  const stubs: Stub[] = [];
  const leaving = new Map<number, End[]>();
  const arriving = new Map<number, End[]>();
  for (const [id, box] of boxes) {
    trace.nodes[id]?.next.forEach((edge, index) => {
      const target = edge && boxes.get(edge[0]);
      const bends = trace.layout?.edges?.[`${id}:${index}`] ?? [];
      const points: Point[] = [[box.x, box.y + HEIGHT / 2], ...bends.flatMap(bend), [0, 0]];
      const wire: Wire = { key: `${id}:${index}`, from: id, index, to: edge?.[0] ?? -1, output_nr: edge?.[1] ?? 0, points };
      push(leaving, id, { wire, toward: bends[0]?.[0] ?? target?.x ?? Infinity });
      if (!edge || !target) return;
      wires.push(wire);
      push(arriving, edge[0], { wire, toward: bends.at(-1)?.[0] ?? box.x });
    });
  }
  attach(leaving, boxes, (wire, x, box) => {
    wire.points[0] = [x, box.y + HEIGHT / 2];
    if (wire.to < 0) stubs.push({ key: wire.key, at: wire.points[0] });
  });
  attach(arriving, boxes, (wire, x, box) => {
    wire.points[wire.points.length - 1] = [x, box.y - HEIGHT / 2];
  });
  return [wires, stubs];
}

/** An edge that passes a layer goes straight down beside the boxes of that layer. */
export function bend([x, y]: Point): Point[] {
  return [
    [x, y - HEIGHT / 2],
    [x, y + HEIGHT / 2],
  ];
}

export function draw(trace: Trace): Drawing {
  const boxes = placed(trace);
  const [wires, stubs] = connect(trace, boxes);
  let [width, height] = trace.layout?.size ?? [0, 0];
  for (const box of boxes.values()) {
    width = Math.max(width, box.x + box.width / 2);
    height = Math.max(height, box.y + HEIGHT / 2);
  }
  return { boxes, wires, stubs, size: [width, height] };
}

/** A smooth path through the points, leaving and arriving straight down, with an arrow head. */
export function path(points: readonly Point[]): string {
  const [first = [0, 0]] = points;
  let text = `M${first[0]},${first[1]}`;
  for (let i = 1; i < points.length; i++) {
    const [ax, ay] = points[i - 1] as Point;
    const [bx, by] = points[i] as Point;
    const middle = (ay + by) / 2;
    text += ax === bx ? `L${bx},${by}` : `C${ax},${middle} ${bx},${middle} ${bx},${by}`;
  }
  const [x, y] = points.at(-1) ?? first;
  return `${text}M${x - 4},${y - 6}L${x},${y - 0.5}L${x + 4},${y - 6}`;
}

/** The point at the fraction `t` of the last piece of a wire, where its labels stand. */
export function along(points: readonly Point[], t: number): Point {
  const [ax, ay] = points.at(-2) ?? [0, 0];
  const [bx, by] = points.at(-1) ?? [0, 0];
  const s = 1 - t;
  const x = s * s * s * ax + 3 * s * s * t * ax + 3 * s * t * t * bx + t * t * t * bx;
  const middle = (ay + by) / 2;
  const y = s * s * s * ay + 3 * s * s * t * middle + 3 * s * t * t * middle + t * t * t * by;
  return [x, y];
}
