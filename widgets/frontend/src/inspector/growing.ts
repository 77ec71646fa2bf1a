/** What a reader needs first, under the picture: back and next, the result, the turn into the graph; "more" shows the rest. */
import { html, mark, write } from "../page/dom";
import type { Link } from "../page/link";
import { NAMES } from "../page/transport";

interface Actions {
  back(): void;
  forward(): void;
  turn(): void;
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
  readonly #parts: string | null;
  #began: boolean;

  constructor(
    private readonly root: HTMLElement,
    link: Link,
    result: HTMLElement | null,
    actions: Actions,
  ) {
    this.#parts = link.parts?.join(" ") ?? null;
    this.#began = result !== null && this.#parts !== null;
    [this.#back, this.#onward] = [button(NAMES.back, "mg-back-step", actions.back), button(NAMES.next, "mg-onward", actions.forward)];
    this.#turn = button("", "mg-into-graph", actions.turn);
    this.element.append(this.#back, this.#onward, ...(result ? [result] : []), this.#turn, this.#more);
    this.#more.hidden = this.#parts === null;
    mark(root, "data-parts", this.#parts);
    mark(this.#more, "aria-expanded", "false");
  }

  #toggle(): void {
    const less = this.root.hasAttribute("data-parts");
    mark(this.root, "data-parts", less ? null : this.#parts);
    mark(this.#more, "aria-expanded", String(less));
    write(this.#more, less ? "less" : "more");
  }

  show(lens: string, position: number, last: number): void {
    const values = lens === "values";
    this.#began ||= values;
    this.#turn.hidden = !this.#began;
    this.element.hidden = !this.#began && this.#parts === null;
    write(this.#turn, values ? "show the operations as a graph" : "show the numbers again");
    mark(this.#back, "aria-disabled", String(position <= 0));
    mark(this.#onward, "aria-disabled", String(position >= last));
  }
}
