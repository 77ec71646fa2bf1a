/** The differences between the graphs of two recordings: corresponding nodes, and the marks of the others. */
import type { Pair } from "./differences";
import { inline, tensorName, valueOf } from "./format";
import type { Trace } from "./types";

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
