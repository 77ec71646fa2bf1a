/** Frames around what transforms of functions run: `grad`, `jvp`, and `vmap` as a stack of cards, one for each example. */
import { chain, isTransform, scopeOf, type BoxId, type Groups } from "../trace/groups";
import { both, type Box, type Region } from "./geometry";

export interface Frame {
  /** The transforms that run the same boxes, the outermost first. */
  scopes: number[];
  title: string;
  ids: ReadonlySet<BoxId>;
  region: Region;
  /** How many more cards lie behind it. */
  behind: number;
}

/** Half the height of a box, the room of a title, that at the other sides, and of the `.grad` below a leaf. */
const [HALF, HEAD, SIDE, TRAY] = [23, 22, 12, 24];
/** How many cards a stack shows, and how far each stands out; graph/frames.py has the same rules. */
export const [CARDS, CARD] = [3, 6];

/** The cards of a stack behind its first, by the name of the transform: `vmap ×64`. */
export const cardsBehind = (name: string): number => Math.max(0, Math.min(CARDS, Number(/^vmap ×(\d+)$/.exec(name)?.[1] ?? 1)) - 1);

/** The frames, outer ones first. There is none where it would have boxes in it that are not of the transform. */
export function framesOf({ trace, members }: Groups, boxes: ReadonlyMap<BoxId, Box>): Frame[] {
  const inside = new Map<number, Set<BoxId>>();
  for (const id of members.keys()) {
    const around = id < 0 ? chain(trace, scopeOf(id)).slice(1) : chain(trace, trace.nodes[id]?.scope);
    for (const scope of around) if (isTransform(trace.scopes?.[scope])) inside.set(scope, (inside.get(scope) ?? new Set()).add(id));
  }
  const ordered = [...inside].sort(([a, some], [b, others]) => others.size - some.size || a - b);
  const found: { scopes: number[]; ids: Set<BoxId> }[] = [];
  for (const [scope, ids] of ordered) {
    const same = found.find((each) => each.ids.size === ids.size && [...ids].every((id) => each.ids.has(id)));
    if (same) same.scopes.push(scope);
    else found.push({ scopes: [scope], ids });
  }
  const regions = found.map(({ ids }, at) => {
    const within = found.slice(at + 1).filter((each) => [...each.ids].every((id) => ids.has(id)));
    const deep = Math.max(0, ...within.map((each) => 1 + within.filter((other) => other !== each && [...other.ids].every((id) => each.ids.has(id))).length));
    return around([...ids].flatMap((id) => boxes.get(id) ?? []), deep);
  });
  return found.flatMap(({ scopes, ids }, at) => {
    const region = regions[at] as Region;
    const foreign = [...boxes].some(([id, { x, y, width }]) => !ids.has(id) && x + width / 2 > region.left && x - width / 2 < region.right && y + HALF > region.top && y - HALF < region.bottom);
    const names = scopes.map((scope) => trace.scopes?.[scope]?.name ?? "");
    return foreign ? [] : [{ scopes, title: names.join(" › "), ids, region, behind: Math.max(0, ...names.map(cardsBehind)) }];
  });
}

/** What all frames cover, with their cards; null if there are none. */
export function outside(frames: readonly Frame[]): Region | null {
  const regions = frames.map(({ region, behind }) => ({ ...region, top: region.top - CARD * behind, right: region.right + CARD * behind }));
  return regions.reduce<Region | null>((all, each) => (all ? both(all, each) : each), null);
}

/** Makes a frame as wide as a label inside it needs. */
export function widen({ region }: Frame, { left, right }: Region): void {
  [region.left, region.right] = [Math.min(region.left, left - SIDE), Math.max(region.right, right + SIDE)];
}

/** The region around boxes, with so many frames inside. */
function around(boxes: readonly Box[], deep: number): Region {
  const side = SIDE * (deep + 1);
  return {
    left: Math.min(...boxes.map(({ x, width }) => x - width / 2)) - side,
    right: Math.max(...boxes.map(({ x, width }) => x + width / 2)) + side,
    top: Math.min(...boxes.map(({ y }) => y)) - HALF - HEAD * (deep + 1) - 4,
    bottom: Math.max(...boxes.map(({ y }) => y)) + HALF + TRAY + SIDE * deep,
  };
}
