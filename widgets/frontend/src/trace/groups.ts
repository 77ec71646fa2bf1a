/** The boxes of the graph when some calls of modules are folded into one box each. No page, no positions. */
import type { Scope } from "./events";
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

/** How deep each scope is; for `modules`, what is in a row of modules or a run of ops is as deep as that. */
export function depths(trace: Trace, modules = false): number[] {
  const found: number[] = [];
  for (const id of parentsFirst(trace)) {
    const parent = trace.scopes?.[id]?.parent ?? null;
    const deeper = modules && parent !== null && trace.scopes?.[parent]?.module === "" ? 0 : 1;
    found[id] = parent === null ? 0 : (found[parent] ?? 0) + deeper;
  }
  return found;
}

/** The scopes that contain a scope, itself first. */
export function chain(trace: Trace, scope: number | undefined): number[] {
  const found: number[] = [];
  for (let at: Maybe = scope ?? null; at !== null; at = trace.scopes?.[at]?.parent ?? null) found.push(at);
  return found;
}

/** What the box says in or after which a module raised, and whether it was in it; minigrad_widgets/graph/folding.py has the same rule. */
export function failureAt({ trace, owner }: Groups, id: BoxId): { caption: string; within: boolean } | null {
  const failed = trace.failed;
  if (!failed || owner[failed.node] !== id) return null;
  const around = chain(trace, id < 0 ? scopeOf(id) : trace.nodes[id]?.scope);
  const within = around.includes(failed.scope) || (id < 0 && chain(trace, failed.scope).includes(scopeOf(id)));
  const told = `${within ? "" : "✕ then "}${id === boxOf(failed.scope) ? "" : `${scopeTitle(trace, failed.scope)} `}raised`;
  return { caption: failed.met === "" ? told : `${told}: ${failed.met}`, within };
}

export function scopeTitle(trace: Trace, id: number): string {
  const scope = trace.scopes?.[id];
  return scope?.name ?? scope?.module ?? `scope ${id}`;
}

/** The letters of the title of a box. */
const LONGEST = 30;

/** The functions that transform functions. A scope of one has its name, and after it how many examples it runs. */
const TRANSFORMS: ReadonlySet<string> = new Set(["grad", "jvp", "linearize", "vjp", "vmap"]);

/** Whether a scope is a run of a function by a transform; minigrad_widgets/graph/frames.py has the same rule. */
export function isTransform(scope: Scope | undefined): boolean {
  return scope !== undefined && TRANSFORMS.has(scope.module) && scope.name?.split(" ")[0] === scope.module;
}

/** What stands on a folded call; minigrad_widgets/graph/folding.py has the same rule. */
export function boxTitle(trace: Trace, id: number): string {
  const scope = trace.scopes?.[id];
  let around: Maybe = scope?.parent ?? null;
  while (around !== null && trace.scopes?.[around]?.module === "") around = trace.scopes[around]?.parent ?? null;
  const inside = scope?.module !== "" && around !== null && (trace.scopes?.[around]?.parent ?? null) !== null;
  const name = inside ? `${scopeTitle(trace, around as number)}.${scopeTitle(trace, id)}` : scopeTitle(trace, id);
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST / 2 - 1)}…${name.slice(-LONGEST / 2)}`;
}

/** A call of more nodes opens into what is in it, still folded. */
const SMALL = 30;

/** What is folded once a call is unfolded. */
export function unfolded(trace: Trace, folded: ReadonlySet<number>, id: number): Set<number> {
  const next = new Set([...folded].filter((each) => each !== id));
  const around = trace.nodes.map((node) => chain(trace, node.scope)).filter((scopes) => scopes.includes(id));
  if (around.length > SMALL) for (const scopes of around) if (scopes[0] !== id) next.add(scopes[scopes.indexOf(id) - 1] as number);
  return next;
}
