/** Several traces of one program on one axis of steps and one of bytes: what each holds, and what it recomputes. */
import { Chart, scaleOf } from "../page/chart";
import { differenceTable } from "./differences";
import { Graphs } from "./graphs";
import { KINDS } from "../trace/types";
import { describe } from "../trace/describe";
import { html, mark, write } from "../page/dom";
import { bytes as amount } from "../trace/format";
import { listen } from "../page/keys";
import { SlideView } from "../page/slide";
import type { Link } from "../page/link";
import { summary, total } from "../trace/spans";
import { Transport } from "../page/transport";
import type { Trace } from "../trace/types";

interface Row {
  name: string;
  trace: Trace;
  chart: Chart;
  element: HTMLElement;
  now: HTMLElement;
  text: HTMLElement;
}

export class Comparison {
  readonly element: HTMLElement;
  private readonly rows: Row[];
  private readonly graphs: Graphs[];
  private readonly last: number;
  private step = 0;
  private readonly text = html("output", { class: "mg-text", "aria-live": "polite" });
  private readonly transport = new Transport({ go: (step) => this.go(step) });
  private readonly slide: SlideView;
  private readonly undo: (() => void)[] = [];

  constructor(
    traces: readonly [name: string, trace: Trace][],
    private readonly link: Link,
  ) {
    const scale = scaleOf(traces.map(([, trace]) => trace));
    this.last = scale.steps - 1;
    this.rows = traces.map(([name, trace]) => this.row(name, trace, new Chart(trace, scale, (step) => this.go(step))));
    const [first, ...others] = traces;
    this.graphs = first ? others.map((other) => new Graphs(first, other, others.length === 1)) : [];
    const label = "comparison of traces; left and right arrow step, space plays, s shows it to a class";
    this.element = html("div", { class: "mg-root mg-comparison", tabindex: 0, role: "region", "aria-label": label });
    const foot = html("div", { class: "mg-foot" }, legend(), this.transport.element);
    this.slide = new SlideView(this.element);
    const rows = this.rows.map((row) => row.element);
    this.element.append(html("div", { class: "mg-head" }, this.text, this.slide.button), ...rows, foot, this.table(), ...this.graphs.map((each) => each.element), ...this.differences());
    this.undo.push(listen(this.element, this.actions()), link.listen(() => this.told()));
    this.told();
  }

  dispose(): void {
    this.transport.pause();
    this.slide.dispose();
    this.link.flush();
    for (const each of this.graphs) each.dispose();
    for (const undo of this.undo) undo();
  }

  private actions() {
    return { ...this.transport.keys, ...this.slide.keys, choose: () => undefined, walk: () => undefined };
  }

  private row(name: string, trace: Trace, chart: Chart): Row {
    const now = html("span", { class: "mg-quiet" });
    const text = html("p", { class: "mg-quiet mg-event" });
    const head = html("div", { class: "mg-who" }, html("h3", { class: "mg-name" }, name), now);
    const element = html("section", { class: "mg-row", "aria-label": name }, head, chart.element, text);
    return { name, trace, chart, element, now, text };
  }

  /** The figures, as an alternative to the charts. */
  private table(): HTMLElement {
    const heads = ["trace", "most bytes", "held when backward begins", "ops", "of these again", "steps"];
    const head = html("tr", {}, ...heads.map((each) => html("th", { scope: "col" }, each)));
    const lines = this.rows.map(({ name, trace }) => {
      const { peak, atBackward, ops, again, steps } = summary(trace);
      const cells = [amount(peak), atBackward === null ? "–" : amount(atBackward), ops, again, steps];
      return html("tr", {}, html("th", { scope: "row" }, name), ...cells.map((cell) => html("td", {}, String(cell))));
    });
    const table = html("table", { class: "mg-table" }, html("thead", {}, head), html("tbody", {}, ...lines));
    return html("div", { class: "mg-scroll", tabindex: 0, role: "group", "aria-label": "figures" }, table);
  }

  /** The first recording compared with each of the others, event by event. */
  private differences(): HTMLElement[] {
    const [first, ...others] = this.rows.map(({ name, trace }) => [name, trace] as const);
    return first ? others.map((other) => differenceTable(first, other, (step) => this.go(step))) : [];
  }

  private told(): void {
    this.transport.pause();
    this.step = Math.max(0, Math.min(this.link.step, this.last));
    this.show();
  }

  private go(step: number): void {
    this.step = Math.max(0, Math.min(step, this.last));
    this.link.say("step", this.step);
    this.show();
  }

  private show(): void {
    const parts = this.rows.map((row) => this.draw(row));
    const text = `step ${this.step} of ${this.last}: ${parts.join("; ")}`;
    write(this.text, text);
    this.transport.show(this.step, this.last, text, `${this.step} / ${this.last}`);
    mark(this.element, "data-step", this.step);
    for (const each of this.graphs) each.show(this.step);
  }

  private draw(row: Row): string {
    const at = Math.min(this.step, row.trace.events.length - 1);
    const event = row.trace.events[at];
    const held = amount(total(row.chart.all[at]));
    row.chart.show(this.step);
    write(row.now, `holds ${held}`);
    const over = this.step > at ? "over: " : "";
    write(row.text, event ? over + describe(row.trace, event) : "nothing was recorded");
    row.text.title = row.text.textContent ?? "";
    mark(row.element, "data-bytes", total(row.chart.all[at]));
    return `${row.name} holds ${held}`;
  }
}

function legend(): HTMLElement {
  const kinds = KINDS.map((name) => html("span", { class: "mg-kind" }, html("i", { class: `mg-key mg-${name}` }), name));
  const runs = [
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-run" }), "first run"),
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-run", "data-again": true }), "↻ runs again"),
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-stop" }), "stops early"),
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-begins" }), "backward begins"),
  ];
  return html("div", { class: "mg-kinds", "aria-hidden": true }, ...kinds, ...runs);
}
