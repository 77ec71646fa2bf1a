/** The boxes of the graph when some calls of modules are folded into one box each. No page, no positions. */
import type { Maybe, Trace } from "./types";

/** A node's id or, if negative, that of a folded scope. */
export type BoxId = number;

export const boxOf = (scope: number): BoxId => -1 - scope;
export const scopeOf = (box: BoxId): number => -1 - box;

export class Groups {
  /** The box of each node. */
  readonly owner: BoxId[];
  readonly members = new Map<BoxId, number[]>();

  constructor(
    readonly trace: Trace,
    readonly folded: ReadonlySet<number> = new Set(),
  ) {
    const cover = coverOf(trace, folded);
    this.owner = trace.nodes.map((node, id) => {
      const scope = node.scope === undefined ? null : (cover[node.scope] ?? null);
      return scope === null ? id : boxOf(scope);
    });
    this.owner.forEach((box, id) => {
      const list = this.members.get(box);
      if (list) list.push(id);
      else this.members.set(box, [id]);
    });
  }
}

/** All scopes, each after its parent, whatever its number; a scope is followed by those inside it. */
export function parentsFirst(trace: Trace): number[] {
  const inside = new Map<Maybe, number[]>();
  (trace.scopes ?? []).forEach(({ parent }, id) => void (inside.get(parent)?.push(id) ?? inside.set(parent, [id])));
  const found: number[] = [];
  const stack = [...(inside.get(null) ?? [])].reverse();
  while (stack.length > 0) {
    const id = stack.pop() as number;
    found.push(id);
    stack.push(...[...(inside.get(id) ?? [])].reverse());
  }
  return found;
}

/** For each scope, the outermost folded one that contains it. */
function coverOf(trace: Trace, folded: ReadonlySet<number>): Maybe[] {
  const cover: Maybe[] = [];
  for (const id of parentsFirst(trace)) {
    const parent = trace.scopes?.[id]?.parent ?? null;
    const above = parent === null ? null : (cover[parent] ?? null);
    cover[id] = above ?? (folded.has(id) ? id : null);
  }
  return cover;
}

export function depths(trace: Trace): number[] {
  const found: number[] = [];
  for (const id of parentsFirst(trace)) {
    const parent = trace.scopes?.[id]?.parent ?? null;
    found[id] = parent === null ? 0 : (found[parent] ?? 0) + 1;
  }
  return found;
}

/** The scopes that contain a scope, itself first. */
export function chain(trace: Trace, scope: number | undefined): number[] {
  const found: number[] = [];
  for (let at: Maybe = scope ?? null; at !== null; at = trace.scopes?.[at]?.parent ?? null) found.push(at);
  return found;
}

export function scopeTitle(trace: Trace, id: number): string {
  const scope = trace.scopes?.[id];
  return scope?.name ?? scope?.module ?? `scope ${id}`;
}
