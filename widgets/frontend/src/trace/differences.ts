/** The differences between two recordings: their events side by side, in their longest common subsequence. */
import { describe } from "./describe";
import { nodeName, tensorName } from "./format";
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
