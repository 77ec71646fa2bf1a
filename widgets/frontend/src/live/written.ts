/** What tensors hold because something was written to their memory that is no op of theirs. */
import type { Memory } from "./memory";
import type { Results } from "./results";
import type { Slots } from "./slots";
import { tensorName } from "../trace/format";
import type { CollectiveEndEvent } from "../trace/events";
import type { Maybe, Trace } from "../trace/types";

/** What a run has: the recorded trace, the memory of its tensors, what was computed, and what is shown. */
export interface Parts {
  trace: Trace;
  memory: Memory;
  results: Results;
  slots: Slots;
}

/** Shows what tensors hold, which an event tells once more, since another tensor was written to. */
export function shownAgain({ trace, memory, results, slots }: Parts, told: readonly [number, number][] | undefined, step: number, field: "others" | "found"): void {
  told?.forEach(([tensor, value], at) => {
    slots.showPair(step, field, at, results.settled(`${step}:${field} ${at}`, memory.read(tensor), value, tensorName(trace, tensor)));
  });
}

/** An operation of several ranks: the others have a part in what is there now, and what they sent was not recorded here. */
export function reduced({ trace, memory, results, slots }: Parts, event: CollectiveEndEvent, step: number, changed: boolean): void {
  const kept = (field: "written" | "grads", at: number, what: string, value: Maybe) => {
    const known = results.keep(`${step}:${field} ${at}`, { what, why: "other ranks have written to it" }, { array: null, touched: changed, stale: false }, value);
    slots.showPair(step, field, at, known);
    return known;
  };
  event.written?.forEach(([tensor, value], at) => memory.write(tensor, kept("written", at, tensorName(trace, tensor), value)));
  event.grads?.forEach(([tensor, value], at) => memory.writeGrad(tensor, kept("grads", at, `${tensorName(trace, tensor)}.grad`, value)));
}
