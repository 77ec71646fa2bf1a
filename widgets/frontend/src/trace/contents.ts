/** What tensors held when the derivative of an op ran: a tensor that is written to later, or was before, has other numbers. */
import { push } from "./lists";
import type { Maybe, Trace } from "./types";

export class Contents {
  /** By tensor, the steps at which it was found to hold something else, and what. */
  private readonly changes = new Map<number, [step: number, value: Maybe][]>();
  /** By node, the step of the op that made it, and the last one of it that matters: this, or that of its run. */
  private readonly made = new Map<number, number>();
  private readonly last = new Map<number, number>();

  constructor(private readonly trace: Trace) {
    trace.events.forEach((event, step) => {
      const note = (found: readonly [number, Maybe][] = []): void => found.forEach(([tensor, value]) => push(this.changes, tensor, [step, value]));
      if (event.kind === "forward") {
        if (event.node !== null) [this.made, this.last].forEach((steps) => steps.set(event.node as number, step));
        note(event.found);
      } else if (event.kind === "version") {
        if (event.value !== undefined) note([[event.tensor, event.value]]);
        note(event.others);
      } else if (event.kind === "collective_end") note(event.written);
      else if (event.kind === "run") this.last.set(event.node, step);
    });
  }

  /** What an operand of the op of a node held for its derivative: a node keeps a tensor, which may be written to past it. */
  given(node: number, tensor: number): Maybe {
    return this.until(node, tensor, -1) ?? this.trace.tensors[tensor]?.value ?? null;
  }

  /** The same of a tensor that it has saved, and that held this then. */
  saved(node: number, tensor: Maybe, value: Maybe): Maybe {
    return tensor === null || value === null ? value : (this.until(node, tensor, this.made.get(node) ?? Infinity) ?? value);
  }

  private until(node: number, tensor: number, from: number): Maybe | undefined {
    const last = this.last.get(node) ?? Infinity;
    return (this.changes.get(tensor) ?? []).filter(([at]) => at > from && at <= last).at(-1)?.[1];
  }
}
