/** The ready queue: which node runs next, in order. */
import { html, write } from "../page/dom";
import { nodeName } from "../trace/format";
import type { Trace } from "../trace/types";

const SHOWN = 12;

export class QueueStrip {
  readonly element: HTMLElement;
  private readonly heading = html("h3", { class: "mg-heading" });
  private readonly list = html("ol", { class: "mg-chips" });
  private shown = "?";

  constructor(
    private readonly trace: Trace,
    private readonly pick: (node: number) => void,
  ) {
    this.element = html("section", { class: "mg-queue", "aria-label": "ready queue" }, this.heading, this.list);
  }

  show(title: string, ready: readonly number[]): void {
    write(this.heading, title);
    const key = `${ready.slice(0, SHOWN).join()}/${ready.length}`;
    if (key === this.shown) return;
    this.shown = key;
    const chips = ready.slice(0, SHOWN).map((id, at) => html("li", {}, this.chip(id, at)));
    if (ready.length > SHOWN) chips.push(html("li", { class: "mg-quiet" }, `and ${ready.length - SHOWN} more`));
    if (ready.length === 0) chips.push(html("li", { class: "mg-quiet" }, "none"));
    this.list.replaceChildren(...chips);
  }

  private chip(id: number, at: number): HTMLElement {
    const nr = this.trace.nodes[id]?.sequence_nr ?? null;
    const button = html("button", { type: "button", class: at === 0 ? "mg-chip mg-next" : "mg-chip" }, nodeName(this.trace, id));
    if (nr !== null) button.append(html("small", {}, ` nr ${nr}`));
    button.addEventListener("click", () => this.pick(id));
    return button;
  }
}
