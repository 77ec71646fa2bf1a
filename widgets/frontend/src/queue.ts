/** The ready queue: who runs next, in order. */
import { html } from "./dom";
import { nodeName } from "./format";
import type { Trace } from "./types";

const SHOWN = 12;

export class QueueStrip {
  readonly element: HTMLElement;
  private readonly list = html("ol", { class: "mg-chips" });
  private shown = "?";

  constructor(
    private readonly trace: Trace,
    private readonly pick: (node: number) => void,
  ) {
    const heading = html("h3", { class: "mg-heading" }, "ready queue");
    this.element = html("section", { class: "mg-queue", "aria-label": "ready queue" }, heading, this.list);
  }

  show(ready: readonly number[], empty = "empty"): void {
    const key = `${ready.slice(0, SHOWN).join()}/${ready.length}/${empty}`;
    if (key === this.shown) return;
    this.shown = key;
    const chips = ready.slice(0, SHOWN).map((id, at) => html("li", {}, this.chip(id, at)));
    if (ready.length > SHOWN) chips.push(html("li", { class: "mg-quiet" }, `and ${ready.length - SHOWN} more`));
    if (ready.length === 0) chips.push(html("li", { class: "mg-quiet" }, empty));
    this.list.replaceChildren(...chips);
  }

  private chip(id: number, at: number): HTMLElement {
    const nr = this.trace.nodes[id]?.sequence_nr ?? null;
    const button = html("button", { type: "button", class: at === 0 ? "mg-chip mg-next" : "mg-chip" }, nodeName(this.trace, id));
    if (nr !== null) button.append(html("small", {}, ` nr ${nr}`));
    button.title = at === 0 ? "runs next" : `number ${at + 1} in the queue`;
    button.addEventListener("click", () => this.pick(id));
    return button;
  }
}
