/**
 * The lens "values": a box for each number or small tensor, the operations between them as signs, from left to right.
 * minigrad_widgets/graph/calculation.py decides what is drawn, where, and the sentence of each step.
 */
import { html, mark, svg, write } from "../page/dom";
import { number } from "../trace/format";
import type { Numbers } from "./numbers";
import type { Maybe, Trace, Value } from "../trace/types";
import type { Calculation, CalculationBox } from "../trace/types";

type Point = readonly [x: number, y: number];

/** The pixels of calculation.py: the place of a number, the height of a row, a sign. */
const [ENTRY, ROW, SIGN] = [76, 23, 44];
/** The scales between which the picture fits the pane; below the first it scrolls, so that 14.5 px never become less than 11. */
const [LEAST, MOST] = [0.76, 1.7];
/** What the picture leaves of its margin of 24 px at either side, and what is below it: a sentence, and the scroll bar. */
const [EDGE, BELOW] = [16, 64];
const NAME = 8;

/** A number as one writes it by hand. */
const plain = (entry: Parameters<typeof number>[0], dtype: string): string => number(entry, dtype).replace(/\.$/, "").replace("-", "−");
const shorten = (name: string): string => (name.length <= NAME ? name : `${name.slice(0, NAME - 1)}…`);

/** What has come back for a box up to a step: each gradient, and their sum. */
export function gradientOf(trace: Trace, box: CalculationBox, step: number): { parts: number[]; sum: Maybe } {
  let [parts, sum]: [number[], Maybe] = [[], null];
  for (const event of trace.events.slice(0, step + 1)) {
    if (event.kind === "backward_start") {
      [parts, sum] = [[], event.roots.find(([node, nr]) => node === box.node && nr === box.output_nr)?.[2] ?? null];
    } else if (event.kind === "flow" && event.to === box.node && event.output_nr === box.output_nr) {
      [parts, sum] = [[...parts, event.gradient as number], event.sum];
    }
  }
  return { parts, sum };
}

/** A line from left to right, level where it passes a point. */
function way(points: readonly Point[]): string {
  return points.map(([x, y], at) => {
    const before = points[at - 1];
    return before ? `C${(before[0] + x) / 2},${before[1]} ${(before[0] + x) / 2},${y} ${x},${y}` : `M${x},${y}`;
  }).join("");
}

interface Drawn {
  box: CalculationBox;
  group: SVGGElement;
  values: SVGTextElement[];
  gradients: SVGTextElement[];
  word: SVGTextElement;
  sum: SVGTextElement;
}

export class ValuesPane {
  readonly element: HTMLElement;
  /** The result, which stays in sight when the picture scrolls. */
  readonly result = html("output", { class: "mg-result" });
  /** The height that the pane needs, in pixels, so that nothing is cut below. */
  readonly need: number;
  readonly #picture: SVGSVGElement;
  readonly #boxes: Drawn[];
  readonly #signs = new Map<number, SVGGElement>();
  #step = -1;

  constructor(
    private readonly trace: Trace,
    private readonly calculation: Calculation,
    private readonly numbers: Numbers | null,
  ) {
    const [width, height] = calculation.size;
    this.need = height * LEAST + BELOW;
    const wide = width - 2 * EDGE;
    const style = `min-width:${wide * LEAST}px;min-height:${height * LEAST}px;max-width:${wide * MOST}px`;
    this.#picture = svg("svg", { viewBox: `${EDGE} 0 ${wide} ${height}`, class: "mg-calculation", style, role: "group", "aria-label": "the calculation, from left to right" });
    for (const sign of calculation.signs) this.#drawSign(sign);
    this.#boxes = calculation.boxes.map((box) => this.#drawBox(box));
    const hint = numbers && this.#boxes.some(({ box }) => numbers.has(box.tensor)) ? "Drag an underlined number sideways, or click it and use the up and down arrow keys: everything follows." : "";
    this.element = html("section", { class: "mg-values", "aria-label": "values", tabindex: 0 }, this.#picture, html("p", { class: "mg-quiet" }, hint));
    this.element.addEventListener("scroll", () => this.#shade());
    if (typeof ResizeObserver !== "undefined") new ResizeObserver(() => this.#shade()).observe(this.element);
  }

  /** Marks the sides at which a picture that is wider than its pane goes on. */
  #shade(): void {
    const { scrollLeft, scrollWidth, clientWidth } = this.element;
    const right = scrollWidth - clientWidth - scrollLeft > EDGE / 2 ? "right" : "";
    mark(this.element, "data-more", (scrollLeft > EDGE / 2 ? "left" : "") + right || null);
  }

  /** The rectangles on the screen that belong to a node: its sign or, for an AccumulateGrad, its box. */
  spots(): Map<string, Element> {
    const found = new Map<string, Element>();
    for (const [node, sign] of this.#signs) found.set(`node ${node}`, sign);
    for (const { box, group } of this.#boxes) found.set(`box ${box.tensor}`, group);
    return found;
  }

  #drawSign({ sign, node, inputs, outputs, ways, x, y }: Calculation["signs"][number]): void {
    const wide = Math.max(SIGN, sign.length > 2 ? 24 + 10 * sign.length : 0);
    const ends: Point[][] = [];
    inputs.forEach((at, i) => {
      const box = this.calculation.boxes[at] as CalculationBox;
      ends.push([[box.x + box.width / 2, box.y], ...(ways[i] ?? []), [x - wide / 2 - 4, y]]);
    });
    for (const at of outputs) {
      const box = this.calculation.boxes[at] as CalculationBox;
      ends.push([[x + wide / 2, y], [box.x - box.width / 2 - 4, box.y]]);
    }
    for (const points of ends) {
      const [tipX, tipY] = points.at(-1) as Point;
      this.#picture.append(svg("path", { class: "mg-way", d: `${way(points)}M${tipX - 6},${tipY - 4.5}L${tipX},${tipY}L${tipX - 6},${tipY + 4.5}` }));
    }
    const group = svg("g", { class: "mg-sign", transform: `translate(${x}, ${y})` });
    group.append(svg("rect", { x: -wide / 2, y: -SIGN / 2, width: wide, height: SIGN, rx: SIGN / 2 }), svg("text", { y: 6 }));
    write(group.lastElementChild as Element, sign);
    this.#picture.append(group);
    if (node !== null) this.#signs.set(node, group);
  }

  #drawBox(box: CalculationBox): Drawn {
    const sizes = this.trace.tensors[box.tensor]?.shape ?? [];
    const columns = sizes.at(-1) ?? 1;
    const count = sizes.reduce((a, b) => a * b, 1);
    const [left, top, right] = [-box.width / 2, -box.height / 2, box.width / 2];
    const rows = Math.max(1, count / columns);
    const group = svg("g", { class: "mg-value", transform: `translate(${box.x}, ${box.y})`, "data-tensor": box.tensor });
    const text = (className: string, x: number, y: number): SVGTextElement => {
      const made = svg("text", { class: className, x, y });
      group.append(made);
      return made;
    };
    group.append(svg("rect", { x: left, y: top, width: box.width, height: box.height, rx: 9 }));
    const title = svg("title");
    title.textContent = box.name;
    const name = text("mg-valuename", left + 12, top + 24);
    write(name, shorten(box.name));
    name.append(title);
    const places = Array.from({ length: count }, (_, at): Point => [right - 12 - ENTRY * (columns - 1 - (at % columns)), top + 25 + ROW * Math.floor(at / columns)]);
    const word = text("mg-valueword", left + 12, top + 24 + ROW * rows);
    const values = places.map(([x, y], at) => this.#entry(box, at, text("mg-entryvalue", x, y), count === 1 ? group : null));
    const gradients = places.map(([x, y]) => text("mg-entrygradient", x, y + ROW * rows));
    const sum = text("mg-valuesum", right, box.height / 2 + 15);
    this.#picture.append(group);
    return { box, group, values, gradients, word, sum };
  }

  /** A number; the one of a leaf can be dragged where it stands, a scalar's by its whole box. */
  #entry(box: CalculationBox, at: number, text: SVGTextElement, whole: SVGGElement | null): SVGTextElement {
    const { numbers } = this;
    if (!numbers?.has(box.tensor)) return text;
    const handle = whole ?? text;
    handle.classList.add("mg-dragged");
    const label = whole ? box.name : `${box.name}, entry ${at}`;
    for (const [key, value] of Object.entries({ tabindex: 0, role: "spinbutton", "aria-label": label, "data-entry": at })) mark(handle, key, value);
    handle.addEventListener("pointerdown", (event) => {
      handle.focus({ preventScroll: true });
      numbers.drag(event, handle, box.tensor, at);
    });
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
      if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      numbers.nudge(box.tensor, at, by);
    });
    return text;
  }

  show(step: number, lit: Maybe): void {
    for (const drawn of this.#boxes) {
      const { box, group, values, gradients, word, sum } = drawn;
      const value = this.trace.values[this.trace.tensors[box.tensor]?.value ?? -1];
      const found = gradientOf(this.trace, box, step);
      const gradient = found.sum === null ? undefined : this.trace.values[found.sum];
      this.#fill(values, value);
      this.#fill(gradients, gradient);
      write(word, gradient ? "gradient" : "");
      const terms = found.parts.map((part) => this.trace.values[part]);
      const several = terms.length > 1 && terms.every((term) => term?.shape.length === 0);
      write(sum, several ? `= ${terms.map((term) => plain(term?.data?.[0] ?? null, term?.dtype ?? "")).join(" + ").replaceAll("+ −", "− ")}` : "");
      mark(group, "data-got", gradient ? "true" : null);
      for (const handle of group.matches("[role]") ? [group] : values.filter((text) => text.matches("[role]"))) {
        const entry = value?.data?.[Number(handle.getAttribute("data-entry"))];
        mark(handle, "aria-valuenow", typeof entry === "number" ? Number(entry.toPrecision(6)) : null);
      }
    }
    const now = this.trace.events[step]?.kind;
    for (const [node, sign] of this.#signs) mark(sign, "data-now", node === lit && (now === "flow" || now === "run") ? "true" : null);
    const root = this.#boxes[this.calculation.root];
    if (step !== this.#step) this.#follow(now === "backward_start" ? root?.group : this.#signs.get(now === "flow" || now === "run" ? (lit ?? -1) : -1));
    this.#step = step;
    if (root) write(this.result, `${shorten(root.box.name)} = ${root.values.map((text) => text.textContent).join(", ")}`);
  }

  /** Scrolls a picture wider than its pane to what the step is about, or back to its beginning; while it plays by itself, the numbers that can be dragged stay in sight. */
  #follow(shape: SVGGElement | undefined): void {
    if (this.element.closest("[data-minigrad-plays]")) return;
    const [pane, at] = [this.element.getBoundingClientRect(), shape?.getBoundingClientRect()];
    this.element.scrollLeft = at ? this.element.scrollLeft + at.left + at.width / 2 - pane.left - pane.width / 2 : 0;
  }

  #fill(texts: readonly SVGTextElement[], value: Value | undefined): void {
    texts.forEach((text, at) => {
      const entry = value?.data?.[at];
      write(text, entry === undefined ? "" : plain(entry, value?.dtype ?? ""));
    });
  }
}

// ---- The smooth move: signs become the nodes of the graph, leaves their AccumulateGrad, other boxes what passes along the edges.
interface Move {
  key: string;
  kind: "sign" | "leaf" | "box";
  from: DOMRect;
  to: DOMRect;
  before: string;
  after: string;
}

const DURATION = 1100;
const ease = (t: number): number => (t < 0.5 ? 4 * t ** 3 : 1 - (2 - 2 * t) ** 3 / 2);
const between = (a: number, b: number, t: number): number => a + (b - a) * t;

/** Where each sign and box goes; those without a place in the graph are left out. */
function moves(trace: Trace, calculation: Calculation, from: Map<string, DOMRect>, nodes: Map<number, DOMRect>): Move[] {
  const found: Move[] = [];
  const add = (kind: Move["kind"], key: string, to: DOMRect | undefined, before: string, after: string): void => {
    const start = from.get(key);
    if (start && to) found.push({ key, kind, from: start, to, before, after });
  };
  for (const { sign, node } of calculation.signs) if (node !== null) add("sign", `node ${node}`, nodes.get(node), sign, trace.nodes[node]?.name ?? "");
  calculation.boxes.forEach((box, at) => {
    const leaf = trace.nodes[box.node ?? -1]?.variable === box.tensor;
    const own = nodes.get(box.node ?? -1);
    const user = calculation.signs.find(({ inputs }) => inputs.includes(at))?.node ?? null;
    const above = user === null ? own : nodes.get(user);
    const edge = own && above && new DOMRect((own.x + own.width / 2 + above.x + above.width / 2) / 2, (own.top + above.bottom) / 2, 1, 1);
    add(leaf ? "leaf" : "box", `box ${box.tensor}`, leaf ? own : edge, box.name, leaf ? box.name : "");
  });
  return found;
}

/** Plays the move over `stage`, forwards or backwards; resolves at its end. Who asks for less motion sees none. */
export function play(stage: HTMLElement, trace: Trace, calculation: Calculation, from: Map<string, DOMRect>, nodes: Map<number, DOMRect>, back: boolean): Promise<void> {
  const all = moves(trace, calculation, from, nodes);
  if (all.length === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return Promise.resolve();
  const { left, top } = stage.getBoundingClientRect();
  const layer = svg("svg", { class: "mg-turning", "aria-hidden": true });
  const at = new Map(all.map(({ key }, i) => [key, i]));
  const lines = calculation.signs.flatMap(({ node, inputs, outputs }) =>
    [...inputs, ...outputs].map((box) => [at.get(`node ${node}`), at.get(`box ${calculation.boxes[box]?.tensor}`), svg("line")] as const));
  layer.append(...lines.map(([, , line]) => line));
  const middles: [number, number][] = [];
  const shapes = all.map(({ kind, before, after }) => {
    const [rect, first, last] = [svg("rect", { class: `mg-turning-${kind}` }), svg("text"), svg("text")];
    first.textContent = before;
    last.textContent = after;
    layer.append(rect, first, last);
    return { rect, first, last };
  });
  stage.append(layer);
  const place = (t: number): void => all.forEach(({ kind, from: a, to: b }, at) => {
    const { rect, first, last } = shapes[at] as (typeof shapes)[number];
    const [x, y, width, height] = [between(a.x, b.x, t) - left, between(a.y, b.y, t) - top, between(a.width, b.width, t), between(a.height, b.height, t)];
    middles[at] = [x + width / 2, y + height / 2];
    const round = kind === "box" ? 9 : kind === "sign" ? between(a.height / 2, 8, t) : between(9, b.height / 2, t);
    for (const [name, value] of Object.entries({ x, y, width, height, rx: round, opacity: kind === "box" ? 1 - 0.7 * t : 1 })) mark(rect, name, value);
    for (const [text, seen] of [[first, 1 - 2 * t], [last, 2 * t - 1]] as const) {
      for (const [name, value] of Object.entries({ x: x + width / 2, y: y + height / 2 + 5, opacity: Math.max(0, seen) })) mark(text, name, value);
    }
  });
  const draw = (t: number): void => {
    place(t);
    for (const [a = -1, b = -1, line] of lines) {
      const [[x1, y1] = [0, 0], [x2, y2] = [0, 0]] = [middles[a], middles[b]];
      for (const [name, value] of Object.entries({ x1, y1, x2, y2 })) mark(line, name, value);
    }
  };
  return new Promise((resolve) => {
    const start = performance.now();
    const frame = (now: number): void => {
      const t = Math.min(1, Math.max(0, (now - start) / DURATION));
      draw(ease(back ? 1 - t : t));
      if (t < 1 && layer.isConnected) return void requestAnimationFrame(frame);
      layer.remove();
      resolve();
    };
    draw(back ? 1 : 0);
    requestAnimationFrame(frame);
  });
}
