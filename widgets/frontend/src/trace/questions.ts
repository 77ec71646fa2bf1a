/** The questions of ask mode, which minigrad_widgets/inspector/questions.py words, and their answers: the trace itself is the judge. */
import { inline, nodeName, shape, tensorName, valueOf } from "./format";
import type { Maybe, Trace } from "./types";

export interface Question {
  kind: "next" | "shape" | "grad";
  /** The event that answers it. */
  step: number;
  text: string;
  /** The nodes to choose from. */
  choices: number[];
}

export interface Answer extends Pick<Question, "kind" | "step"> {
  given: string;
  right: boolean;
}

export interface Score {
  right: number;
  answered: number;
  of: number;
}

const NUMBER = /[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?inf|nan/gi;

/** The trace's answer, in one sentence. */
export function truth(trace: Trace, { step }: Pick<Question, "step">): string {
  const event = trace.events[step];
  if (event?.kind === "flow") return `its shape is ${shape(valueOf(trace, event.gradient)?.shape ?? [])}`;
  if (event?.kind === "accumulate") return `${tensorName(trace, event.tensor)}.grad is ${inline(valueOf(trace, event.grad))}`;
  if (event?.kind !== "run") return "";
  const first = trace.nodes[event.node]?.sequence_nr === null;
  const why = first ? "an AccumulateGrad comes before all others" : "of the ready nodes it was recorded last";
  return `${nodeName(trace, event.node)} runs: ${why}`;
}

function sameNumbers(trace: Trace, value: Maybe, given: string): boolean {
  const expected = valueOf(trace, value)?.data ?? [];
  const found = given.match(NUMBER) ?? [];
  if (found.length !== expected.length) return false;
  return expected.every((entry, at) => {
    const text = (found[at] ?? "").toLowerCase().replace("+", "");
    if (typeof entry !== "number") return text === String(entry);
    return Math.abs(Number(text) - entry) <= 5e-4 + 5e-3 * Math.abs(entry);
  });
}

/** Whether an answer agrees with the engine: a node's number, a shape, or numbers up to rounding. */
export function judge(trace: Trace, question: Pick<Question, "step">, given: string): boolean {
  const event = trace.events[question.step];
  if (event?.kind === "run") return Number(given) === event.node && given !== "";
  if (event?.kind === "accumulate") return sameNumbers(trace, event.grad, given);
  if (event?.kind !== "flow" || given.trim() === "") return false;
  const none = /^\s*(scalar|\[\s*\]|\(\s*\)|torch\.Size\(\[\s*\]\))\s*$/i.test(given);
  if (!none && !/\d/.test(given)) return false;
  return String((given.match(/\d+/g) ?? []).map(Number)) === String(valueOf(trace, event.gradient)?.shape ?? []);
}
