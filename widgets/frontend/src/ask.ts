/** Ask mode: the inspector stops before a step and asks what it will bring. The trace itself is the judge. */
import { html, write } from "./dom";
import { inline, nodeName, shape, tensorName, valueOf } from "./format";
import { Replay } from "./frame";
import type { Maybe, Trace } from "./types";

export interface Question {
  kind: "next" | "shape" | "grad";
  /** The event that answers it. */
  step: number;
}

export interface Answer extends Question {
  given: string;
  right: boolean;
}

export interface Score {
  right: number;
  answered: number;
  of: number;
}

const CHOICES = 5;
const NUMBER = /[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?inf|nan/gi;

/** The nodes to choose from: those that are ready, then those that wait; in the order of the trace, which tells nothing. */
export function choices(trace: Trace, step: number): number[] {
  const replay = new Replay(trace);
  replay.goTo(step - 1);
  const event = trace.events[step];
  const waiting = [...replay.needs.keys()].filter((node) => replay.status.get(node) === "waiting");
  const all = [event?.kind === "run" ? event.node : -1, ...replay.ready, ...waiting];
  return [...new Set(all)].slice(0, CHOICES).sort((a, b) => a - b);
}

export function wording(trace: Trace, { kind, step }: Question): string {
  const event = trace.events[step];
  if (kind === "shape" && event?.kind === "flow") {
    return `What shape has the gradient that ${nodeName(trace, event.node)} sends to ${nodeName(trace, event.to)}?`;
  }
  if (kind === "grad" && event?.kind === "accumulate") return `What will ${tensorName(trace, event.tensor)}.grad be after the next step?`;
  return "Which node runs next?";
}

/** What the trace says, in one sentence. */
export function truth(trace: Trace, { step }: Question): string {
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

/** Whether an answer is what the engine did: a node's number, a shape, or numbers up to rounding. */
export function judge(trace: Trace, question: Question, given: string): boolean {
  const event = trace.events[question.step];
  if (event?.kind === "run") return Number(given) === event.node && given !== "";
  if (event?.kind === "accumulate") return sameNumbers(trace, event.grad, given);
  if (event?.kind !== "flow" || given.trim() === "") return false;
  const none = /^\s*(scalar|\[\s*\]|\(\s*\)|torch\.Size\(\[\s*\]\))\s*$/i.test(given);
  if (!none && !/\d/.test(given)) return false;
  return String((given.match(/\d+/g) ?? []).map(Number)) === String(valueOf(trace, event.gradient)?.shape ?? []);
}

let count = 0;

export class Ask {
  readonly element: HTMLElement;
  private readonly form = html("form", { class: "mg-question" });
  private readonly verdict = html("p", { class: "mg-verdict", role: "status" });
  private readonly points = html("p", { class: "mg-points" });
  private readonly group = `mg-ask-${(count += 1)}`;
  private open: Question | null = null;
  private answers: Answer[] = [];

  constructor(
    private readonly trace: Trace,
    private readonly questions: readonly Question[],
    private readonly answered: (answers: Answer[], score: Score) => void,
  ) {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.answer();
    });
    this.element = html("section", { class: "mg-ask", "aria-label": "question" }, this.form, this.verdict, this.points);
    this.element.hidden = questions.length === 0;
  }

  get score(): Score {
    const right = this.answers.filter((answer) => answer.right).length;
    return { right, answered: this.answers.length, of: this.questions.length };
  }

  /** The kind of the question that is open. */
  get asking(): string {
    return this.open?.kind ?? "";
  }

  load(answers: readonly Answer[]): void {
    this.answers = [...answers];
    this.open = null;
  }

  /** The first step that may not be shown yet, on the way from one step to another; null where the way is free. */
  barrier(from: number, to: number): Maybe {
    return this.questions.find(({ step }) => from < step && step <= to && !this.has(step))?.step ?? null;
  }

  /** Asks the question whose answer is the next step or lies on the way to it. */
  show(step: number, next: Maybe): void {
    const due = next === null ? null : this.barrier(step, next);
    const question = this.questions.find((each) => each.step === due) ?? null;
    if (question !== null && question !== this.open) this.put(question);
    const last = this.answers.find((answer) => next !== null && step < answer.step && answer.step <= next);
    this.open = question;
    this.form.hidden = question === null;
    this.element.dataset["asking"] = question?.kind ?? "";
    const text = question === null && last ? `${last.right ? "✓ Right" : "✗ Not so"}: ${truth(this.trace, last)}.` : "";
    write(this.verdict, text);
    this.verdict.dataset["right"] = last ? String(last.right) : "";
    const { right, answered, of } = this.score;
    const way = question === null && !last ? (answered < of ? "Step on until the next question. " : "No more questions. ") : "";
    const so = answered === 0 ? "" : `${right} of ${answered} right, `;
    write(this.points, `${way}${so}${of - answered} to come`);
  }

  /** Leads the keyboard into the question. */
  focus(): void {
    this.form.querySelector("input")?.focus();
  }

  private has(step: number): boolean {
    return this.answers.some((answer) => answer.step === step);
  }

  private put(question: Question): void {
    const text = wording(this.trace, question);
    const button = html("button", { type: "submit", class: "mg-answer" }, "Answer");
    const fields = question.kind === "next" ? this.options(question) : [this.field(question, text)];
    const legend = html("legend", {}, html("span", { "aria-live": "polite" }, text));
    this.form.replaceChildren(html("fieldset", {}, legend, html("div", { class: "mg-options" }, ...fields, button)));
  }

  private options(question: Question): HTMLElement[] {
    return choices(this.trace, question.step).map((node) => {
      const radio = html("input", { type: "radio", name: this.group, value: node, required: true });
      return html("label", { class: "mg-option" }, radio, nodeName(this.trace, node), this.number(node));
    });
  }

  private number(node: number): HTMLElement {
    const nr = this.trace.nodes[node]?.sequence_nr ?? null;
    return html("small", { class: "mg-quiet" }, nr === null ? "" : ` nr ${nr}`);
  }

  private field(question: Question, label: string): HTMLElement {
    const hint = question.kind === "shape" ? "[2, 3], or scalar" : "1.5, -2";
    return html("input", { type: "text", class: "mg-field", "aria-label": label, placeholder: hint, autocomplete: "off", required: true });
  }

  private answer(): void {
    const question = this.open;
    const checked = this.form.querySelector<HTMLInputElement>("input:checked, input[type=text]");
    const given = checked?.value.trim() ?? "";
    if (!question || given === "") return;
    this.answers.push({ ...question, given, right: judge(this.trace, question, given) });
    this.answered([...this.answers], this.score);
  }
}
