/** Small parts of the drawing that never change once they exist. */
import { html, svg, mark, write } from "../page/dom";
import { CARD, type Frame } from "../layout/frames";
import { HEIGHT, type Box, type Point, type Drawing, type Stub } from "../layout/geometry";
import type { Viewport } from "./viewport";
import type { Tray } from "./look";
import type { BoxId, Groups } from "../trace/groups";
import type { Trace } from "../trace/types";

/** An input that needs no gradient: a short line that ends, above where the gradient beside it may be. */
export function stub({ at: [x, y], side, word }: Stub): SVGGElement {
  const end = side === "below" ? y + 12 : y + 6;
  const line = svg("path", { class: "mg-stub", d: `M${x},${y}V${end}` });
  const cross = svg("path", { class: "mg-stub-end", d: `M${x - 5},${end}H${x + 5}` });
  const spot = side === "below" ? { x, y: end + 14, "text-anchor": "middle" } : side === "left" ? { x: x - 8, y: end + 3, "text-anchor": "end" } : { x: x + 8, y: end + 3 };
  const title = svg("title", {}, "(None, 0): this input needs no gradient");
  return svg("g", {}, title, line, cross, svg("text", { class: "mg-none", ...spot }, word));
}

/** How many tensors a node saves. A plain number, such as the 3 of `w * 3`, takes no memory of the recording's tensors and has no square. */
export function heldBy({ nodes, values }: Trace, id: number): number {
  return nodes[id]?.saved.filter(([, tensor, value]) => tensor !== null || value === null || values[value]?.shape.length !== 0).length ?? 0;
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

/** Of a mark that a lesson explains before it shows it, the part of the inspector that it is. */
const PART_OF: Readonly<Record<string, string>> = { "0 output_nr": "outputs", "Σ arrived, waits": "counts" };

/** The square of a saved tensor in its colour, as in a box. */
const signed = (text: string): (HTMLElement | string)[] => (/^[■□]/.test(text) ? [html("i", {}, text.slice(0, 1)), text.slice(1)] : [text]);

/** What the marks mean that occur in this drawing. */
export function legend(trace: Trace): HTMLElement {
  const { nodes, events, links = [] } = trace;
  const has = (kind: string): boolean => events.some((event) => event.kind === kind);
  const marks = [
    nodes.some(({ next }) => next.some((edge) => edge !== null)) ? ["↓ a gradient’s way", "0 output_nr"] : [],
    nodes.some(({ variable }) => variable !== undefined) ? ["rounded: leaf"] : [],
    nodes.some(({ next }) => next.includes(null)) ? ["None: no gradient"] : [],
    nodes.some((_, id) => heldBy(trace, id) > 0) ? ["■ saved", ...(has("release") ? ["□ released"] : [])] : [],
    has("backward_start") ? ["Σ arrived, waits"] : [],
    has("version") ? ["v1 version"] : [],
    links.some(({ kind }) => kind === "view") ? ["┈ view"] : [],
  ];
  return html("div", { class: "mg-legend", "aria-hidden": true }, ...marks.flat().map((text) => html("span", { "data-part": PART_OF[text] ?? "" }, ...signed(text))));
}

/** The part that zooms, next to the folding controls. `middle`: the student's position. */
export function zoomButtons(levels: HTMLElement, viewport: Viewport, middle: () => Point, key: HTMLElement): HTMLElement {
  const make = (text: string, title: string, act: () => void): HTMLElement => {
    const button = html("button", { type: "button", class: "mg-small", title, "aria-label": title }, text);
    button.addEventListener("click", act);
    return button;
  };
  const nearer = make("+", "zoom in", () => viewport.zoomOrFold(1.3, performance.now()));
  const farther = make("−", "zoom out", () => viewport.zoomOrFold(1 / 1.3, performance.now()));
  const whole = make("⤢", "show the whole graph", () => viewport.overview(middle()));
  return html("div", { class: "mg-zoom" }, levels, html("div", { class: "mg-zooms" }, nearer, farther, whole, key));
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

/** The frame of a transform, with the cards of a stack behind it. */
export function frameParts({ title, region, behind }: Frame): SVGGElement {
  const { left, top } = region;
  const size = { x: left, y: top, width: region.right - left, height: region.bottom - top, rx: 10 };
  const cards = Array.from({ length: behind }, (_, at) => svg("rect", { class: "mg-frame", ...size, x: left + CARD * (behind - at), y: top - CARD * (behind - at) }));
  const label = svg("text", { class: "mg-frame-title", x: left + 10, y: top + 16 }, title);
  return svg("g", { role: "img", "aria-label": `what ${title} runs`, "data-transform": title }, ...cards, svg("rect", { class: "mg-frame", ...size }), label);
}

// ---- A badge next to a box: a short text in a rounded frame.
export function paintBadge(badge: SVGGElement, text: string, left: (width: number) => number = () => 0): void {
  if ((badge.lastChild?.textContent ?? "") === text) return;
  if (text === "") {
    badge.replaceChildren();
    return;
  }
  const width = text.length * 6.4 + 12;
  const x = left(width);
  const box = svg("rect", { x, y: -9, width, height: 18, rx: 9 });
  badge.replaceChildren(box, svg("text", { x: x + width / 2, y: 4, "text-anchor": "middle" }, text));
}

// ---- Marks on the drawing: for each name of a mark, the elements that have it now.
export class Lights {
  readonly #lit = new Map<string, readonly Element[]>();

  /** Sets the mark on these elements, and removes it from the previous ones. */
  show(name: string, elements: readonly Element[]): void {
    for (const element of this.#lit.get(name) ?? []) mark(element, name, null);
    for (const element of elements) mark(element, name, "true");
    this.#lit.set(name, elements);
  }
}

// ---- The `.grad` of a leaf, drawn under its box: it fills as gradients arrive, and then holds their sum.
const [HIGH, LETTER, PAD] = [18, 6.4, 10];
const LEAST = 76;

export class TrayParts {
  readonly element: SVGGElement;
  readonly #frame = svg("rect", { class: "mg-tray", y: 0, height: HIGH, rx: 4 });
  readonly #level = svg("rect", { class: "mg-tray-level", y: 0, height: HIGH, rx: 4 });
  readonly #text = svg("text", { class: "mg-tray-text", y: 13, x: 0, "text-anchor": "middle" });
  readonly #title = svg("title", {});

  /** `y`: its upper edge, relative to the middle of its box. */
  constructor(y: number) {
    this.element = svg("g", { class: "mg-grad", transform: `translate(0, ${y})` }, this.#title, this.#frame, this.#level, this.#text);
  }

  paint(tray: Tray): void {
    const width = Math.max(LEAST, tray.text.length * LETTER + 2 * PAD);
    mark(this.element, "data-grad", tray.state);
    mark(this.element, "data-broken", tray.broken || null);
    for (const part of [this.#frame, this.#level]) mark(part, "x", -width / 2);
    mark(this.#frame, "width", width);
    mark(this.#level, "width", Number((width * tray.level).toFixed(1)));
    write(this.#text, tray.text);
    write(this.#title, tray.told);
  }
}

// ---- Attributes of nodes and edges besides their state: what a number reaches, what differs from another graph.
export interface Annotation {
  nodes: ReadonlyMap<number, string>;
  edges?: ReadonlyMap<string, string>;
  /** By value, the sign at a node, so that colour is not the only mark. */
  signs?: Readonly<Record<string, string>>;
}

export class Annotations {
  /** By the name of the attribute. */
  readonly #all = new Map<string, Annotation>();

  set(name: string, annotation: Annotation): void {
    this.#all.set(name, annotation);
  }

  /** A box has the attribute of the first of its nodes that has one. */
  draw(
    groups: Groups,
    drawing: Drawing,
    boxes: ReadonlyMap<BoxId, { group: SVGGElement }>,
    edges: ReadonlyMap<string, { keys: readonly string[]; line: SVGElement }>,
  ): void {
    for (const [name, annotation] of this.#all) {
      for (const [box, { group }] of boxes) {
        const first = (groups.members.get(box) ?? [box]).find((id) => annotation.nodes.has(id));
        const value = first === undefined ? null : (annotation.nodes.get(first) ?? null);
        mark(group, name, value);
        group.querySelector(`.mg-sign[data-of="${name}"]`)?.remove();
        const sign = value === null ? undefined : annotation.signs?.[value];
        const left = -(drawing.boxes.get(box)?.width ?? 0) / 2;
        if (sign) group.append(svg("text", { class: "mg-sign", "data-of": name, x: left - 8, y: 6, "text-anchor": "end" }, sign));
      }
      for (const { line, keys } of edges.values()) mark(line, name, keys.flatMap((key) => annotation.edges?.get(key) ?? [])[0] ?? null);
    }
  }
}
