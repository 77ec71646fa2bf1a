/** Small parts of the drawing that never change once they exist. */
import { html, svg } from "../page/dom";
import { HEIGHT } from "../layout/geometry";
import type { Box, Point } from "../layout/geometry";
import type { Viewport } from "./viewport";

/** An input that needs no gradient: a short line that ends. */
export function stub([x, y]: Point): SVGGElement {
  const line = svg("path", { class: "mg-stub", d: `M${x},${y}V${y + 12}` });
  const cross = svg("path", { class: "mg-stub-end", d: `M${x - 5},${y + 12}H${x + 5}` });
  const title = svg("title", {}, "(None, 0): this input needs no gradient");
  return svg("g", {}, title, line, cross, svg("text", { class: "mg-none", x: x + 8, y: y + 15 }, "None"));
}

/** One small square per saved tensor, on the upper edge: full while held, empty once released. */
export function savedMarks(saved: number, width: number): SVGPathElement | null {
  const count = Math.min(4, saved);
  if (count === 0) return null;
  const squares = Array.from({ length: count }, (_, i) => `M${width / 2 - 20 - i * 11},${-HEIGHT / 2 + 8}h7v7h-7Z`);
  return svg("path", { class: "mg-saved", d: squares.join("") });
}

/** Whether the word for a state fits next to the caption of its box; letters of the bold word are a little wider. */
export function fits(word: string, box: Box | undefined): boolean {
  return box === undefined || 5.6 * box.caption.length + 6.1 * word.length + 4 <= box.width - 44;
}

export function legend(): HTMLElement {
  const marks = ["■ saved", "□ released", "Σ pending", "0 output_nr"].map((text) => html("span", {}, text));
  return html("div", { class: "mg-legend", "aria-hidden": true }, ...marks);
}

/** The part that zooms, next to the folding controls. `middle`: the student's position. */
export function zoomButtons(levels: HTMLElement, viewport: Viewport, middle: () => Point): HTMLElement {
  const make = (text: string, title: string, act: () => void): HTMLElement => {
    const button = html("button", { type: "button", class: "mg-small", title, "aria-label": title }, text);
    button.addEventListener("click", act);
    return button;
  };
  return html(
    "div",
    { class: "mg-zoom" },
    levels,
    make("+", "zoom in", () => viewport.zoomOrFold(1.3, performance.now())),
    make("−", "zoom out", () => viewport.zoomOrFold(1 / 1.3, performance.now())),
    make("⤢", "show the whole graph", () => viewport.overview(middle())),
  );
}

/**
 * The width of the pane that open panels cover, from the left, in pixels. A panel that leaves less than a third of it
 * free is read by itself: the drawing does not move.
 */
export function coveredBy(tools: HTMLElement): number {
  const { left, width } = tools.getBoundingClientRect();
  const ends = [...tools.querySelectorAll("details[open] > :not(summary)")].map((each) => each.getBoundingClientRect().right - left);
  return Math.max(0, ...ends.filter((end) => end <= width * (2 / 3)));
}
