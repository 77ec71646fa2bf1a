/** The differences between two recordings: their events side by side, in their longest common subsequence. */
import { describe } from "./describe";
import { nodeName, tensorName, inline, valueOf } from "./format";
import type { Maybe, Trace, TraceEvent } from "./types";

/** Derived events are left out. */
const TOLD = new Set([
  "forward", "version", "grad", "mode", "checkpoint_begin", "checkpoint_end", "backward_start", "run", "hook", "accumulate", "capture",
  "backward_end", "call", "error", "recompute_begin", "early_stop", "recompute_end",
]);
/** The maximum number of pairs of events to compare: beyond common beginnings and ends, longer ones differ entirely. */
const MOST = 4_000_000;

interface Told {
  step: number;
  key: string;
  text: string;
}

export interface Pair {
  /** The steps of the two; null where one of them has no such event. */
  steps: [Maybe, Maybe];
  texts: [string, string];
  kind: "same" | "other" | "first" | "second";
}

function subject(trace: Trace, event: TraceEvent): string {
  if (event.kind === "forward") return event.op;
  if ("node" in event && event.node !== null) return nodeName(trace, event.node);
  return "tensor" in event && event.tensor !== null ? tensorName(trace, event.tensor) : "";
}

function told(trace: Trace): Told[] {
  const unnamed = (text: string): string => text.replace(/\btensor \d+/g, "a tensor").replace(/ #\d+/g, "");
  return trace.events.flatMap((event, step) => {
    if (!TOLD.has(event.kind)) return [];
    return [{ step, key: unnamed(`${event.kind} ${event.depth ?? 0} ${subject(trace, event)}`), text: unnamed(describe(trace, event)) }];
  });
}

/** The pairs of the longest common subsequence of two lists. */
function common(a: readonly Told[], b: readonly Told[]): [number, number][] {
  if (a.length * b.length > MOST) return [];
  const wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide);
  const at = (i: number, j: number): number => best[i * wide + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) best[i * wide + j] = a[i]?.key === b[j]?.key ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const found: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i]?.key === b[j]?.key) found.push([i++, j++]);
    else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return found;
}

export function differences(first: Trace, second: Trace): Pair[] {
  const [a, b] = [told(first), told(second)];
  let [start, end] = [0, 0];
  while (start < Math.min(a.length, b.length) && a[start]?.key === b[start]?.key) start++;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end)?.key === b.at(-1 - end)?.key) end++;
  const middle = common(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const pairs: [number, number][] = [
    ...Array.from({ length: start }, (_, at): [number, number] => [at, at]),
    ...middle.map(([i, j]): [number, number] => [start + i, start + j]),
    ...Array.from({ length: end }, (_, at): [number, number] => [a.length - end + at, b.length - end + at]),
  ];
  const rows: Pair[] = [];
  let [i, j] = [0, 0];
  const alone = (each: Told, kind: "first" | "second"): void => {
    const own = kind === "first";
    rows.push({ steps: own ? [each.step, null] : [null, each.step], texts: own ? [each.text, ""] : ["", each.text], kind });
  };
  for (const [toFirst, toSecond] of [...pairs, [a.length, b.length] as const]) {
    for (; i < toFirst; i++) alone(a[i] as Told, "first");
    for (; j < toSecond; j++) alone(b[j] as Told, "second");
    const [one, other] = [a[i++], b[j++]];
    if (one && other) rows.push({ steps: [one.step, other.step], texts: [one.text, other.text], kind: one.text === other.text ? "same" : "other" });
  }
  return rows;
}

// ---- The differences between the graphs of two recordings: corresponding nodes, and the marks of the others.
/**
 * "only": the other recording has no such node or edge; "other": its numbers differ, or it ran, or belongs to a
 * checkpoint, in one of the two only.
 */
export type Difference = "only" | "other";

export interface Marks {
  nodes: Map<number, Difference>;
  edges: Map<string, Difference>;
}

export interface Counterparts {
  /** By node of the first, its counterpart in the second, and the reverse. */
  nodes: [Map<number, number>, Map<number, number>];
  marks: [Marks, Marks];
}

const SIDES = [0, 1] as const;

/** The node that the event of a step is about. */
function nodeAt(trace: Trace, step: number | null): number | null {
  const event = step === null ? undefined : trace.events[step];
  return event && "node" in event ? event.node : null;
}

/** The nodes that in-place ops gave to tensors: they have no events of their own. */
function renewed(trace: Trace, step: number | null): number[] {
  const event = step === null ? undefined : trace.events[step];
  return event?.kind === "forward" ? (event.rebased ?? []).map(([, , after]) => after) : [];
}

function matched(traces: readonly [Trace, Trace], pairs: readonly Pair[]): Counterparts["nodes"] {
  const [there, back]: Counterparts["nodes"] = [new Map(), new Map()];
  const match = (a: number, b: number): void => {
    if (there.has(a) || back.has(b)) return;
    there.set(a, b);
    back.set(b, a);
  };
  for (const kinds of [["forward"], ["run", "accumulate"]]) {
    for (const { steps } of pairs) {
      const [a, b] = [nodeAt(traces[0], steps[0]), nodeAt(traces[1], steps[1])];
      if (a !== null && b !== null && kinds.includes(traces[0].events[steps[0] ?? -1]?.kind ?? "")) match(a, b);
    }
  }
  for (const { steps } of pairs) {
    const [given, others] = [renewed(traces[0], steps[0]), renewed(traces[1], steps[1])];
    given.forEach((node, at) => {
      const other = others[at];
      if (other !== undefined) match(node, other);
    });
  }
  const leaves = new Map(traces[1].nodes.flatMap(({ variable }, id) => (variable === undefined ? [] : [[tensorName(traces[1], variable), id] as const])));
  traces[0].nodes.forEach(({ variable }, id) => {
    const other = variable === undefined ? undefined : leaves.get(tensorName(traces[0], variable));
    if (other !== undefined) match(id, other);
  });
  return [there, back];
}

/** By edge, the gradients that flowed along it in the whole recording. */
function flows(trace: Trace): Map<string, string> {
  const found = new Map<string, string>();
  for (const event of trace.events) {
    if (event.kind !== "flow") continue;
    const key = `${event.node}:${event.index}`;
    found.set(key, `${found.get(key) ?? ""} ${inline(valueOf(trace, event.gradient))}`);
  }
  return found;
}

/** The nodes of ops that ran inside a checkpoint. */
function checkpointed(trace: Trace): Set<number> {
  const found = new Set<number>();
  let open = 0;
  for (const event of trace.events) {
    if (event.kind === "checkpoint_begin") open += 1;
    if (event.kind === "checkpoint_end") open -= 1;
    if (event.kind === "forward" && open > 0 && event.node !== null) found.add(event.node);
  }
  return found;
}

function edgeMarks(traces: readonly [Trace, Trace], nodes: Counterparts["nodes"], side: 0 | 1): Map<string, Difference> {
  const [own, other, match] = [traces[side], traces[1 - side] as Trace, nodes[side]];
  const [mine, theirs] = [flows(own), flows(other)];
  const marks = new Map<string, Difference>();
  own.nodes.forEach(({ next }, id) =>
    next.forEach((edge, index) => {
      if (!edge) return;
      const from = match.get(id);
      const to = from === undefined ? undefined : other.nodes[from]?.next[index];
      const there = to !== undefined && to !== null && to[0] === match.get(edge[0]) && to[1] === edge[1];
      if (!there) marks.set(`${id}:${index}`, "only");
      else if (mine.get(`${id}:${index}`) !== theirs.get(`${from}:${index}`)) marks.set(`${id}:${index}`, "other");
    }),
  );
  return marks;
}

/** `pairs`: the events of the two recordings side by side. */
export function counterparts(first: Trace, second: Trace, pairs: readonly Pair[]): Counterparts {
  const traces = [first, second] as const;
  const nodes = matched(traces, pairs);
  const inside = traces.map(checkpointed) as [Set<number>, Set<number>];
  const marks = SIDES.map((side): Marks => {
    const found = new Map<number, Difference>();
    for (const { steps, kind } of pairs) {
      const node = nodeAt(traces[side], steps[side]);
      if (node !== null && kind !== "same") found.set(node, "other");
    }
    traces[side].nodes.forEach((_, id) => {
      const other = nodes[side].get(id);
      if (other === undefined) found.set(id, "only");
      else if (inside[side].has(id) !== inside[side === 0 ? 1 : 0].has(other)) found.set(id, "other");
    });
    return { nodes: found, edges: edgeMarks(traces, nodes, side) };
  });
  for (const side of SIDES) {
    for (const [id, difference] of marks[side]?.nodes ?? []) {
      const other = nodes[side].get(id);
      if (difference === "other" && other !== undefined) marks[1 - side]?.nodes.set(other, "other");
    }
  }
  return { nodes, marks: marks as [Marks, Marks] };
}

/** The step of the second recording that corresponds to a step of the first. */
export function besideStep(pairs: readonly Pair[], step: number, last: readonly [number, number]): number {
  if (step >= last[0]) return last[1];
  let found = 0;
  for (const { steps } of pairs) {
    if (steps[0] !== null && steps[0] > step) break;
    if (steps[0] !== null && steps[1] !== null) found = steps[1];
  }
  return found;
}
