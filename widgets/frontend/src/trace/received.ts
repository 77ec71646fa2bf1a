/** The gradients that a node received in a pass, and the edges along which they arrived. */
import { push } from "./lists";
import type { Maybe, Trace } from "./types";

export interface Arrival {
  /** The edge, as the key of a frame's `edges`. */
  key: string;
  output_nr: number;
}

export interface Received {
  /** The sum when the node ran. */
  arrived: readonly Maybe[];
  /** The input of its derivative: the same, unless a hook replaced it; null if it is unknown. */
  gradient: readonly Maybe[] | null;
  /** Whether a hook may have replaced the derivative's result. */
  replaced: boolean;
}

export interface Accumulated {
  /** The former `.grad`: null for None, undefined if the trace does not have it. */
  before: Maybe | undefined;
  added: Maybe;
  now: Maybe;
}

export class Receipts {
  /** By node, the edges that lead to it. */
  readonly arriving = new Map<number, Arrival[]>();
  /** By node, the steps at which it ran, was called, or had a hook. */
  private readonly steps = new Map<number, number[]>();
  /** By tensor, the steps at which its `.grad` was written. */
  private readonly writes = new Map<number, number[]>();
  /** The nodes at which a pass began: their gradients came from the program, too. */
  private readonly roots = new Set<number>();
  /** By edge, the steps at which a gradient flowed along it. */
  private readonly flows = new Map<string, number[]>();
  /** By step, the step at which its pass began: for nested passes, `depth` says which. */
  private readonly passes: number[] = [];

  constructor(private readonly trace: Trace) {
    trace.nodes.forEach((node, from) =>
      node.next.forEach((edge, index) => {
        if (edge) push(this.arriving, edge[0], { key: `${from}:${index}`, output_nr: edge[1] });
      }),
    );
    const begun: number[] = [];
    trace.events.forEach((event, step) => {
      const depth = event.depth ?? 0;
      if (event.kind === "backward_start") begun[depth] = step;
      this.passes.push(begun[depth] ?? -1);
      if (event.kind === "flow") push(this.flows, `${event.node}:${event.index}`, step);
      if (event.kind === "run" || event.kind === "call" || event.kind === "hook") push(this.steps, event.node, step);
      if (event.kind === "accumulate" || event.kind === "grad") push(this.writes, event.tensor, step);
      if (event.kind === "backward_start") for (const [node] of event.roots) this.roots.add(node);
    });
  }

  isRoot(node: number): boolean {
    return this.roots.has(node);
  }

  /** Whether the last gradient along an edge, up to a step, came in the pass in which its node runs or waits. */
  together(node: number, key: string, now: number, waits: boolean): boolean {
    const ran = waits ? undefined : this.since(node, now)[0];
    const flowed = (this.flows.get(key) ?? []).filter((step) => step <= now).at(-1);
    return flowed === undefined || this.passes[flowed] === this.passes[ran ?? now];
  }

  /** What a node received when it ran last, up to a step; null if it has not run. */
  at(node: number, now: number): Received | null {
    const events = this.since(node, now).map((step) => this.trace.events[step]);
    const run = events[0];
    if (run?.kind !== "run" && run?.kind !== "call") return null;
    const received: Received = { arrived: run.gradient, gradient: run.gradient, replaced: false };
    for (const hook of events.slice(1)) {
      if (hook?.kind !== "hook") continue;
      if (hook.hook === "post") received.replaced = true;
      else if (hook.gradient.length === run.gradient.length) received.gradient = hook.gradient;
      else received.gradient = null;
    }
    return received;
  }

  /** What a node has added to its leaf's `.grad` since it last ran, up to a step; null if nothing yet. */
  accumulated(node: number, tensor: number, now: number): Accumulated | null {
    const ran = this.since(node, now)[0];
    const writes = (this.writes.get(tensor) ?? []).filter((step) => step <= now);
    const [last, before] = [writes.at(-1), writes.at(-2)].map((step) => (step === undefined ? undefined : this.trace.events[step]));
    if (ran === undefined || (writes.at(-1) ?? -1) < ran || last?.kind !== "accumulate") return null;
    const old = before?.kind === "accumulate" || before?.kind === "grad" ? before.grad : undefined;
    return { before: old, added: last.gradient, now: last.grad };
  }

  /** The step at which a node last ran, up to a step, and those of its hooks since then. */
  private since(node: number, now: number): number[] {
    let found: number[] = [];
    for (const step of this.steps.get(node) ?? []) {
      if (step > now) break;
      if (this.trace.events[step]?.kind === "hook") found.push(step);
      else found = [step];
    }
    return found;
  }
}
