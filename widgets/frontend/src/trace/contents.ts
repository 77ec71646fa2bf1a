/** What tensors held when an op ran: a tensor that is written to later, or was before, has other numbers then. */
import { push } from "./lists";
import type { Maybe, Trace } from "./types";

export class Contents {
  /** By tensor, the steps at which it was found to hold something else, and what. */
  private readonly changes = new Map<number, [step: number, value: Maybe][]>();
  /** By node, the step of the op that made it. */
  private readonly made = new Map<number, number>();

  constructor(private readonly trace: Trace) {
    trace.events.forEach((event, step) => {
      if (event.kind === "forward") {
        if (event.node !== null) this.made.set(event.node, step);
        for (const [tensor, value] of event.found ?? []) push(this.changes, tensor, [step, value]);
      } else if (event.kind === "version") {
        if (event.value !== undefined) push(this.changes, event.tensor, [step, event.value]);
        for (const [tensor, value] of event.others ?? []) push(this.changes, tensor, [step, value]);
      } else if (event.kind === "collective_end") {
        for (const [tensor, value] of event.written ?? []) push(this.changes, tensor, [step, value]);
      }
    });
  }

  /** What an operand of the op of a node held. */
  given(node: number, tensor: number): Maybe {
    const step = this.made.get(node) ?? Infinity;
    const before = (this.changes.get(tensor) ?? []).filter(([at]) => at <= step);
    return before.at(-1)?.[1] ?? this.trace.tensors[tensor]?.value ?? null;
  }
}
