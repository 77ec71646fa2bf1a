/** The shapes of a trace, version 1, as docs/trace.md describes them. Every id is an index into its list. */
import { check } from "./check";
import { FORMAT, VERSION } from "./events";
import type { Binding, Common, Maybe, NodeRecord, Scope, TensorRecord, TraceEvent } from "./events";
import { unpack } from "./unpack";

export type * from "./events";
export type Bytes = NonNullable<Common["bytes"]>;
/** In the order of `bytes`. */
export const KINDS = ["parameters", "activations", "saved", "gradients"] as const;
/** As they are stacked in a chart, from the floor up, and listed: what is saved for a backward pass grows on even ground. */
export const STACKED = [2, 0, 1, 3] as const;
export type Edge = NodeRecord["next"][number];

/** What holds: 0 a parameter, 1 a tensor, 2 a node that saved it, 3 a tensor by its .grad, 4 a node at which it waits. */
export type Holder = [what: number, id: Maybe];

/** An operand's name, a number, or a function's name with its arguments. */
export type Expression = string | number | boolean | null | [string, ...Expression[]];

export type Scalar = number | boolean | string | null;

export interface Value {
  shape: number[];
  dtype: string;
  data?: Scalar[];
  /** Beside statistics: all numbers of a tensor that no op of the recording made. */
  entries?: Scalar[];
  stats?: { min: Scalar; max: Scalar; mean: Scalar; norm: Scalar; nan: number; inf: number };
  /** Whether it was computed from numbers that were changed, in the place of what was `recorded`. */
  live?: boolean;
  recorded?: Value;
  /** Whether it should have changed with them, and could not be computed: it is what was recorded. */
  stale?: boolean;
}

export interface Layout {
  nodes: Record<string, [x: number, y: number]>;
  size: [width: number, height: number];
  /** Points that an edge passes between its two nodes, where it is longer than one layer. */
  edges?: Record<string, [x: number, y: number][]>;
}

export interface Trace {
  format: string;
  version: number;
  library: string;
  files: { name: string; lines: string[] }[];
  values: Value[];
  tensors: TensorRecord[];
  nodes: NodeRecord[];
  /** Older traces have none. */
  scopes?: Scope[];
  /** The bytes of each storage. */
  storages?: number[];
  formulas: Record<string, string>;
  /** The arithmetic of derivatives. Older traces have none. */
  expressions?: Expression[];
  events: TraceEvent[];
  /** Which tensors the names of the program held. Older traces have none. */
  bindings?: Binding[];
  /** Which of several processes was recorded, and when; absent where there is one. */
  process?: { rank: number; ranks: number; began: number | null };
  layout: Layout | null;
  /** The steps at which the grad mode changes; the inspector adds it. */
  modes?: [step: number, mode: Mode][];
  /** The scopes that are folded at first, and where the boxes stand then; the inspector adds them. */
  folded?: number[];
  opening?: Layout;
}

export type Mode = "on" | "off" | "inference";

export type Status = "recorded" | "waiting" | "ready" | "running" | "done";

/** The node that an event names, or null. */
export function litNode(event: TraceEvent): Maybe {
  return "node" in event ? event.node : null;
}

/** The value that an event shows: what a student reads as "the gradient" of this step. */
export function shownGradient(event: TraceEvent): Maybe {
  switch (event.kind) {
    case "run":
    case "hook":
    case "call":
      return event.gradient[0] ?? null;
    case "flow":
    case "accumulate":
    case "capture":
      return event.gradient;
    default:
      return null;
  }
}

/** A trace from its text; a page of its own holds it as data. What does not fit the schema is refused before it is drawn. */
export function parseTrace(given: unknown): Trace {
  const trace = unpack(typeof given === "object" && given !== null ? { ...given } : JSON.parse(String(given)));
  if (trace.format !== FORMAT || trace.version !== VERSION) {
    throw new Error(`this inspector reads ${FORMAT} version ${VERSION}, not ${trace.format} version ${trace.version}`);
  }
  check(trace);
  return trace;
}
