/** What a reader needs first, under the picture: back and next, the result, the turn into the graph; "more" shows the rest. */
import { html, mark, write } from "../page/dom";
import type { Link } from "../page/link";
import { NAMES } from "../page/transport";
import type { Trace } from "../trace/types";

const PARTS = ["lenses", "source", "details", "queue", "memory", "tools", "leaves", "outputs", "counts", "norms"];

interface Actions {
  back(): void;
  forward(): void;
  turn(): void;
  /** More is shown, or less. */
  grown(): void;
}

function button(name: string, className: string, act: () => void): HTMLButtonElement {
  const made = html("button", { type: "button", class: className }, name);
  made.addEventListener("click", act);
  return made;
}

export class Growing {
  readonly element = html("div", { class: "mg-growing" });
  readonly #back: HTMLButtonElement;
  readonly #onward: HTMLButtonElement;
  readonly #turn: HTMLButtonElement;
  readonly #more = button("more", "mg-more", () => this.#toggle());
  readonly #parts: readonly string[] | null;
  #began: boolean;

  constructor(
    private readonly root: HTMLElement,
    private readonly trace: Trace,
    link: Link,
    result: HTMLElement | null,
    private readonly actions: Actions,
  ) {
    this.#parts = link.parts;
    this.#began = result !== null && this.#parts !== null;
    [this.#back, this.#onward] = [button(NAMES.back, "mg-back-step", actions.back), button(NAMES.next, "mg-onward", actions.forward)];
    this.#turn = button("", "mg-into-graph", actions.turn);
    this.element.append(this.#back, this.#onward, ...(result ? [result] : []), this.#turn, this.#more);
    this.#more.hidden = this.#parts === null;
    this.#mark(this.#parts);
    mark(this.#more, "aria-expanded", "false");
  }

  #toggle(): void {
    const less = this.root.hasAttribute("data-parts");
    this.#mark(less ? null : this.#parts);
    mark(this.#more, "aria-expanded", String(less));
    write(this.#more, less ? "less" : "more");
    this.actions.grown();
  }

  /** For the style: the parts that are out, and those that are not. */
  #mark(parts: readonly string[] | null): void {
    mark(this.root, "data-parts", parts?.join(" ") ?? null);
    mark(this.root, "data-without", parts && PARTS.filter((part) => !parts.includes(part)).join(" "));
    this.trace.plain = !this.has("leaves");
  }

  /** Whether a part is out. */
  has(part: string): boolean {
    return !this.root.matches(`[data-without~="${part}"]`);
  }

  /** A sentence without what a lesson tells of later, as inspector.py writes it: the engine's counts, and its queue. */
  plain(text: string): string {
    const told = this.has("counts") ? text : text.replace("; the engine counts the gradients to come", "");
    return this.has("queue") ? told : told.replace("joins the ready queue", "can run");
  }

  show(lens: string, position: number, last: number): void {
    const values = lens === "values";
    this.#began ||= values;
    this.#turn.hidden = !this.#began;
    this.element.hidden = !this.#began && this.#parts === null;
    write(this.#turn, values ? "show the operations as a graph" : "show the numbers");
    mark(this.#back, "aria-disabled", String(position <= 0));
    mark(this.#onward, "aria-disabled", String(position >= last));
  }
}
