/** Which boxes stand in the graph when some calls of modules are folded into one box each. No page, no positions. */
import type { Maybe, Trace } from "./types";

/** A node's id or, below zero, that of a folded scope. */
export type BoxId = number;

export const boxOf = (scope: number): BoxId => -1 - scope;
export const scopeOf = (box: BoxId): number => -1 - box;

export class Groups {
  /** The box in which each node is. */
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

/** For each scope the outermost folded one that it is in. A parent stands before what is inside of it. */
function coverOf(trace: Trace, folded: ReadonlySet<number>): Maybe[] {
  const cover: Maybe[] = [];
  (trace.scopes ?? []).forEach((scope, id) => {
    const above = scope.parent === null ? null : (cover[scope.parent] ?? null);
    cover.push(above ?? (folded.has(id) ? id : null));
  });
  return cover;
}

export function depths(trace: Trace): number[] {
  const found: number[] = [];
  for (const { parent } of trace.scopes ?? []) found.push(parent === null ? 0 : (found[parent] ?? 0) + 1);
  return found;
}

/** What is folded at first: nothing in a graph of up to `limit` boxes, else as little as brings it down to that. */
export function foldedAtFirst(trace: Trace, limit: number): Set<number> {
  if (trace.nodes.length <= limit) return new Set();
  const deep = depths(trace);
  for (let depth = deep.reduce((a, b) => Math.max(a, b), 0); depth >= 0; depth--) {
    const folded = new Set(deep.flatMap((at, id) => (at === depth ? [id] : [])));
    if (depth === 0 || new Groups(trace, folded).members.size <= limit) return folded;
  }
  return new Set();
}

/** The scopes that a scope is in, itself first. */
export function chain(trace: Trace, scope: number | undefined): number[] {
  const found: number[] = [];
  for (let at: Maybe = scope ?? null; at !== null; at = trace.scopes?.[at]?.parent ?? null) found.push(at);
  return found;
}

export function scopeTitle(trace: Trace, id: number): string {
  const scope = trace.scopes?.[id];
  return scope?.name ?? scope?.module ?? `scope ${id}`;
}
