/** The part of a drawing to show first. */
import { HEIGHT, push } from "./geometry";
import type { Box, Drawing, Point, Region, Wire } from "./geometry";
import type { BoxId } from "../trace/groups";

/** The first view: the whole if it is legible, else a part of it, else as much as fits around a point. */
export interface Outlook {
  size: Point;
  part: Region;
  point: Point;
}

/** The view of a box: what it is connected with. Without a box it is the whole, from the top. */
export function outlook({ boxes, wires, size }: Drawing, box: BoxId | null): Outlook {
  const near = box === null ? null : connected(box, wires);
  const part = around([...boxes].flatMap(([id, each]) => (near === null || near.has(id) ? [each] : [])));
  const at = box === null ? undefined : boxes.get(box);
  return { size, part, point: at ? [at.x, at.y] : top(boxes) };
}

/** The centre of the highest box. */
export function top(boxes: Drawing["boxes"]): Point {
  let best: Box | null = null;
  for (const box of boxes.values()) if (!best || box.y < best.y) best = box;
  return best ? [best.x, best.y] : [0, 0];
}

/** The region that the boxes cover. */
function around(boxes: readonly Box[]): Region {
  const region = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const { x, y, width } of boxes) {
    region.left = Math.min(region.left, x - width / 2);
    region.right = Math.max(region.right, x + width / 2);
    region.top = Math.min(region.top, y - HEIGHT / 2);
    region.bottom = Math.max(region.bottom, y + HEIGHT / 2);
  }
  return boxes.length > 0 ? region : { left: 0, top: 0, right: 0, bottom: 0 };
}

/** The boxes connected with one by edges, in either direction, and itself. */
function connected(start: BoxId, wires: readonly Wire[]): Set<BoxId> {
  const beside = new Map<BoxId, BoxId[]>();
  for (const { from, to } of wires) {
    if (to === null) continue;
    push(beside, from, to);
    push(beside, to, from);
  }
  const found = new Set([start]);
  for (const box of found) for (const next of beside.get(box) ?? []) found.add(next);
  return found;
}
