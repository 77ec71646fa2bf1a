/** The gradients that a node received in a pass, and the edges along which they arrived. */
import { push } from "./lists";
import type { Maybe, Trace, TraceEvent } from "./types";

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
  readonly #steps = new Map<number, number[]>();
  /** By tensor, the steps at which its `.grad` was written. */
  readonly #writes = new Map<number, number[]>();
  /** The nodes at which a pass began: their gradients came from the program, too. */
  readonly #roots = new Set<number>();
  /** By edge, the steps at which a gradient flowed along it. */
  readonly #flows = new Map<string, number[]>();
  /** By step, the step at which its pass began: for nested passes, `depth` says which. */
  readonly #passes: number[] = [];

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
      this.#passes.push(begun[depth] ?? -1);
      if (event.kind === "flow") push(this.#flows, `${event.node}:${event.index}`, step);
      if (event.kind === "run" || event.kind === "call" || event.kind === "hook") push(this.#steps, event.node, step);
      if (event.kind === "accumulate" || event.kind === "grad") push(this.#writes, event.tensor, step);
      if (event.kind === "backward_start") for (const [node] of event.roots) this.#roots.add(node);
    });
  }

  isRoot(node: number): boolean {
    return this.#roots.has(node);
  }

  /** Whether the last gradient along an edge, up to a step, came in the pass in which its node runs or waits. */
  together(node: number, key: string, now: number, waits: boolean): boolean {
    const ran = waits ? undefined : this.#since(node, now)[0];
    const flowed = (this.#flows.get(key) ?? []).filter((step) => step <= now).at(-1);
    return flowed === undefined || this.#passes[flowed] === this.#passes[ran ?? now];
  }

  /** What a node received when it ran last, up to a step; null if it has not run. */
  at(node: number, now: number): Received | null {
    const events = this.#since(node, now).map((step) => this.trace.events[step]);
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
    const ran = this.#since(node, now)[0];
    const writes = (this.#writes.get(tensor) ?? []).filter((step) => step <= now);
    const [last, before] = [writes.at(-1), writes.at(-2)].map((step) => (step === undefined ? undefined : this.trace.events[step]));
    if (ran === undefined || (writes.at(-1) ?? -1) < ran || last?.kind !== "accumulate") return null;
    const old = before?.kind === "accumulate" || before?.kind === "grad" ? before.grad : undefined;
    return { before: old, added: last.gradient, now: last.grad };
  }

  /** The step at which a node last ran, up to a step, and those of its hooks since then. */
  #since(node: number, now: number): number[] {
    let found: number[] = [];
    for (const step of this.#steps.get(node) ?? []) {
      if (step > now) break;
      if (this.trace.events[step]?.kind === "hook") found.push(step);
      else found = [step];
    }
    return found;
  }
}

// ---- The values of tensors when the derivative of an op ran: a tensor that is written to before or later has other
// numbers.
/** The tensors whose values an event reports from then on. */
export function changedBy(event: TraceEvent): readonly [tensor: number, value: Maybe][] {
  switch (event.kind) {
    case "forward":
      return event.found ?? [];
    case "version":
      return [...(event.value === undefined ? [] : [[event.tensor, event.value] as [number, Maybe]]), ...(event.others ?? [])];
    case "collective_end":
      return event.written ?? [];
    default:
      return [];
  }
}

export class Contents {
  /** By tensor, the steps at which its values were found to have changed, and the new ones. */
  readonly #changes = new Map<number, [step: number, value: Maybe][]>();
  /** By node, the step of the op that recorded it, and its last relevant step: this, or that of its run. */
  readonly #recorded = new Map<number, number>();
  readonly #last = new Map<number, number>();

  constructor(private readonly trace: Trace) {
    trace.events.forEach((event, step) => {
      for (const [tensor, value] of changedBy(event)) push(this.#changes, tensor, [step, value]);
      if (event.kind === "forward" && event.node !== null) this.#recorded.set(event.node, step);
      if ((event.kind === "forward" || event.kind === "run") && event.node !== null) this.#last.set(event.node, step);
    });
  }

  /** The values of an operand of a node's op for its derivative: a node keeps a tensor, which may be overwritten. */
  given(node: number, tensor: number): Maybe {
    return this.#until(node, tensor, -1) ?? this.trace.tensors[tensor]?.value ?? null;
  }

  /** The same for a saved tensor, with the values that it then had. */
  saved(node: number, tensor: Maybe, value: Maybe): Maybe {
    return tensor === null || value === null ? value : (this.#until(node, tensor, this.#recorded.get(node) ?? Infinity) ?? value);
  }

  #until(node: number, tensor: number, from: number): Maybe | undefined {
    const last = this.#last.get(node) ?? Infinity;
    return (this.#changes.get(tensor) ?? []).filter(([at]) => at > from && at <= last).at(-1)?.[1];
  }
}
