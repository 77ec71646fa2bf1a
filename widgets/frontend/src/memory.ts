/** The memory pane: bytes over time with the playhead, and what each kind holds at this step. */
import { Chart, KINDS, scaleOf } from "./chart";
import { html, mark, write } from "./dom";
import { bytes as amount } from "./format";
import { total } from "./spans";
import type { Trace } from "./types";

export class Memory {
  readonly element: HTMLElement;
  private readonly chart: Chart;
  private readonly legend = html("div", { class: "mg-kinds" });
  private readonly counts: HTMLElement[];
  private readonly empty: boolean;

  constructor(trace: Trace, go: (step: number) => void) {
    this.chart = new Chart(trace, scaleOf([trace]), go);
    this.empty = !this.chart.all.some((held) => total(held) > 0);
    const heading = html("h3", { class: "mg-heading" }, "bytes held");
    this.counts = KINDS.map(() => html("b", {}));
    KINDS.forEach((name, kind) => {
      if (this.chart.all.some((held) => (held[kind] ?? 0) > 0)) {
        this.legend.append(html("span", { class: "mg-kind" }, html("i", { class: `mg-key mg-${name}` }), `${name} `, this.counts[kind] as HTMLElement));
      }
    });
    this.element = html("section", { class: "mg-memory", "aria-label": "bytes held over time" }, heading, this.chart.element, this.legend);
  }

  /** Moves the playhead; `null` hides the pane, where time does not run along the events. */
  show(step: number | null, tall: boolean): void {
    const now = step === null ? undefined : this.chart.all[step];
    this.element.hidden = !now || this.empty;
    if (step === null || !now) return;
    this.chart.show(step);
    mark(this.element, "data-tall", String(tall));
    this.counts.forEach((count, kind) => write(count, amount(now[kind] ?? 0)));
  }
}
