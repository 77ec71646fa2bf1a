/**
 * Links between nodes that are no edges: a view's to its base's, and that of a tensor which was written to to the one
 * that it had before. minigrad_widgets/ties.py finds and draws the same.
 */
import { nodeName, tensorName } from "../trace/format";
import type { Box, Drawing, Point, Region } from "../layout/geometry";
import type { Maybe, Trace } from "../trace/types";

/** The width of a letter of a label, and half its height; ties.py has the same. */
const [LETTER, HALF] = [5.8, 7];

export interface Tie {
  kind: "view" | "rebased";
  from: number;
  to: number;
  tensor: number;
  /** What stands beside it; nothing beside a view that is never written to. */
  label: string;
}

export function ties(trace: Trace): Tie[] {
  const found: Tie[] = [];
  const leaves = new Map(trace.nodes.flatMap((node, id) => (node.variable === undefined ? [] : [[node.variable, id] as const])));
  const now = new Map<number, number>();
  const known = new Set<string>();
  const nodeOf = (tensor: number): Maybe => now.get(tensor) ?? trace.tensors[tensor]?.node ?? leaves.get(tensor) ?? null;
  const root = (tensor: number): number => trace.tensors[tensor]?.base ?? tensor;
  const written = new Set(trace.events.flatMap((event) => (event.kind === "version" ? [root(event.tensor)] : [])));
  const add = (kind: Tie["kind"], from: Maybe, to: Maybe, tensor: number, label: string): void => {
    const key = `${kind} ${from} ${to}`;
    if (from !== null && to !== null && from !== to && !known.has(key)) found.push({ kind, from, to, tensor, label });
    known.add(key);
  };
  for (const event of trace.events) {
    if (event.kind !== "forward" || event.node === null) continue;
    const rebased = event.rebased ?? [];
    for (const id of event.outputs) now.set(id, event.node);
    for (const [id, before, after] of rebased) {
      now.set(id, after);
      add("rebased", after, before, id, `was ${tensorName(trace, id)}’s`);
    }
    for (const id of [...event.outputs, ...rebased.map(([tensor]) => tensor)]) {
      const base = trace.tensors[id]?.base;
      const label = base !== undefined && written.has(base) ? `view of ${tensorName(trace, base)}` : "";
      if (base !== undefined) add("view", nodeOf(id), nodeOf(base), id, label);
    }
  }
  return found;
}

/** The two sides of a box: views on the left, what was before on the right. */
export function bow(kind: Tie["kind"], from: Box, to: Box): { points: [Point, Point, Point, Point]; at: Point } {
  const side = kind === "view" ? -1 : 1;
  const [ax, bx] = [from.x + (side * from.width) / 2, to.x + (side * to.width) / 2];
  const reach = Math.min(70, 22 + 0.08 * Math.abs(from.y - to.y));
  const x = side < 0 ? Math.min(ax, bx) - reach : Math.max(ax, bx) + reach;
  const at: Point = [(ax + bx) / 8 + 0.75 * x, (from.y + to.y) / 2];
  return { points: [[ax, from.y], [x, from.y], [x, to.y], [bx, to.y]], at };
}

/** What the labels of links cover in a drawing: gradients stand apart from them. */
export function tieRegions(ties: readonly Tie[], { boxes }: Drawing): Region[] {
  return ties.flatMap(({ kind, from, to, label }) => {
    const [a, b] = [boxes.get(from), boxes.get(to)];
    if (!a || !b || label === "") return [];
    const [x, y] = bow(kind, a, b).at;
    const wide = LETTER * label.length;
    return [{ left: kind === "view" ? x - 4 - wide : x + 4, right: kind === "view" ? x - 4 : x + 4 + wide, top: y - HALF, bottom: y + HALF }];
  });
}

export function told(trace: Trace, tie: Tie): string {
  const name = tensorName(trace, tie.tensor);
  if (tie.kind === "view") return `${name} is a view of ${tensorName(trace, trace.tensors[tie.tensor]?.base)}: they share their memory`;
  return `${name} was written to: its node was ${nodeName(trace, tie.to)}, it is ${nodeName(trace, tie.from)} now`;
}
