/** Boxes move to their new places when one is opened or closed, and the box that changed stays where it was. */
import type { Box, Point, Region } from "../layout/geometry";
import { chain, scopeOf, type BoxId, type Groups } from "../trace/groups";
import type { Trace } from "../trace/types";

/** A point of a drawing, and the pixel of the pane at which it is to be. */
export type Pair = [at: Point, pixel: Point];
type Boxes = ReadonlyMap<BoxId, Box>;

/** How long boxes move, in milliseconds; when edges begin to show, as a share of it; and how many boxes may move. */
const [LONG, LATE, MOST] = [200, 0.5, 400];
const MOVE = "mg-move";

/** The call that was opened or closed between two foldings; null if more than one was. */
export function turnedScope(trace: Trace, before: ReadonlySet<number>, after: ReadonlySet<number>): number | null {
  const [gone, come] = [[...before].filter((id) => !after.has(id)), [...after].filter((id) => !before.has(id))];
  for (const [[one, ...more], others] of [[gone, come], [come, gone]] as const) {
    if (one !== undefined && more.length === 0 && others.every((id) => chain(trace, id).includes(one))) return one;
  }
  return null;
}

/** Where the boxes of a graph stood, in pixels of the pane. */
export class Places {
  readonly #owner: readonly BoxId[];

  constructor(
    groups: Groups,
    private readonly boxes: Boxes,
    private readonly pixels: (at: Point) => Point,
    private readonly scale: number,
  ) {
    this.#owner = groups.owner;
  }

  /** Where a node stood, in its box. */
  #of(node: number): Point | null {
    const box = this.boxes.get(this.#owner[node] ?? node);
    return box ? this.pixels([box.x, box.y]) : null;
  }

  /** The boxes of a call in the new drawing, and the pixels at which their nodes stood. */
  pairs(scope: number, groups: Groups, boxes: Boxes): Pair[] {
    return [...boxes].flatMap(([id, { x, y }]) => {
      if (!chain(groups.trace, id < 0 ? scopeOf(id) : groups.trace.nodes[id]?.scope).includes(scope)) return [];
      const pixels = new Map((groups.members.get(id) ?? [id]).map((node) => [this.#owner[node], this.#of(node)]));
      return [...pixels.values()].flatMap((pixel) => (pixel ? [[[x, y], pixel] as Pair] : []));
    });
  }

  /** Moves the boxes that are in view from where their first nodes stood; edges and labels come afterwards. */
  animate(groups: Groups, boxes: Boxes, elements: ReadonlyMap<BoxId, { group: SVGGElement }>, layers: readonly Element[], view: Region, point: (pixel: Point) => Point, scale: number): void {
    if (!("animate" in Element.prototype) || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const seen = ([x, y]: Point): boolean => x > view.left && x < view.right && y > view.top && y < view.bottom;
    const moves: [SVGGElement, string, string, boolean][] = [];
    for (const [id, box] of boxes) {
      const pixel = this.#of((groups.members.get(id) ?? [id])[0] ?? id);
      const group = elements.get(id)?.group;
      if (!pixel || !group) continue;
      const from = point(pixel);
      if (!seen(from) && !seen([box.x, box.y])) continue;
      moves.push([group, `translate(${from[0]}px, ${from[1]}px) scale(${this.scale / scale})`, `translate(${box.x}px, ${box.y}px)`, this.boxes.has(id)]);
    }
    if (moves.length > MOST) return;
    const timing = { duration: LONG, easing: "ease-out", id: MOVE, fill: "backwards" as const }; // it may begin a frame late
    for (const [group, from, to, there] of moves) group.animate([{ transform: from, opacity: there ? 1 : 0 }, { transform: to, opacity: 1 }], timing);
    for (const layer of layers) layer.animate([{ opacity: 0 }, { opacity: 0, offset: LATE }, { opacity: 1 }], timing);
  }
}
