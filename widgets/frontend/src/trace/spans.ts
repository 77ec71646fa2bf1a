/** The runs of checkpointed functions, and their cost. minigrad_widgets/lenses/checkpoints.py does the same in Python. */
import type { Bytes, Maybe, Trace } from "./types";

/** One run: the first, or one of the later ones (`again`). Runs inside others have a higher level. */
export interface Span {
  call: number;
  name: string;
  reentrant: boolean;
  again: boolean;
  from: number;
  to: number;
  level: number;
  /** The step at which it stopped early. */
  stop: Maybe;
}

export interface Summary {
  steps: number;
  peak: number;
  peakStep: number;
  /** The bytes held, without parameters, when the first pass begins; null if there is none. */
  atBackward: Maybe;
  ops: number;
  again: number;
}

export function spans(trace: Trace): Span[] {
  const all: Span[] = [];
  const open: Span[] = [];
  const first = new Map<number, Span>();
  const last = trace.events.length - 1;
  const begin = (call: number, name: string, reentrant: boolean, again: boolean, from: number): Span => {
    const span = { call, name, reentrant, again, from, to: last, level: open.length, stop: null };
    all.push(span);
    open.push(span);
    return span;
  };
  const end = (call: number, again: boolean, step: number): void => {
    const at = open.findIndex((span) => span.call === call && span.again === again);
    if (at >= 0) for (const span of open.splice(at)) span.to = step;
  };
  trace.events.forEach((event, step) => {
    if (event.kind === "checkpoint_begin") first.set(event.call, begin(event.call, event.name, event.reentrant, false, step));
    else if (event.kind === "recompute_begin") {
      const run = first.get(event.call);
      begin(event.call, run?.name ?? "", run?.reentrant ?? false, true, step);
    } else if (event.kind === "checkpoint_end") end(event.call, false, step);
    else if (event.kind === "recompute_end") end(event.call, true, step);
    else if (event.kind === "early_stop") {
      const span = open.find((each) => each.call === event.call && each.again);
      if (span) span.stop = step;
    }
  });
  return all;
}

/** One run in plain words. */
export function told(span: Span): string {
  const way = span.reentrant ? "reentrant" : "non-reentrant";
  const run = span.again ? "runs again" : "first run";
  const stop = span.stop === null ? "" : `, stops early at ${span.stop}`;
  return `checkpoint ${span.call} (${span.name}, ${way}): ${run}, steps ${span.from} to ${span.to}${stop}`;
}

/** The last recorded bytes, for every step. */
export function series(trace: Trace): Bytes[] {
  let last: Bytes = [0, 0, 0, 0];
  return trace.events.map((event) => (last = event.bytes ?? last));
}

export function total(held: Bytes | undefined): number {
  return (held ?? []).reduce<number>((a, b) => a + (b ?? 0), 0);
}

/** The steps of ops that ran in a second or later run. */
export function repeated(trace: Trace): number[] {
  const runs = spans(trace).filter((span) => span.again);
  const inside = (step: number): boolean => runs.some((span) => span.from < step && step < span.to);
  return trace.events.flatMap((event, step) => (event.kind === "forward" && inside(step) ? [step] : []));
}

export function summary(trace: Trace): Summary {
  const sums = series(trace).map(total);
  const peak = sums.reduce((a, b) => Math.max(a, b), 0);
  const start = trace.events.findIndex((event) => event.kind === "backward_start");
  const held = start < 0 ? null : total(series(trace)[start]) - (series(trace)[start]?.[0] ?? 0);
  const ops = trace.events.filter((event) => event.kind === "forward").length;
  return { steps: sums.length, peak, peakStep: Math.max(0, sums.indexOf(peak)), atBackward: held, ops, again: repeated(trace).length };
}
