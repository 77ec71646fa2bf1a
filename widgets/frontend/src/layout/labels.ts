/** The positions of gradients next to their edges: apart from each other and from boxes, if there is room. */
import { brief, valueOf } from "../trace/format";
import type { Maybe, Trace } from "../trace/types";
import { along, HEIGHT, push, stubRegion, type Box, type Drawing, type Point, type Region, type Wire } from "./geometry";

/** A label begins here, or ends here if it is at the left of its edge. */
export interface Spot {
  x: number;
  y: number;
  left: boolean;
}

/** How far along a segment of an edge a label may be, in order of preference; minigrad_widgets/graph/labels.py has the same. */
const PARTS = [0.44, 0.3, 0.58, 0.16, 0.74];
/** The number of last segments of a long edge that may have the label. */
const PIECES = 12;
const [GAP, HALF, CELL] = [5, 7, 120];
/** What an edge's output_nr takes at its right, with a gap; where layers are close to each other a label stands beside it. */
const NUMBER = 13;
/** The width of a letter of a label, and of the shortest label. */
const [LETTER, SHORTEST] = [7, 28];

/** The areas that are taken, found by position. */
export class Taken {
  readonly #cells = new Map<string, Region[]>();

  add(region: Region): void {
    for (const key of this.#keys(region)) push(this.#cells, key, region);
  }

  addBoxes(boxes: Iterable<Box>): void {
    for (const { x, y, width } of boxes) {
      this.add({ left: x - width / 2, right: x + width / 2, top: y - HEIGHT / 2, bottom: y + HEIGHT / 2 });
    }
  }

  /** Takes the first free spot for a label of this width, or the least covered. */
  take(spots: Iterable<Spot>, width: number): Spot | null {
    let [least, best]: [number, Spot | null] = [Infinity, null];
    for (const spot of spots) {
      const area = this.#overlap(regionOf(spot, width));
      if (area < least) [least, best] = [area, spot];
      if (area === 0) break;
    }
    if (best !== null) this.add(regionOf(best, width));
    return best;
  }

  /** The covered area of a region. */
  #overlap(region: Region): number {
    const others = new Set(this.#keys(region).flatMap((key) => this.#cells.get(key) ?? []));
    let area = 0;
    for (const other of others) {
      const wide = Math.min(region.right, other.right) - Math.max(region.left, other.left);
      const high = Math.min(region.bottom, other.bottom) - Math.max(region.top, other.top);
      if (wide > 0 && high > 0) area += wide * high;
    }
    return area;
  }

  #keys({ left, top, right, bottom }: Region): string[] {
    const keys: string[] = [];
    for (let x = Math.floor(left / CELL); x <= Math.floor(right / CELL); x++) {
      for (let y = Math.floor(top / CELL); y <= Math.floor(bottom / CELL); y++) keys.push(`${x},${y}`);
    }
    return keys;
  }
}

export const regionOf = ({ x, y, left }: Spot, width: number): Region => ({
  left: left ? x - width : x,
  right: left ? x : x + width,
  top: y - HALF,
  bottom: y + HALF,
});

/** A spot for each wire, for labels of these widths in pixels: the first free one, or the least covered. */
export function labelSpots({ boxes, wires, stubs }: Drawing, width: (wire: Wire) => number, others: readonly Region[]): Map<Wire, Spot> {
  const taken = new Taken();
  for (const region of others) taken.add(region);
  taken.addBoxes(boxes.values());
  for (const { points, output_nr } of wires) {
    const [x, y] = points.at(-1) as Point;
    if (output_nr !== null) taken.add({ left: x + 5, right: x + 15, top: y - 15, bottom: y - 2 });
  }
  for (const each of stubs) taken.add(stubRegion(each));
  const spots = new Map<Wire, Spot>();
  for (const wire of [...wires].sort((a, b) => a.from - b.from || a.index - b.index)) {
    const spot = taken.take(choices(wire), width(wire));
    if (spot !== null) spots.set(wire, spot);
  }
  return spots;
}

/** Possible positions of a label, in order of preference: next to the last segment of its edge, to those before, a step aside. */
function* choices({ points, left = false }: Wire): Generator<Spot> {
  for (let end = points.length - 1; end >= Math.max(1, points.length - PIECES); end--) {
    for (const part of PARTS) {
      const point = along(points, end, part);
      yield beside(point, left);
      yield beside(point, !left);
    }
  }
  const [x, y] = along(points, points.length - 1, PARTS[0] as number);
  yield beside([x + NUMBER, y], false);
}

const beside = ([x, y]: Point, left: boolean): Spot => ({ x: left ? x - GAP : x + GAP, y, left });

/** The width of the longest gradient in the trace for each wire, and of its tangent. */
export function gradientWidths(trace: Trace): (wire: Wire) => number {
  const flows = new Map<string, Maybe[]>();
  for (const event of trace.events) {
    if (event.kind === "flow") push(flows, `${event.node}:${event.index}`, event.gradient);
  }
  const length = (value: Maybe): number => brief(valueOf(trace, value)).length;
  const moves = new Map((trace.tangents ?? []).map(({ node, index, value }) => [`${node}:${index}`, length(value) + 2]));
  const longest = (key: string): number => {
    const [back, forth] = [Math.max(0, ...(flows.get(key) ?? []).map(length)), moves.get(key) ?? 0];
    return LETTER * (forth + back + (forth > 0 && back > 0 ? 5 : 0));
  };
  return ({ keys }) => Math.max(SHORTEST, ...keys.map(longest));
}
