/**
 * Who holds what at a step, as far as the trace tells: parameters that were used, what nodes have saved, gradients that
 * were written or wait at a node. What else is held (by the program's own variables) is known by its bytes only.
 */
import type { Replay } from "./frame";
import { KINDS } from "./chart";
import { nodeName, tensorName } from "./format";
import type { Bytes, Maybe, Trace, Value } from "./types";

export interface Holding {
  what: string;
  who: string;
  bytes: number;
  node: Maybe;
}

/** One kind of `bytes`: all that is held as such, the parts that the trace names, and what is left over. */
export interface Holdings {
  kind: string;
  bytes: number;
  parts: Holding[];
  rest: number;
}

const SIZES: Record<string, number> = { bool: 1, int8: 1, uint8: 1, int16: 2, float16: 2, bfloat16: 2, int32: 4, float32: 4, complex128: 16 };

function sizeOf(value: Value | undefined): number {
  return value ? value.shape.reduce((a, b) => a * b, SIZES[value.dtype] ?? 8) : 0;
}

/** The parameters that the program has used by now, each storage once. */
function parameters(trace: Trace, step: number): Holding[] {
  const used = new Map<number, Holding>();
  for (const event of trace.events.slice(0, step + 1)) {
    if (event.kind !== "forward") continue;
    for (const id of [...event.inputs, ...(trace.nodes[event.node ?? -1]?.inputs ?? [])]) {
      const record = id === null ? undefined : trace.tensors[id];
      if (record?.parameter && !used.has(record.storage)) {
        used.set(record.storage, { what: tensorName(trace, id), who: "the module", bytes: record.bytes, node: null });
      }
    }
  }
  return [...used.values()];
}

/** What nodes have saved, each storage once, with all that saved it; what belongs to a parameter counts as that only. */
function saved(trace: Trace, replay: Replay): Holding[] {
  const found = new Map<string, Holding>();
  const owned = new Set(trace.tensors.filter((tensor) => tensor.parameter).map((tensor) => tensor.storage));
  for (const [node, state] of replay.saved) {
    if (state !== "held") continue;
    for (const [name, id, value] of trace.nodes[node]?.saved ?? []) {
      const record = id === null ? undefined : trace.tensors[id];
      if (record ? owned.has(record.storage) : value === null) continue;
      const key = record ? `s${record.storage}` : `n${node}:${name}`;
      const who = `${nodeName(trace, node)} (${name})`;
      const known = found.get(key);
      if (known) known.who += `, ${who}`;
      else if (value !== null) {
        const bytes = record?.bytes ?? sizeOf(trace.values[value]);
        found.set(key, { what: record ? tensorName(trace, id) : name, who, bytes, node });
      }
    }
  }
  return [...found.values()];
}

function gradients(trace: Trace, replay: Replay): Holding[] {
  const written = [...replay.grads].map(([id, value]) => {
    return { what: `${tensorName(trace, id)}.grad`, who: tensorName(trace, id), bytes: sizeOf(trace.values[value ?? -1]), node: null };
  });
  const waiting = [...replay.pending].flatMap(([node, values]) =>
    values.filter((value) => value !== null).map((value) => {
      return { what: "a gradient", who: `waits at ${nodeName(trace, node)}`, bytes: sizeOf(trace.values[value]), node };
    }),
  );
  return [...written, ...waiting];
}

/** For each kind that holds something; the largest part first. */
export function holdings(trace: Trace, replay: Replay, held: Bytes): Holdings[] {
  const parts = [parameters(trace, replay.step), [], saved(trace, replay), gradients(trace, replay)];
  return KINDS.map((kind, at) => {
    const named = (parts[at] ?? []).filter((part) => part.bytes > 0).sort((a, b) => b.bytes - a.bytes);
    const bytes = held[at] ?? 0;
    return { kind, bytes, parts: bytes > 0 ? named : [], rest: Math.max(0, bytes - named.reduce((sum, part) => sum + part.bytes, 0)) };
  }).filter((each) => each.bytes > 0);
}
