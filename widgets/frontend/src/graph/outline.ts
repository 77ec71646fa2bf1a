/** The modules of the program as a list of buttons: each folds its part of the graph into one box, or unfolds it. */
import { html } from "../page/dom";
import { chain, depths, parentsFirst, scopeTitle } from "../trace/groups";
import type { Trace } from "../trace/types";

/** More nodes are never drawn at once: a step would take longer than a glance. */
const MOST = 3_000;

export class Outline {
  readonly element: HTMLDetailsElement;
  private readonly list = html("div", { class: "mg-outline-list" });
  private readonly deep: number[];
  private readonly order: number[];
  /** The number of nodes in a scope, including those in scopes inside it. */
  private readonly counts: number[];

  constructor(
    private readonly trace: Trace,
    private readonly fold: (folded: Set<number>) => void,
  ) {
    this.deep = depths(trace);
    this.order = parentsFirst(trace);
    this.counts = this.deep.map(() => 0);
    for (const node of trace.nodes) for (const id of chain(trace, node.scope)) this.counts[id] = (this.counts[id] ?? 0) + 1;
    const all = this.counts.flatMap((count, id) => (count > 0 ? [id] : []));
    const both = html("div", { class: "mg-outline-all" });
    both.append(this.action("fold all", () => this.fold(new Set(all.filter((id) => !this.opens(id))))));
    if (trace.nodes.length <= MOST) both.append(this.action("unfold all", () => this.fold(new Set())));
    this.element = html("details", { class: "mg-outline" }, html("summary", {}, "modules"), both, this.list);
    this.element.hidden = all.length === 0;
  }

  /** Whether the calls in a call hold more than half of all nodes: as one box, it would hide the program. */
  private opens(id: number): boolean {
    const inside = this.counts.filter((_, each) => this.trace.scopes?.[each]?.parent === id);
    return 2 * inside.reduce((a, b) => a + b, 0) > this.trace.nodes.length;
  }

  show(folded: ReadonlySet<number>): void {
    const shut = new Set<number>();
    const focused = this.list.querySelector(":focus")?.getAttribute("data-scope");
    const rows: HTMLElement[] = [];
    for (const id of this.order) {
      const parent = this.trace.scopes?.[id]?.parent ?? null;
      const hidden = parent !== null && shut.has(parent);
      if (hidden || folded.has(id)) shut.add(id);
      if (!hidden && (this.counts[id] ?? 0) > 0) rows.push(this.row(id, folded));
    }
    this.list.replaceChildren(...rows);
    if (focused) this.list.querySelector<HTMLElement>(`[data-scope="${focused}"]`)?.focus();
  }

  private row(id: number, folded: ReadonlySet<number>): HTMLElement {
    const open = !folded.has(id);
    const title = scopeTitle(this.trace, id);
    const parts = [html("span", { class: "mg-outline-mark", "aria-hidden": true }, open ? "▾" : "▸"), html("span", {}, title)];
    const kind = this.trace.scopes?.[id]?.module ?? "";
    const button = this.action("", () => {
      const next = new Set(folded);
      if (open) next.add(id);
      else next.delete(id);
      this.fold(next);
    });
    if (kind !== title) parts.push(html("span", { class: "mg-outline-kind" }, kind));
    button.append(...parts, html("span", { class: "mg-outline-count" }, String(this.counts[id])));
    button.setAttribute("aria-expanded", String(open));
    button.setAttribute("data-scope", String(id));
    button.setAttribute("title", `${this.counts[id]} nodes`);
    button.style.paddingLeft = `${8 + 14 * (this.deep[id] ?? 0)}px`;
    return button;
  }

  private action(text: string, act: () => void): HTMLButtonElement {
    const button = html("button", { type: "button", class: "mg-outline-row" }, text);
    button.addEventListener("click", act);
    return button;
  }
}
