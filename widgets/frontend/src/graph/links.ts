/**
 * Links between nodes that are not edges: from a view's to its base's, and from that of a tensor that was written to to
 * its previous one. minigrad_widgets/graph/links.py finds them, and draws the same.
 */
import { regionOf, Taken, type Spot } from "../layout/labels";
import { svg } from "../page/dom";
import { nodeName, tensorName } from "../trace/format";
import { HEIGHT, type Box, type Drawing, type Point, type Region } from "../layout/geometry";
import type { Tie, Trace } from "../trace/types";

/** The width of a letter of a label, and its distance from its link; minigrad_widgets/graph/labels.py has the same, and the parts. */
const [LETTER, GAP] = [5.8, 4];
/** How far along its link a label may be, in order of preference. */
const PARTS = [0.5, 0.35, 0.65, 0.2, 0.8];

/** The four points of a link: views on the left of the boxes, previous nodes on the right. */
export function bow(kind: Tie["kind"], from: Box, to: Box): [Point, Point, Point, Point] {
  const side = kind === "view" ? -1 : 1;
  const [ax, bx] = [from.x + (side * from.width) / 2, to.x + (side * to.width) / 2];
  const reach = Math.min(70, 22 + 0.08 * Math.abs(from.y - to.y));
  const x = side < 0 ? Math.min(ax, bx) - reach : Math.max(ax, bx) + reach;
  return [[ax, from.y], [x, from.y], [x, to.y], [bx, to.y]];
}

/** Possible positions for the label of a link, in order of preference. */
function* choices(kind: Tie["kind"], points: readonly Point[]): Generator<Spot> {
  const left = kind === "view";
  const along = (at: 0 | 1, t: number): number => {
    const [a, b, c, d] = points.map((point) => point[at]) as [number, number, number, number];
    const s = 1 - t;
    return s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
  };
  for (const part of PARTS) yield { x: along(0, part) + (left ? -GAP : GAP), y: along(1, part), left };
}

/** The positions of the labels of links: in no box and on no other label, if there is room. */
export function tieSpots(ties: readonly Tie[], { boxes }: Drawing): Map<Tie, Spot> {
  const taken = new Taken();
  taken.addBoxes(boxes.values());
  for (const { x, y, width } of boxes.values()) {
    const [left, top] = [x - width / 2, y - HEIGHT / 2];
    taken.add({ left: left - 12, right: left + 13, top: top - 9, bottom: top + 9 });  // the version of what was written to
  }
  const spots = new Map<Tie, Spot>();
  for (const tie of ties) {
    const [a, b] = [boxes.get(tie.from), boxes.get(tie.to)];
    if (!a || !b || tie.label === "") continue;
    const spot = taken.take(choices(tie.kind, bow(tie.kind, a, b)), LETTER * tie.label.length);
    if (spot !== null) spots.set(tie, spot);
  }
  return spots;
}

/** The regions that these labels cover: gradients avoid them. */
export const tieRegions = (spots: ReadonlyMap<Tie, Spot>): Region[] =>
  [...spots].map(([{ label }, spot]) => regionOf(spot, LETTER * label.length));

/** A link between two boxes, with its label. */
export function tieParts(trace: Trace, tie: Tie, from: Box, to: Box, spot: Spot | undefined): [SVGPathElement, SVGTextElement] {
  const [a, b, c, d] = bow(tie.kind, from, to).map((point) => point.join(","));
  const line = svg("path", { class: "mg-tie", "data-tie": tie.kind, d: `M${a}C${b} ${c} ${d}` });
  line.append(svg("title", {}, told(trace, tie)));
  const at = spot ? { x: spot.x, y: spot.y + 4 } : {};
  const label = svg("text", { class: "mg-tie-label", "data-tie": tie.kind, ...at, "text-anchor": spot?.left ? "end" : "start" }, tie.label);
  return [line, label];
}

function told(trace: Trace, tie: Tie): string {
  const name = tensorName(trace, tie.tensor);
  if (tie.kind === "view") return `${name} is a view of ${tensorName(trace, trace.tensors[tie.tensor]?.base)}: they share their memory`;
  return `${name} was written to: its node was ${nodeName(trace, tie.to)}, it is ${nodeName(trace, tie.from)} now`;
}
