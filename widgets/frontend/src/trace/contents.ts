/** The values of tensors when the derivative of an op ran: a tensor that is written to before or later has other numbers. */
import { push } from "./lists";
import type { Maybe, Trace, TraceEvent } from "./types";

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
  private readonly changes = new Map<number, [step: number, value: Maybe][]>();
  /** By node, the step of the op that recorded it, and its last relevant step: this, or that of its run. */
  private readonly recorded = new Map<number, number>();
  private readonly last = new Map<number, number>();

  constructor(private readonly trace: Trace) {
    trace.events.forEach((event, step) => {
      for (const [tensor, value] of changedBy(event)) push(this.changes, tensor, [step, value]);
      if (event.kind === "forward" && event.node !== null) this.recorded.set(event.node, step);
      if ((event.kind === "forward" || event.kind === "run") && event.node !== null) this.last.set(event.node, step);
    });
  }

  /** The values of an operand of a node's op for its derivative: a node keeps a tensor, which may be overwritten. */
  given(node: number, tensor: number): Maybe {
    return this.until(node, tensor, -1) ?? this.trace.tensors[tensor]?.value ?? null;
  }

  /** The same for a saved tensor, with the values that it then had. */
  saved(node: number, tensor: Maybe, value: Maybe): Maybe {
    return tensor === null || value === null ? value : (this.until(node, tensor, this.recorded.get(node) ?? Infinity) ?? value);
  }

  private until(node: number, tensor: number, from: number): Maybe | undefined {
    const last = this.last.get(node) ?? Infinity;
    return (this.changes.get(tensor) ?? []).filter(([at]) => at > from && at <= last).at(-1)?.[1];
  }
}
