/** Bytes over time as stacked areas, and under them the runs of checkpointed functions, on one axis of steps. */
import { html, mark, svg } from "./dom";
import { KINDS, STACKED, type Bytes, type Run, type Trace } from "../trace/types";

const HEIGHT = 100;

/** What several charts share, so that they can be compared. */
export interface Scale {
  steps: number;
  most: number;
}

/** The last recorded bytes, for every step. */
function series(trace: Trace): Bytes[] {
  let last: Bytes = [0, 0, 0, 0];
  return trace.events.map((event) => (last = event.bytes ?? last));
}

export function total(held: Bytes | undefined): number {
  return (held ?? []).reduce<number>((a, b) => a + (b ?? 0), 0);
}

export function scaleOf(traces: readonly Trace[]): Scale {
  const most = traces.flatMap((trace) => series(trace)).reduce((a, held) => Math.max(a, total(held)), 1);
  return { steps: Math.max(1, ...traces.map((trace) => trace.events.length)), most };
}

/** More columns are never drawn: of the steps in one, that at which most is held. */
const COLUMNS = 4_000;

/** Everything under the upper edge of a layer; drawn from the last to the first, each covers a part of the one before. */
function area(all: readonly Bytes[], layer: number, most: number): string {
  let text = `M0,${HEIGHT}`;
  let before = -1;
  const kinds = STACKED.slice(0, layer + 1);
  const width = Math.ceil(all.length / COLUMNS);
  let high = 0;
  all.forEach((held, step) => {
    high = Math.max(high, kinds.reduce<number>((sum, kind) => sum + (held[kind] ?? 0), 0));
    if ((step + 1) % width !== 0 && step < all.length - 1) return;
    const sum = high;
    high = 0;
    if (sum !== before) text += `H${step - (step % width)}V${(HEIGHT - (HEIGHT * sum) / most).toFixed(2)}`;
    before = sum;
  });
  return `${text}H${all.length}V${HEIGHT}Z`;
}

export class Chart {
  readonly element: HTMLElement;
  readonly all: Bytes[];
  readonly #head = html("div", { class: "mg-playhead" });
  readonly #plot = html("div", { class: "mg-plot" });

  constructor(
    trace: Trace,
    private readonly scale: Scale,
    go: (step: number) => void,
  ) {
    this.all = series(trace);
    const areas = [4, 3, 2, 1, 0].map((layer) => svg("path", { class: `mg-${KINDS[STACKED[layer] as number]}`, d: area(this.all, layer, scale.most) }));
    const start = trace.events.findIndex((event) => event.kind === "backward_start");
    if (start >= 0) areas.push(svg("path", { class: "mg-begins", d: `M${start},0V${HEIGHT}` }));
    const box = { class: "mg-bytes", viewBox: `0 0 ${scale.steps} ${HEIGHT}`, preserveAspectRatio: "none" };
    const runs = trace.runs ?? [];
    this.#plot.append(svg("svg", box, ...areas), this.#lanes(runs), this.#head);
    this.element = html("div", { class: "mg-chart", role: "img" }, this.#plot);
    mark(this.element, "aria-label", ["bytes held over time", ...runs.map((run) => run.told)].join("; "));
    this.element.addEventListener("click", (event) => {
      const { left, width } = this.#plot.getBoundingClientRect();
      go(Math.floor(((event.clientX - left) / Math.max(1, width)) * scale.steps));
    });
  }

  /** Puts each step over its place on a slider from 0 to `last` that is as wide: over 0 and `last` there is half a step. */
  along(last: number): void {
    const most = Math.max(1, last);
    this.#plot.style.width = `${(100 * this.scale.steps) / most}%`;
    this.#plot.style.marginLeft = `${-50 / most}%`;
  }

  /** Moves the playhead; beyond the end of a trace it stays there. */
  show(step: number): void {
    const at = Math.min(step, this.all.length - 1);
    this.#head.style.left = `${(100 * (at + 0.5)) / this.scale.steps}%`;
  }

  #lanes(runs: readonly Run[]): HTMLElement {
    const levels = 1 + runs.reduce((most, span) => Math.max(most, span.level), -1);
    const rows = Array.from({ length: levels }, (_, level) =>
      html("div", { class: "mg-lane" }, ...runs.filter((span) => span.level === level).map((span) => this.#run(span))),
    );
    return html("div", { class: "mg-lanes" }, ...rows);
  }

  #run(span: Run): HTMLElement {
    const left = (100 * span.start) / this.scale.steps;
    const width = (100 * (span.end + 1 - span.start)) / this.scale.steps;
    const place = `left:${left.toFixed(3)}%;width:${width.toFixed(3)}%`;
    const text = span.again ? `↻ ${span.call}` : `${span.call} ${span.name}`;
    const bar = html("div", { class: "mg-run", "data-call": span.call, "data-again": span.again, title: span.told, style: place });
    bar.append(html("span", {}, text));
    if (span.stop !== null) {
      bar.dataset["stop"] = String(span.stop);
      bar.append(html("i", { class: "mg-stop" }));
    }
    return bar;
  }
}
