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

/** The `.grad` of a tensor that this trace never writes. */
export function unwritten(trace: Trace, tensor: Maybe): string {
  return trace.tensors[tensor ?? -1]?.filled ? "set before" : "None";
}

export class Trays {
  constructor(private readonly trace: Trace) {}

  /** The tray of a node; undefined if it is not an AccumulateGrad. */
  of(node: number, { grad, arrived, of }: Arrivals): Tray | undefined {
    const leaf = this.trace.nodes[node]?.variable;
    if (leaf === undefined || this.trace.nodes[node]?.name === "Dual") return undefined;
    const value = valueOf(this.trace, grad);
    const holds = grad === null ? "a partial sum" : value ? brief(value) : unwritten(this.trace, leaf);
    const coming = arrived > 0;
    const state = coming ? "coming" : holds === "None" ? "none" : "held";
    const come = coming ? `; ${arrived} of ${of} gradients of this pass have arrived` : "";
    const level = coming ? arrived / Math.max(1, of) : state === "held" ? 1 : 0;
    return { state, text: `.grad ${holds}`, level, told: `${tensorName(this.trace, leaf)}.grad: ${holds}${come}`, broken: broken(value) };
  }
}
