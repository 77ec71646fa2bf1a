/** Bytes over time: what activations, saved tensors and gradients hold at each step, with the playhead. */
import { html, mark, svg, write } from "./dom";
import { bytes as amount } from "./format";
import type { Bytes, Trace } from "./types";

const HEIGHT = 26;
const NAMES = ["activations", "saved", "gradients"] as const;

/** The last bytes given, for every step; empty where a trace has none. */
function series(trace: Trace): Bytes[] {
  let last: Bytes = [0, 0, 0, 0];
  const all = trace.events.map((event) => (last = event.bytes ?? last));
  return all.some((entry) => entry.some((count) => count > 0)) ? all : [];
}

function area(all: readonly Bytes[], upTo: number, most: number): string {
  const sum = (entry: Bytes): number => entry.slice(1, 2 + upTo).reduce((a, b) => a + b, 0);
  let text = `M0,${HEIGHT}`;
  all.forEach((entry, step) => {
    const y = HEIGHT - (HEIGHT * sum(entry)) / most;
    text += `L${step},${y.toFixed(2)}H${step + 1}`;
  });
  return `${text}V${HEIGHT}Z`;
}

export class Memory {
  readonly element: HTMLElement;
  private readonly all: Bytes[];
  private readonly head = svg("path", { class: "mg-playhead" });
  private readonly legend = html("span", { class: "mg-quiet" });

  constructor(trace: Trace) {
    this.all = series(trace);
    const heading = html("h3", { class: "mg-heading" }, "bytes held");
    this.element = html("section", { class: "mg-memory", "aria-label": "bytes held over time" }, heading);
    const most = Math.max(1, ...this.all.map(([, a, s, g]) => a + s + g));
    const areas = [2, 1, 0].map((kind) => svg("path", { class: `mg-${NAMES[kind]}`, d: area(this.all, kind, most) }));
    const view = `0 0 ${Math.max(1, this.all.length)} ${HEIGHT}`;
    const box = { class: "mg-bytes", viewBox: view, preserveAspectRatio: "none", "aria-hidden": "true" };
    this.element.append(svg("svg", box, ...areas, this.head), this.legend);
  }

  /** Moves the playhead; `null` hides the strip, where time does not run along the events. */
  show(step: number | null): void {
    const now = step === null ? undefined : this.all[step];
    this.element.hidden = !now;
    if (step === null || !now) return;
    mark(this.head, "d", `M${step + 0.5},0V${HEIGHT}`);
    write(this.legend, NAMES.map((name, kind) => `${name} ${amount(now[kind + 1] ?? 0)}`).join(" · "));
  }
}
