/** A question: its answers are clicked, or typed into a field. Python judges them; each answer brings a new face. */
import { advance, arrive, leavesUs, shield } from "../page/keys";
import { html, mark, sendsOnEnter, unique } from "../page/dom";
import type { Model } from "../page/link";

export interface Face {
  label: string;
  text: string;
  choices: [string, string][];
  stacked: boolean;
  field: string;
  chosen: string;
  locked: boolean;
  lines: [string, string][];
  done: boolean;
}

const SIGNS: Record<string, string> = { good: "✓", bad: "✗", refused: "!" };

export class Card {
  readonly element: HTMLElement;
  readonly #head = html("p", { class: "mg-question-card-head" });
  readonly #options = html("div", { class: "mg-choices" });
  readonly #lines = html("div", { class: "mg-question-card-lines", role: "status" });
  readonly #unshield: () => void;
  readonly #name = unique("mg-question-card");
  #number = 0;
  #typed = "";
  #offered = "";

  constructor(private readonly model: Model) {
    this.#head.id = this.#name;
    this.element = html("section", { class: "mg-root mg-question-card", role: "group", "aria-labelledby": this.#name }, this.#head, this.#options, this.#lines);
    model.on("change:face", this.#heard);
    this.element.addEventListener("keydown", this.#keys);
    this.#unshield = shield(this.element);
    this.#draw();
    if (!this.#face.done) arrive(this.element, () => this.#start(), "cell");
  }

  dispose(): void {
    this.model.off("change:face", this.#heard);
    this.element.removeEventListener("keydown", this.#keys);
    this.#unshield();
  }

  get #face(): Face {
    return this.model.get("face") as Face;
  }

  readonly #heard = (): void => {
    const held = this.element.contains(document.activeElement);
    this.#draw();
    if (!held) return;
    this.element.scrollIntoView({ block: "nearest" }); // it has grown by what is said to the answer
    if (!this.#face.done || !advance(this.element)) this.#start()?.focus({ preventScroll: true });
  };

  /** Where the focus belongs: on the chosen answer, else in the field, else on the first choice. */
  #start(): HTMLElement | null {
    const find = (selector: string): HTMLElement | null => this.element.querySelector<HTMLElement>(selector);
    return find('.mg-choice[aria-pressed="true"]') ?? find(".mg-field") ?? find(".mg-choice");
  }

  /** JupyterLab has shortcuts on single letters, but letters typed here are an answer. Shift-Enter moves on to what follows. */
  readonly #keys = (event: KeyboardEvent): void => {
    if (leavesUs(event, this.element)) return;
    event.stopPropagation();
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      advance(this.element);
    } else if (/^Arrow/.test(event.key)) this.#walk(event);
  };

  #walk(event: KeyboardEvent): void {
    const all = [...this.element.querySelectorAll<HTMLElement>(".mg-choice")];
    const at = all.indexOf(event.target as HTMLElement);
    if (at < 0) return;
    event.preventDefault();
    const by = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : -1;
    all[(at + by + all.length) % all.length]?.focus();
  }

  #say(answer: string): void {
    if (this.#face.locked) return;
    this.model.set("said", { answer, number: (this.#number += 1) });
    this.model.save_changes();
  }

  /** What can be chosen stays in its place while only the reply changes: a click must not fall between two buttons. */
  #draw(): void {
    const { label, text, choices, stacked, field, chosen, locked, lines, done } = this.#face;
    this.#head.replaceChildren(...(label === "" ? [] : [html("b", {}, label), " "]), text);
    const offered = JSON.stringify([field, choices, stacked]);
    if (offered !== this.#offered) {
      this.#offered = offered;
      this.#options.replaceChildren(...(field === "" ? [] : [this.#field(field)]), ...choices.map(([value, shown]) => this.#choice(value, shown, stacked)));
    }
    for (const choice of this.#options.querySelectorAll<HTMLElement>(".mg-choice")) {
      mark(choice, "aria-pressed", String(choice.dataset["value"] === chosen));
      mark(choice, "aria-disabled", String(locked));
    }
    const input = this.#options.querySelector("input");
    if (input) Object.assign(input, { readOnly: locked, value: chosen === "?" ? "" : chosen || this.#typed });
    this.#options.classList.toggle("mg-stacked", stacked);
    this.#options.hidden = choices.length === 0;
    const asked = lines.findIndex(([tone]) => tone === "ask");
    this.#lines.replaceChildren(...lines.slice(asked + 1).map(([tone, line]) => this.#line(tone, line)));
    this.#head.append(...lines.slice(0, asked + 1).map(([tone, line]) => this.#line(tone, line)));
    mark(this.element, "data-done", done ? "true" : null);
  }

  #line(tone: string, text: string): HTMLElement {
    const sign = SIGNS[tone];
    const before = sign === undefined ? [] : [html("span", { class: "mg-sign", "aria-hidden": true }, sign)];
    return html(tone === "code" ? "code" : "span", { class: "mg-line", "data-tone": tone }, ...before, text);
  }

  #choice(value: string, shown: string, stacked: boolean): HTMLElement {
    const letter = stacked ? [html("b", {}, value)] : [];
    const button = html("button", { type: "button", class: "mg-choice", "data-value": value }, ...letter, html("span", {}, shown));
    button.addEventListener("click", () => this.#say(value));
    return button;
  }

  #field(asks: string): HTMLElement {
    const input = html("input", { type: "text", class: "mg-field", "aria-label": `your answer: ${asks}`, placeholder: asks, size: asks.length, autocomplete: "off", spellcheck: false });
    const form = html("form", { class: "mg-question-card-form" }, input, html("button", { type: "submit", class: "mg-answer" }, "Answer"));
    sendsOnEnter(form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#typed = input.value.trim();
      if (this.#typed !== "") this.#say(this.#typed);
    });
    return form;
  }
}
