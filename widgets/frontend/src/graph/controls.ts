/** How much of a graph is folded, from one box for the model to every op: by buttons, by digits, and by zooming. */
import { html, mark, write } from "../page/dom";
import { HEIGHT, type Box, type Drawing, type Point, type Region } from "../layout/geometry";
import { chain, depths, scopeOf, scopeTitle } from "../trace/groups";
import type { Maybe, Trace } from "../trace/types";
import { broken, valueOf } from "../trace/format";

/** Beyond these scales the wheel folds and unfolds: texts are too small to read, or there is room for the contents. */
const [OUT, IN] = [0.42, 1.35];
/** For this long afterwards the wheel is ignored: it takes a moment to come to rest. */
const REST = 350;
/** More nodes are never drawn at once. */
export const MOST = 3_000;

/** The folded call of a module whose box is nearest to a point, among those in view; null if there is none. */
export function foldedAt({ boxes }: Drawing, [x, y]: Point, view: Region): Maybe {
  let [best, nearest]: [Maybe, number] = [null, Infinity];
  for (const [id, box] of boxes) {
    if (id >= 0 || box.x < view.left || box.x > view.right || box.y < view.top || box.y > view.bottom) continue;
    const far = Math.hypot(Math.max(0, Math.abs(box.x - x) - box.width / 2), Math.max(0, Math.abs(box.y - y) - HEIGHT / 2));
    if (far < nearest) [best, nearest] = [scopeOf(id), far];
  }
  return best;
}

/** The centre of the region that the boxes cover. */
export function middleOf(boxes: readonly Box[]): Point {
  const [xs, ys] = [boxes.map(({ x }) => x), boxes.map(({ y }) => y)];
  return [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
}

export class Levels {
  readonly element = html("div", { class: "mg-levels", role: "group", "aria-label": "how much is folded" });
  readonly #deep: number[];
  /** The calls of modules that contain nodes. */
  readonly #scopes: number[];
  readonly #buttons: HTMLButtonElement[];
  /** Goes back to the map with which a model opens, where that is no level. */
  readonly #map: HTMLButtonElement | null;
  #folded = -Infinity;

  constructor(
    private readonly trace: Trace,
    private readonly fold: (folded: Set<number>) => void,
  ) {
    this.#deep = depths(trace, true);
    const used = new Set(trace.nodes.flatMap((node) => chain(trace, node.scope)));
    this.#scopes = [...used];
    const most = this.#scopes.reduce((deepest, id) => Math.max(deepest, this.#deep[id] ?? 0), -1);
    this.#buttons = Array.from({ length: most + 2 }, (_, level) => this.#level(level, most + 1));
    if (trace.nodes.length > MOST) this.#buttons.pop();
    this.#map = trace.folded?.length && !this.#buttons.some((_, level) => this.#is(level, new Set(trace.folded))) ? this.#button("map", "the boxes with which the model opens", () => this.fold(new Set(trace.folded))) : null;
    this.element.append(...(this.#map ? [this.#map] : []), ...this.#buttons);
    this.element.hidden = this.#scopes.length === 0;
  }

  #level(level: number, last: number): HTMLButtonElement {
    const name = level === last ? "op" : level === 0 ? "model" : level === 1 ? "block" : level === 2 ? "inner block" : String(level - 1);
    const what = level === last ? "show every op" : `one box for each module at depth ${level + 1}`;
    return this.#button(name, `${what} (key ${level + 1})`, () => this.choose(level));
  }

  #button(name: string, title: string, act: () => void): HTMLButtonElement {
    const button = html("button", { type: "button", class: "mg-tab", title }, name);
    button.addEventListener("click", act);
    return button;
  }

  /** Folds the modules of a level, counted from 0, and opens those outside them; runs of ops between these stay one box. */
  choose(level: number): void {
    if (level < this.#buttons.length) this.fold(this.#at(level));
  }

  #at(level: number): Set<number> {
    const parents = new Set(this.trace.scopes?.map(({ parent }) => parent));
    const ops = level > Math.max(...this.#scopes.map((id) => this.#deep[id] ?? 0));
    const run = (id: number): boolean => this.trace.scopes?.[id]?.module === "" && !parents.has(id);
    return new Set(ops ? [] : this.#scopes.filter((id) => this.#deep[id] === level || ((this.#deep[id] ?? 0) < level && run(id))));
  }

  /** Shows the current level, if the folding is one. */
  show(folded: ReadonlySet<number>): void {
    this.#buttons.forEach((button, level) => mark(button, "aria-pressed", String(this.#is(level, folded))));
    if (this.#map) mark(this.#map, "aria-pressed", String(same(this.#seen(folded), this.#seen(new Set(this.trace.folded)))));
  }

  #is(level: number, folded: ReadonlySet<number>): boolean {
    return same(this.#seen(folded), this.#seen(this.#at(level)));
  }

  /** The folded calls that are not inside others. */
  #seen(folded: ReadonlySet<number>): number[] {
    return this.#scopes.filter((id) => folded.has(id) && !this.#outside(id).some((each) => folded.has(each))).sort((a, b) => a - b);
  }

  /** The nodes of a call of a module. */
  inside(scope: number): number[] {
    return this.trace.nodes.flatMap((node, id) => (chain(this.trace, node.scope).includes(scope) ? [id] : []));
  }

  #outside(id: number): number[] {
    return chain(this.trace, id).slice(1);
  }

  /**
   * Before the wheel or a button zooms by a factor: folds the innermost open modules if everything has become small, or
   * unfolds the module in view if it is large. Returns whether it did so instead of zooming.
   */
  zoom(factor: number, scale: number, folded: ReadonlySet<number>, box: number | null, time: number): boolean {
    if (time - this.#folded < REST) return true;
    const next = factor > 1 ? this.#inwards(scale * factor, folded, box) : this.#outwards(scale * factor, folded);
    if (next === null) return false;
    this.#folded = time;
    this.fold(next);
    return true;
  }

  #inwards(scale: number, folded: ReadonlySet<number>, box: number | null): Set<number> | null {
    if (scale < IN || box === null || !folded.has(box)) return null;
    const inside = this.#scopes.filter((id) => this.trace.scopes?.[id]?.parent === box);
    return new Set([...[...folded].filter((id) => id !== box), ...inside]);
  }

  #outwards(scale: number, folded: ReadonlySet<number>): Set<number> | null {
    const open = this.#scopes.filter((id) => !folded.has(id) && !this.#outside(id).some((each) => folded.has(each)));
    const deepest = open.reduce((most, id) => Math.max(most, this.#deep[id] ?? 0), -1);
    if (scale > OUT || deepest < 0) return null;
    return new Set([...folded, ...open.filter((id) => this.#deep[id] === deepest)]);
  }
}

const same = (a: readonly number[], b: readonly number[]): boolean => a.length === b.length && a.every((id, at) => id === b[at]);

// ---- The search field of the graph: Enter goes from one match to the next.
export class Finder {
  readonly element: HTMLElement;
  readonly #field = html("input", { type: "search", class: "mg-find", placeholder: "find", "aria-label": "find a node" });
  readonly #count = html("output", { class: "mg-found", "aria-live": "polite" });
  #words: string[] | null = null;
  #found: number[] = [];
  #at = -1;

  constructor(
    private readonly trace: Trace,
    private readonly go: (node: number) => void,
  ) {
    this.#field.addEventListener("input", () => this.#look());
    this.#field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.#step(event.shiftKey ? -1 : 1);
    });
    this.element = html("div", { class: "mg-finder" }, this.#count, this.#field);
  }

  /** By node, the words by which it is found. */
  #made({ trace } = this): string[] {
    const unusual = this.#unusual(trace);
    const paths = new Map<number | undefined, string>();
    return trace.nodes.map((node, id) => {
      const tensors = [node.variable ?? null, ...node.outputs].map((at) => (at === null ? "" : (trace.tensors[at]?.name ?? "")));
      const path = paths.get(node.scope) ?? chain(trace, node.scope).reverse().map((scope) => scopeTitle(trace, scope)).join(".");
      paths.set(node.scope, path);
      return [node.name, ...tensors, path, `#${id}`, ...(unusual.get(id) ?? [])].join(" ").toLowerCase();
    });
  }

  /** By node: "nan" and "inf", where a gradient that it received or passed on, its result, or its leaf’s `.grad` holds one. */
  #unusual(trace: Trace): Map<number, Set<string>> {
    const found = new Map<number, Set<string>>();
    const note = (node: number, value: Maybe | undefined): void => {
      const kind = broken(valueOf(trace, value));
      if (kind) found.set(node, (found.get(node) ?? new Set()).add(kind));
    };
    const leaves = new Map(trace.nodes.flatMap(({ variable }, id) => (variable === undefined ? [] : [[variable, id] as const])));
    for (const event of trace.events) {
      if (event.kind === "flow") note(event.node, event.gradient);
      if (event.kind === "flow") note(event.to, event.sum);
      if (event.kind === "accumulate" || event.kind === "hook") note(event.node, event.grad);
      if (event.kind === "backward_start") for (const [node, , value] of event.roots) note(node, value);
      const leaf = event.kind === "grad" ? leaves.get(event.tensor) : undefined;
      if (event.kind === "grad" && leaf !== undefined) note(leaf, event.grad);
    }
    trace.nodes.forEach((node, id) => {
      for (const tensor of node.outputs) note(id, trace.tensors[tensor]?.value);
    });
    return found;
  }

  #look(): void {
    const wanted = this.#field.value.trim().toLowerCase().split(/\s+/).filter((word) => word !== "");
    const fits = (text: string): boolean => wanted.every((word) => text.includes(word));
    this.#words ??= this.#made();
    this.#found = wanted.length === 0 ? [] : this.#words.flatMap((text, id) => (fits(text) ? [id] : []));
    this.#at = -1;
    write(this.#count, wanted.length === 0 ? "" : `${this.#found.length} found`);
  }

  #step(by: 1 | -1): void {
    if (this.#found.length === 0) return;
    this.#at = (Math.max(this.#at, by > 0 ? -1 : 0) + by + this.#found.length) % this.#found.length;
    write(this.#count, `${this.#at + 1} of ${this.#found.length}`);
    this.go(this.#found[this.#at] as number);
  }
}
