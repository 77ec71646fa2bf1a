/** The `.grad` of a leaf at a step: empty, filling while gradients arrive, or holding their sum. */
import { brief, broken, tensorName, valueOf } from "../trace/format";
import type { Tray } from "../graph/look";
import type { Maybe, Trace } from "../trace/types";

/** What is known of a leaf's AccumulateGrad at a step. */
export interface Arrivals {
  /** The value of `.grad`; undefined if nothing was written yet. */
  grad: Maybe | undefined;
  arrived: number;
  of: number;
}

const BEFORE = new WeakMap<Trace, ReadonlySet<number>>();

/** The tensors that had a `.grad` when they were first seen. A trace does not have its values. */
function filledBefore(trace: Trace): ReadonlySet<number> {
  const [found, written] = [new Set<number>(), new Set<number>()];
  for (const event of trace.events) {
    if ((event.kind === "accumulate" || event.kind === "grad" || event.kind === "hook") && event.tensor !== null) written.add(event.tensor);
    for (const [, what, id] of event.held ?? []) if (what === 3 && id !== null && !written.has(id)) found.add(id);
  }
  return found;
}

/** The `.grad` of a tensor that this trace never writes. */
export function unwritten(trace: Trace, tensor: Maybe): string {
  const known = BEFORE.get(trace) ?? filledBefore(trace);
  BEFORE.set(trace, known);
  return tensor !== null && known.has(tensor) ? "set before" : "None";
}

export class Trays {
  constructor(private readonly trace: Trace) {}

  /** The tray of a node; undefined if it is not an AccumulateGrad. */
  of(node: number, { grad, arrived, of }: Arrivals): Tray | undefined {
    const leaf = this.trace.nodes[node]?.variable;
    if (leaf === undefined) return undefined;
    const value = valueOf(this.trace, grad);
    const holds = grad === null ? "a partial sum" : value ? brief(value) : unwritten(this.trace, leaf);
    const coming = arrived > 0;
    const state = coming ? "coming" : holds === "None" ? "none" : "held";
    const come = coming ? `; ${arrived} of ${of} gradients of this pass have arrived` : "";
    const level = coming ? arrived / Math.max(1, of) : state === "held" ? 1 : 0;
    return { state, text: `.grad ${holds}`, level, told: `${tensorName(this.trace, leaf)}.grad: ${holds}${come}`, broken: broken(value) };
  }
}
