/** How much of a graph is folded, from one box for the model to every op: by buttons, by digits, and by zooming. */
import { html, mark } from "../page/dom";
import { HEIGHT } from "../layout/geometry";
import type { Box, Drawing, Point, Region } from "../layout/geometry";
import { chain, depths, scopeOf } from "../trace/groups";
import type { Maybe, Trace } from "../trace/types";

/** Beyond these scales the wheel folds and unfolds: texts are too small to read, or there is room for the contents. */
const [OUT, IN] = [0.42, 1.35];
/** For this long afterwards the wheel is ignored: it takes a moment to come to rest. */
const REST = 350;
/** More nodes are never drawn at once. */
const MOST = 3_000;

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
  private readonly deep: number[];
  /** The calls of modules that contain nodes. */
  private readonly scopes: number[];
  private readonly buttons: HTMLButtonElement[];
  private folded = -Infinity;

  constructor(
    private readonly trace: Trace,
    private readonly fold: (folded: Set<number>) => void,
  ) {
    this.deep = depths(trace);
    const used = new Set(trace.nodes.flatMap((node) => chain(trace, node.scope)));
    this.scopes = [...used];
    const most = this.scopes.reduce((deepest, id) => Math.max(deepest, this.deep[id] ?? 0), -1);
    this.buttons = Array.from({ length: most + 2 }, (_, level) => this.button(level, most + 1));
    if (trace.nodes.length > MOST) this.buttons.pop();
    this.element.append(...this.buttons);
    this.element.hidden = this.scopes.length === 0;
  }

  private button(level: number, last: number): HTMLButtonElement {
    const name = level === last ? "op" : level === 0 ? "model" : level === 1 ? "block" : level === 2 ? "inner block" : `inner block ${level - 1}`;
    const what = level === last ? "show every op" : `one box for each module at depth ${level + 1}`;
    const button = html("button", { type: "button", class: "mg-tab", title: `${what} (key ${level + 1})` }, name);
    button.addEventListener("click", () => this.choose(level));
    return button;
  }

  /** Folds the modules of a level, counted from 0, and opens those outside them. */
  choose(level: number): void {
    if (level < this.buttons.length) this.fold(this.at(level));
  }

  private at(level: number): Set<number> {
    return new Set(this.scopes.filter((id) => this.deep[id] === level));
  }

  /** Shows the current level, if the folding is one. */
  show(folded: ReadonlySet<number>): void {
    this.buttons.forEach((button, level) => mark(button, "aria-pressed", String(same(this.seen(folded), this.seen(this.at(level))))));
  }

  /** The folded calls that are not inside others. */
  private seen(folded: ReadonlySet<number>): number[] {
    return this.scopes.filter((id) => folded.has(id) && !this.outside(id).some((each) => folded.has(each))).sort((a, b) => a - b);
  }

  /** The nodes of a call of a module. */
  inside(scope: number): number[] {
    return this.trace.nodes.flatMap((node, id) => (chain(this.trace, node.scope).includes(scope) ? [id] : []));
  }

  private outside(id: number): number[] {
    return chain(this.trace, id).slice(1);
  }

  /**
   * Before the wheel or a button zooms by a factor: folds the innermost open modules if everything has become small, or
   * unfolds the module in view if it is large. Returns whether it did so instead of zooming.
   */
  zoom(factor: number, scale: number, folded: ReadonlySet<number>, box: number | null, time: number): boolean {
    if (time - this.folded < REST) return true;
    const next = factor > 1 ? this.inwards(scale * factor, folded, box) : this.outwards(scale * factor, folded);
    if (next === null) return false;
    this.folded = time;
    this.fold(next);
    return true;
  }

  private inwards(scale: number, folded: ReadonlySet<number>, box: number | null): Set<number> | null {
    if (scale < IN || box === null || !folded.has(box)) return null;
    const inside = this.scopes.filter((id) => this.trace.scopes?.[id]?.parent === box);
    return new Set([...[...folded].filter((id) => id !== box), ...inside]);
  }

  private outwards(scale: number, folded: ReadonlySet<number>): Set<number> | null {
    const open = this.scopes.filter((id) => !folded.has(id) && !this.outside(id).some((each) => folded.has(each)));
    const deepest = open.reduce((most, id) => Math.max(most, this.deep[id] ?? 0), -1);
    if (scale > OUT || deepest < 0) return null;
    return new Set([...folded, ...open.filter((id) => this.deep[id] === deepest)]);
  }
}

const same = (a: readonly number[], b: readonly number[]): boolean => a.length === b.length && a.every((id, at) => id === b[at]);
