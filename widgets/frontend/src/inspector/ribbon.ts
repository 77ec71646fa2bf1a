/** The ribbon over the slider: the grad mode of each step. minigrad_widgets/inspector/grad_modes.py computes it. */
import { html, mark, write } from "../page/dom";
import type { Mode, Trace } from "../trace/types";

const WORDS: Record<Mode, string> = { on: "grad mode on", off: "grad mode off", inference: "inference mode" };

export class Ribbon {
  readonly element = html("div", { class: "mg-ribbon", role: "img" });
  /** The mode of the current step, in words. */
  readonly tag = html("span", { class: "mg-tag mg-mode" });
  private readonly changes: [step: number, mode: Mode][];
  private steps: readonly number[] | null = null;

  constructor(trace: Trace) {
    this.changes = trace.modes ?? [];
  }

  /** Shows the modes of these steps; null hides the ribbon, as does a program that never switched modes. */
  show(steps: readonly number[] | null, step: number): void {
    const switched = steps !== null && this.changes.some(([, mode]) => mode !== "on");
    this.element.hidden = this.tag.hidden = !switched;
    if (!switched) return;
    if (steps !== this.steps) this.draw(steps);
    this.steps = steps;
    const mode = this.at(step);
    write(this.tag, WORDS[mode]);
    mark(this.tag, "data-mode", mode);
    mark(this.element, "aria-label", `${WORDS[mode]} at this step`);
  }

  private at(step: number): Mode {
    return this.changes.filter(([start]) => start <= step).at(-1)?.[1] ?? "on";
  }

  private draw(steps: readonly number[]): void {
    const last = Math.max(1, steps.length - 1);
    const runs: { mode: Mode; from: number; to: number }[] = [];
    steps.forEach((step, at) => {
      const mode = this.at(step);
      const run = runs.at(-1);
      if (run?.mode === mode) run.to = at;
      else runs.push({ mode, from: at, to: at });
    });
    const parts = runs.map(({ mode, from, to }) => {
      const [left, right] = [Math.max(0, from - 0.5), Math.min(last, to + 0.5)];
      const place = `left:${((100 * left) / last).toFixed(2)}%;width:${((100 * (right - left)) / last).toFixed(2)}%`;
      return html("div", { class: "mg-mode-run", "data-mode": mode, title: WORDS[mode], style: place }, html("span", {}, mode));
    });
    this.element.replaceChildren(...parts);
  }
}
