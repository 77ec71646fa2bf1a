/** The memory pane: bytes over time with the playhead; opened, it lists who holds what at this step. */
import { Chart, KINDS, scaleOf } from "./chart";
import { html, mark, write } from "./dom";
import { bytes as amount } from "./format";
import type { Replay } from "./frame";
import { holdings } from "./holders";
import type { Holding, Holdings } from "./holders";
import { total } from "./spans";
import type { Trace } from "./types";

const SHOWN = 8;

export interface MemoryEvents {
  go(step: number): void;
  pick(node: number): void;
}

export class Memory {
  readonly element: HTMLElement;
  private readonly chart: Chart;
  private readonly legend = html("div", { class: "mg-kinds" });
  private readonly button = html("button", { type: "button", class: "mg-heading mg-toggle", "aria-expanded": false }, "bytes held");
  private readonly list = html("div", { class: "mg-holders", tabindex: 0, role: "group", "aria-label": "who holds what" });
  private readonly counts: HTMLElement[];
  private readonly empty: boolean;
  private latest: [step: number, tall: boolean, replay: Replay] | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly events: MemoryEvents,
  ) {
    this.chart = new Chart(trace, scaleOf([trace]), (step) => events.go(step));
    this.empty = !this.chart.all.some((held) => total(held) > 0);
    this.counts = KINDS.map(() => html("b", {}));
    KINDS.forEach((name, kind) => {
      if (!this.chart.all.some((held) => (held[kind] ?? 0) > 0)) return;
      const key = html("i", { class: `mg-key mg-${name}` });
      this.legend.append(html("span", { class: "mg-kind" }, key, `${name} `, this.counts[kind] as HTMLElement));
    });
    this.list.hidden = true;
    this.button.addEventListener("click", () => this.toggle());
    const parts = [this.button, this.chart.element, this.legend, this.list];
    this.element = html("section", { class: "mg-memory", "aria-label": "bytes held over time" }, ...parts);
  }

  /** Moves the playhead; `null` hides the pane, where time does not run along the events. */
  show(step: number | null, tall: boolean, replay: Replay): void {
    const now = step === null ? undefined : this.chart.all[step];
    this.element.hidden = !now || this.empty;
    if (step === null || !now) return;
    this.latest = [step, tall, replay];
    this.chart.show(step);
    mark(this.element, "data-tall", String(tall || !this.list.hidden));
    this.counts.forEach((count, kind) => write(count, amount(now[kind] ?? 0)));
    if (!this.list.hidden) this.list.replaceChildren(...holdings(this.trace, replay, now).map((each) => this.kind(each)));
  }

  private toggle(): void {
    this.list.hidden = !this.list.hidden;
    mark(this.button, "aria-expanded", String(!this.list.hidden));
    if (this.latest) this.show(...this.latest);
  }

  private kind(holdings: Holdings): HTMLElement {
    const { kind, bytes, parts, rest } = holdings;
    const rows = parts.slice(0, SHOWN).map((part) => this.row(part.what, this.who(part), part.bytes));
    const more = parts.slice(SHOWN);
    if (more.length > 0) rows.push(this.row(`${more.length} more`, "", more.reduce((sum, part) => sum + part.bytes, 0)));
    const own = kind === "activations" ? "the program's variables" : "the trace does not say";
    if (rest > 0) rows.push(this.row(parts.length > 0 ? "the rest" : "all", own, rest));
    const caption = html("caption", {}, html("i", { class: `mg-key mg-${kind}` }), `${kind} ${amount(bytes)}`);
    return html("table", { class: "mg-table", "data-kind": kind, "data-bytes": bytes }, caption, html("tbody", {}, ...rows));
  }

  private row(what: string, who: Node | string, bytes: number): HTMLElement {
    return html("tr", {}, html("th", { scope: "row" }, what), html("td", {}, who), html("td", {}, amount(bytes)));
  }

  private who(part: Holding): Node | string {
    const node = part.node;
    if (node === null) return part.who;
    const button = html("button", { type: "button", class: "mg-link" }, part.who);
    button.addEventListener("click", () => this.events.pick(node));
    return button;
  }
}
