/** A compiled step and the relations between its parts, without a page. The data comes from minigrad's compiler/inspection.py. */

export interface Op {
  name: string;
  phase: "forward" | "backward" | "optimizer";
  file: number | null;
  line: number;
  /** For a node of the backward pass: the op that recorded it. */
  recorded_by: number | null;
}

export interface Statement {
  id: number;
  code: string;
  origin: string;
  ops: number[];
  loop?: string[];
  parts?: number[];
}

export interface Pass {
  name: string;
  sentence: string;
  statements: number[];
  buffers: number;
  bytes: number;
}

export interface Buffer {
  kind: "temporary" | "kept" | "input" | "constant";
  type: string;
  bytes: number;
  place?: number;
  offset?: number;
  first?: number;
  last?: number;
}

export interface Compiled {
  name: string;
  backend: string;
  files: { name: string; lines: [number, string][] }[];
  ops: Op[];
  head: string[];
  statements: Statement[];
  steps: Pass[];
  names: Record<string, string>;
  buffers: Record<string, Buffer>;
}

export type Change = "same" | "new" | "changed" | "removed";

/** A statement of a step; `was`: the statement that it replaced in the pass. */
export interface Row {
  place: number;
  statement: Statement;
  change: Change;
  was: string | null;
}

/** The target pointed at: a line of a file, an op, or a statement. */
export type Target = { line: string } | { op: number } | { statement: number };

/** What belongs to a target: `kin` is what recorded its ops, and what they recorded. */
export interface Related {
  ops: Set<number>;
  kin: Set<number>;
}

export const lineOf = (op: Op): string => (op.file === null ? "" : `${op.file}:${op.line}`);

/** The statements after a pass and, in their former positions, those that it removed. */
export function rowsOf(found: Compiled, step: number): Row[] {
  const at = (place: number): Statement => found.statements[place] as Statement;
  const now = found.steps[step]?.statements ?? [];
  const before = step === 0 ? now : (found.steps[step - 1]?.statements ?? []);
  const stays = new Set(now.map((place) => at(place).id));
  const stood = new Map(before.map((place) => [at(place).id, place]));
  const gone = before.filter((place) => !stays.has(at(place).id));
  const rows: Row[] = [];
  const flush = (goes: (place: number) => boolean): void => {
    for (const place of gone.filter(goes)) rows.push({ place, statement: at(place), change: "removed", was: null });
    gone.splice(0, gone.length, ...gone.filter((place) => !goes(place)));
  };
  const order = new Map(before.map((place, index) => [place, index]));
  for (const place of now) {
    const statement = at(place);
    const old = stood.get(statement.id);
    if (old !== undefined) flush((each) => (order.get(each) ?? 0) < (order.get(old) ?? 0));
    else if (statement.parts) flush((each) => statement.parts?.includes(at(each).id) ?? false);
    const change = old === undefined ? "new" : old === place ? "same" : "changed";
    rows.push({ place, statement, change, was: change === "changed" && old !== undefined ? at(old).code : null });
  }
  flush(() => true);
  return rows;
}

/** The ops that belong to a target, and their kin. */
export function related(found: Compiled, target: Target | null): Related {
  const ops = new Set<number>();
  if (target === null) return { ops, kin: new Set() };
  if ("op" in target) ops.add(target.op);
  else if ("line" in target) found.ops.forEach((op, at) => lineOf(op) === target.line && ops.add(at));
  else for (const each of found.statements) if (each.id === target.statement) for (const op of each.ops) ops.add(op);
  const kin = new Set<number>();
  found.ops.forEach((op, at) => {
    if (op.recorded_by !== null && ops.has(op.recorded_by) && !ops.has(at)) kin.add(at);
    if (op.recorded_by !== null && ops.has(at) && !ops.has(op.recorded_by)) kin.add(op.recorded_by);
  });
  return { ops, kin };
}

/** By op: the number of statements of a program that are part of it. */
export function countByOp(found: Compiled, step: number): number[] {
  const counts = found.ops.map(() => 0);
  for (const place of found.steps[step]?.statements ?? []) {
    for (const op of found.statements[place]?.ops ?? []) counts[op] = (counts[op] ?? 0) + 1;
  }
  return counts;
}

/** The pass that removed the last statement of an op; null if any is left, or if there was none from the start. */
export function endedBy(found: Compiled, op: number, step: number): string | null {
  const has = (at: number): boolean => found.steps[at]?.statements.some((place) => found.statements[place]?.ops.includes(op)) ?? false;
  if (has(step)) return null;
  for (let at = step - 1; at >= 0; at -= 1) if (has(at)) return found.steps[at + 1]?.name ?? null;
  return null;
}

/** A statement in pieces: text, and names of memory with their buffers. */
export function pieces(found: Compiled, code: string): { text: string; buffer: string | null }[] {
  return code.split(/\b([A-Za-z_]\w*)\b/).filter((text) => text !== "").map((text) => ({ text, buffer: Object.hasOwn(found.names, text) ? (found.names[text] ?? null) : null }));
}

export interface Stay {
  buffer: string;
  first: number;
  last: number;
  /** Its offset in bytes. Before the plan each temporary has its own memory. */
  offset: number;
  bytes: number;
  place: number | null;
}

/** The lifetimes of temporaries, from statement to statement, and their offsets. */
export function stays(found: Compiled, step: number): Stay[] {
  const spans = new Map<string, { first: number; last: number }>();
  const planned = step === found.steps.length - 1;
  (found.steps[step]?.statements ?? []).forEach((place, at) => {
    for (const { buffer } of pieces(found, found.statements[place]?.code ?? "")) {
      if (buffer === null || found.buffers[buffer]?.kind !== "temporary") continue;
      const span = spans.get(buffer);
      if (span) span.last = at;
      else spans.set(buffer, { first: at, last: at });
    }
  });
  let below = 0;
  return [...spans].map(([buffer, span]) => {
    const { bytes, offset, place } = found.buffers[buffer] as Buffer;
    const own = below;
    below += bytes;
    return { buffer, ...span, bytes, offset: planned ? (offset ?? 0) : own, place: planned ? (place ?? null) : null };
  });
}
