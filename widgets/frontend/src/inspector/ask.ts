/** Ask mode: the inspector stops before a step and asks what it will bring. The trace itself is the judge. */
import { html, sendsOnEnter, unique, write } from "../page/dom";
import { nodeName } from "../trace/format";
import { judge, truth, type Answer, type Question, type Score } from "../trace/questions";
import type { Maybe, Trace } from "../trace/types";

export class Ask {
  readonly element: HTMLElement;
  readonly #form = html("form", { class: "mg-question" });
  readonly #verdict = html("p", { class: "mg-verdict", role: "status" });
  readonly #points = html("p", { class: "mg-points" });
  readonly #group = unique("mg-ask");
  #open: Question | null = null;
  #answers: Answer[] = [];

  constructor(
    private readonly trace: Trace,
    private readonly questions: readonly Question[],
    private readonly answered: (answers: Answer[], score: Score) => void,
  ) {
    sendsOnEnter(this.#form);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#answer();
    });
    this.element = html("section", { class: "mg-ask", "aria-label": "question" }, this.#form, this.#verdict, this.#points);
    this.element.hidden = questions.length === 0;
  }

  get score(): Score {
    const right = this.#answers.filter((answer) => answer.right).length;
    return { right, answered: this.#answers.length, of: this.questions.length };
  }

  /** The kind of the open question. */
  get asking(): string {
    return this.#open?.kind ?? "";
  }

  load(answers: readonly Answer[]): void {
    this.#answers = [...answers];
    this.#open = null;
  }

  /** The first step that may not be shown yet, between two steps; null if there is none. */
  barrier(from: number, to: number): Maybe {
    return this.questions.find(({ step }) => from < step && step <= to && !this.#has(step))?.step ?? null;
  }

  /** Asks the question whose answer is the next step or is on the way to it. */
  show(step: number, next: Maybe): void {
    const due = next === null ? null : this.barrier(step, next);
    const question = this.questions.find((each) => each.step === due) ?? null;
    if (question !== null && question !== this.#open) this.#put(question);
    const last = this.#answers.find((answer) => next !== null && step < answer.step && answer.step <= next);
    this.#open = question;
    this.#form.hidden = question === null;
    this.element.dataset["asking"] = question?.kind ?? "";
    const text = question === null && last ? `${last.right ? "✓ Right" : "✗ Not so"}: ${truth(this.trace, last)}.` : "";
    write(this.#verdict, text);
    this.#verdict.dataset["right"] = last ? String(last.right) : "";
    const { right, answered, of } = this.score;
    const way = question === null && !last ? (answered < of ? "Step on until the next question. " : "No more questions. ") : "";
    const so = answered === 0 ? "" : `${right} of ${answered} right, `;
    write(this.#points, `${way}${so}${of - answered - (question === null ? 0 : 1)} to come`);
  }

  /** Moves the keyboard focus into the question. */
  focus(): void {
    this.#form.querySelector("input")?.focus();
  }

  #has(step: number): boolean {
    return this.#answers.some((answer) => answer.step === step);
  }

  #put(question: Question): void {
    const button = html("button", { type: "submit", class: "mg-answer" }, "Answer");
    const fields = question.kind === "next" ? this.#options(question) : [this.#field(question)];
    const legend = html("legend", {}, html("span", { "aria-live": "polite" }, question.text));
    this.#form.replaceChildren(html("fieldset", {}, legend, html("div", { class: "mg-options" }, ...fields, button)));
  }

  #options(question: Question): HTMLElement[] {
    return question.choices.map((node) => {
      const radio = html("input", { type: "radio", name: this.#group, value: node, required: true });
      return html("label", { class: "mg-option" }, radio, this.#named(node), this.#number(node));
    });
  }

  /** By the name of its tensor, which stands in its box; the number stands there if it has none. */
  #named(node: number): string {
    const { name = "", outputs = [] } = this.trace.nodes[node] ?? {};
    const of = this.trace.tensors[outputs[0] ?? -1]?.name;
    return of ? `${name} (${of})` : nodeName(this.trace, node);
  }

  #number(node: number): HTMLElement {
    const nr = this.trace.nodes[node]?.sequence_nr ?? null;
    return html("small", { class: "mg-quiet" }, nr === null ? "" : ` nr ${nr}`);
  }

  #field(question: Question): HTMLElement {
    const hint = question.kind === "shape" ? "[7, 5], or scalar" : "1.5, -2";
    return html("input", { type: "text", class: "mg-field", "aria-label": question.text, placeholder: hint, autocomplete: "off", required: true });
  }

  #answer(): void {
    const question = this.#open;
    const checked = this.#form.querySelector<HTMLInputElement>("input:checked, input[type=text]");
    const given = checked?.value.trim() ?? "";
    if (!question || given === "") return;
    this.#answers.push({ kind: question.kind, step: question.step, given, right: judge(this.trace, question, given) });
    this.answered([...this.#answers], this.score);
  }
}
