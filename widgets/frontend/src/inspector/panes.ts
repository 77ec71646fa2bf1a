/** The three panes and the bars between them, each of which can be dragged or moved by the arrow keys; the strips around them. */
import { html, mark, write } from "../page/dom";
import { nodeName } from "../trace/format";
import type { Trace, Mode } from "../trace/types";

const STEP = 4;
const [LEAST, MOST] = [20, 80];

/** What a bar divides: the property that holds the share, in percent, of the pane before it. */
interface Division {
  name: string;
  property: string;
  share: number;
  /** Whether the panes are side by side. */
  across: boolean;
}

const GRAPH: Division = { name: "width of the graph", property: "--mg-graph-share", share: 67, across: true };
const SOURCE: Division = { name: "height of the source", property: "--mg-source-share", share: 40, across: false };

export class Panes {
  readonly element = html("div", { class: "mg-panes" });

  constructor(source: HTMLElement, graph: HTMLElement, details: HTMLElement) {
    this.element.append(source, this.#bar(SOURCE), graph, this.#bar(GRAPH), details);
  }

  #bar(division: Division): HTMLElement {
    const bar = html("div", {
      class: "mg-bar",
      role: "separator",
      tabindex: 0,
      title: "drag to move, double-click to put back",
      "aria-label": division.name,
      "aria-orientation": division.across ? "vertical" : "horizontal",
      "aria-valuemin": LEAST,
      "aria-valuemax": MOST,
    });
    this.#divide(bar, division, division.share);
    bar.addEventListener("dblclick", () => this.#divide(bar, division, division.share));
    bar.addEventListener("pointerdown", (event) => this.#drag(event, bar, division));
    bar.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.#divide(bar, division, Number(bar.getAttribute("aria-valuenow")) + by);
    });
    return bar;
  }

  #divide(bar: HTMLElement, division: Division, wanted: number): void {
    const share = Math.round(10 * Math.min(MOST, Math.max(LEAST, wanted))) / 10;
    mark(bar, "aria-valuenow", share);
    this.element.style.setProperty(division.property, `${share}%`);
  }

  #drag(event: PointerEvent, bar: HTMLElement, division: Division): void {
    if (event.button !== 0) return;
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
    const { left, top, width, height } = this.element.getBoundingClientRect();
    const move = ({ clientX, clientY }: PointerEvent): void =>
      this.#divide(bar, division, 100 * (division.across ? (clientX - left) / width : (clientY - top) / height));
    const stop = (): void => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("pointerup", stop);
      bar.removeEventListener("pointercancel", stop);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", stop);
    bar.addEventListener("pointercancel", stop);
  }
}

// ---- The ready queue: which node runs next, in order.
const SHOWN = 12;

export class QueueStrip {
  readonly element: HTMLElement;
  readonly #heading = html("h3", { class: "mg-heading" });
  readonly #list = html("ol", { class: "mg-chips" });
  #shown = "?";

  constructor(
    private readonly trace: Trace,
    private readonly pick: (node: number) => void,
  ) {
    this.element = html("section", { class: "mg-queue", "aria-label": "ready queue" }, this.#heading, this.#list);
  }

  show(title: string, ready: readonly number[]): void {
    write(this.#heading, title);
    const key = `${ready.slice(0, SHOWN).join()}/${ready.length}`;
    if (key === this.#shown) return;
    this.#shown = key;
    const chips = ready.slice(0, SHOWN).map((id, at) => html("li", {}, this.#chip(id, at)));
    if (ready.length > SHOWN) chips.push(html("li", { class: "mg-quiet" }, `and ${ready.length - SHOWN} more`));
    if (ready.length === 0) chips.push(html("li", { class: "mg-quiet" }, "none"));
    this.#list.replaceChildren(...chips);
  }

  #chip(id: number, at: number): HTMLElement {
    const nr = this.trace.nodes[id]?.sequence_nr ?? null;
    const button = html("button", { type: "button", class: at === 0 ? "mg-chip mg-next" : "mg-chip" }, nodeName(this.trace, id));
    if (nr !== null) button.append(html("small", {}, ` nr ${nr}`));
    button.addEventListener("click", () => this.pick(id));
    return button;
  }
}

// ---- The ribbon over the slider: the grad mode of each step. minigrad_widgets/inspector/grad_modes.py computes it.
const WORDS: Record<Mode, string> = { on: "grad mode on", off: "grad mode off", inference: "inference mode" };

export class Ribbon {
  readonly element = html("div", { class: "mg-ribbon", role: "img" });
  /** The mode of the current step, in words. */
  readonly tag = html("span", { class: "mg-tag mg-mode" });
  readonly #changes: [step: number, mode: Mode][];
  #steps: readonly number[] | null = null;

  constructor(trace: Trace) {
    this.#changes = trace.modes ?? [];
  }

  /** Shows the modes of these steps; null hides the ribbon, as does a program that never switched modes. */
  show(steps: readonly number[] | null, step: number): void {
    const switched = steps !== null && this.#changes.some(([, mode]) => mode !== "on");
    this.element.hidden = this.tag.hidden = !switched;
    if (!switched) return;
    if (steps !== this.#steps) this.#draw(steps);
    this.#steps = steps;
    const mode = this.#at(step);
    write(this.tag, WORDS[mode]);
    mark(this.tag, "data-mode", mode);
    mark(this.element, "aria-label", `${WORDS[mode]} at this step`);
  }

  #at(step: number): Mode {
    return this.#changes.filter(([start]) => start <= step).at(-1)?.[1] ?? "on";
  }

  #draw(steps: readonly number[]): void {
    const last = Math.max(1, steps.at(-1) ?? 0);
    const runs: { mode: Mode; from: number; to: number }[] = [];
    steps.forEach((step) => {
      const mode = this.#at(step);
      const run = runs.at(-1);
      if (run?.mode === mode) run.to = step;
      else runs.push({ mode, from: step, to: step });
    });
    const parts = runs.map(({ mode, from, to }) => {
      const [left, right] = [Math.max(0, from - 0.5), Math.min(last, to + 0.5)];
      const place = `left:${((100 * left) / last).toFixed(2)}%;width:${((100 * (right - left)) / last).toFixed(2)}%`;
      return html("div", { class: "mg-mode-run", "data-mode": mode, title: WORDS[mode], style: place }, html("span", {}, mode));
    });
    this.element.replaceChildren(...parts);
  }
}

/** What `inspect` itself says: what it could not show, and what to give it. It stands above the panes. */
export function banner({ notes = [] }: Trace): HTMLElement[] {
  return notes.filter(({ where }) => where === "inspect").map(({ text }) => html("p", { class: "mg-banner", role: "note" }, text));
}

/** What the recorder says about its recording, as one quiet line: the first note, and how many more there are. */
export function noteLine({ notes = [] }: Trace): HTMLElement[] {
  const quiet = notes.filter(({ where }) => where !== "inspect");
  const lines = quiet.map(({ text, where, count }) => `Note: ${text} (${where}${count > 1 ? `, ${count} times` : ""})`);
  const more = lines.length > 1 ? `; ${lines.length - 1} more` : "";
  return lines.slice(0, 1).map((line) => html("p", { class: "mg-noted", title: lines.join("\n") }, line + more));
}
