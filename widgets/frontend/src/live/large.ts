/** Which part of a long program is recomputed. */
import { MOST, product } from "./arrays";
import type { Trace } from "../trace/types";

/** If a program creates more numbers than this, its large tensors are not computed: they would fill the memory. */
const MOST_NUMBERS = 4_000_000;

/** The number of values in the results and gradients of a program that could be computed. */
function numbersMade(trace: Trace): number {
  const sizes = trace.events.flatMap((event) => {
    if (event.kind === "forward") return event.outputs.map((id) => product(trace.tensors[id]?.shape ?? []));
    return event.kind === "flow" ? [product(trace.values[event.gradient ?? -1]?.shape ?? [])] : [];
  });
  return sizes.reduce((sum, size) => (size > MOST ? sum : sum + size), 0);
}

/** The trace; if a program creates too many numbers, without those of its large tensors. */
export function computable(trace: Trace): Trace {
  if (numbersMade(trace) <= MOST_NUMBERS) return trace;
  return { ...trace, values: trace.values.map(({ entries: _, ...value }) => value) };
}
