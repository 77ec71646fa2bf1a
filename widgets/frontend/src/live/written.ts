/** The values of tensors whose memory was written by something other than their own op. */
import type { Memory } from "./memory";
import type { Results } from "./results";
import type { Slots } from "./slots";
import { tensorName } from "../trace/format";
import type { CollectiveEndEvent } from "../trace/events";
import type { Maybe, Trace } from "../trace/types";

/** The state of a run: the recorded trace, the memory of its tensors, the computed and the displayed values. */
export interface Parts {
  trace: Trace;
  memory: Memory;
  results: Results;
  slots: Slots;
}

/** Shows the values of tensors that an event repeats, since another tensor was written to. */
export function shownAgain({ trace, memory, results, slots }: Parts, told: readonly [number, number][] | undefined, step: number, field: "others" | "found"): void {
  told?.forEach(([tensor, value], at) => {
    slots.showPair(step, field, at, results.settled(`${step}:${field} ${at}`, memory.read(tensor), value, tensorName(trace, tensor)));
  });
}

/** A collective operation: the result depends on other ranks, whose data was not recorded here. */
export function reduced({ trace, memory, results, slots }: Parts, event: CollectiveEndEvent, step: number, changed: boolean): void {
  const kept = (field: "written" | "grads", at: number, what: string, value: Maybe) => {
    const known = results.keep(`${step}:${field} ${at}`, { what, why: "other ranks have written to it" }, { array: null, touched: changed, stale: false }, value);
    slots.showPair(step, field, at, known);
    return known;
  };
  event.written?.forEach(([tensor, value], at) => memory.write(tensor, kept("written", at, tensorName(trace, tensor), value)));
  event.grads?.forEach(([tensor, value], at) => memory.writeGrad(tensor, kept("grads", at, `${tensorName(trace, tensor)}.grad`, value)));
}
