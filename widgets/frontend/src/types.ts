/** The shapes of a trace, version 1, as docs/trace.md describes them. Every id is an index into its list. */
import { unpack } from "./unpack";

export type Scalar = number | boolean | string | null;

export interface Value {
  shape: number[];
  dtype: string;
  data?: Scalar[];
  stats?: { min: Scalar; max: Scalar; mean: Scalar; norm: Scalar; nan: number; inf: number };
}

export interface TensorRecord {
  name: string | null;
  shape: number[];
  dtype: string;
  requires_grad: boolean;
  is_leaf: boolean;
  node: number | null;
  output_nr: number;
  parameter: boolean;
  storage: number;
  bytes: number;
  value: number;
  /** Of a view: the tensor that it is one of. */
  base?: number;
  /** Of a tensor that is no view: another one with the same version counter. */
  counter?: number;
  /** When it was first seen, if not 0. */
  version?: number;
  /** Where it looks in its storage, in elements, if not from the beginning row by row. */
  offset?: number;
  strides?: number[];
}

export type Edge = [node: number, output_nr: number] | null;

export interface NodeRecord {
  name: string;
  sequence_nr: number | null;
  next: Edge[];
  inputs: (number | null)[];
  outputs: number[];
  saved: [name: string, tensor: number | null, value: number | null][];
  variable?: number;
  /** The call of a module inside of which it was made. */
  scope?: number;
  file?: number | null;
  line?: number | null;
}

/** One call of a module. */
export interface Scope {
  name: string | null;
  module: string;
  parent: number | null;
}

export interface Place {
  file?: number;
  line?: number;
  depth?: number;
  bytes?: Bytes;
  /** Who begins and who ceases to hold a storage. */
  held?: [storage: number, ...Holder][];
  dropped?: [storage: number, ...Holder][];
}

/** What holds: 0 a parameter, 1 a tensor, 2 a node that saved it, 3 a tensor by its .grad, 4 a node at which it waits. */
export type Holder = [what: number, of: Maybe];

export type Bytes = [parameters: number, activations: number, saved: number, gradients: number];
export type Maybe = number | null;

export type TraceEvent = Place &
  (
    | { kind: "forward"; op: string; node: Maybe; inputs: Maybe[]; outputs: number[]; scope?: number; rebased?: Rebased[] }
    | { kind: "save"; node: number }
    | { kind: "version"; tensor: number; version: number; value?: Maybe }
    | { kind: "grad"; tensor: number; grad: Maybe }
    | { kind: "mode"; mode: string; on: boolean }
    | BackwardStart
    | { kind: "ready"; node: number }
    | { kind: "run"; node: number; gradient: Maybe[] }
    | { kind: "hook"; node: number; hook: string; name: string; gradient: Maybe[]; tensor: Maybe; grad?: Maybe }
    | { kind: "release"; node: number }
    | Flow
    | { kind: "accumulate"; node: number; tensor: number; gradient: Maybe; grad: Maybe }
    | { kind: "capture"; tensor: number; gradient: Maybe }
    | { kind: "backward_end" }
    | { kind: "call"; node: number; gradient: Maybe[]; result: Maybe[] }
    | { kind: "checkpoint_begin"; call: number; name: string; reentrant: boolean }
    | { kind: "checkpoint_end" | "recompute_begin" | "early_stop" | "recompute_end"; call: number }
    | { kind: "holder_filled"; call: number; index: number; value: Maybe }
    | { kind: "error"; type: string; message: string }
  );

/** A tensor that an op in place gave another node. */
export type Rebased = [tensor: number, before: Maybe, after: number];

export interface BackwardStart {
  kind: "backward_start";
  roots: [node: number, output_nr: number, value: Maybe][];
  needs: [node: number, count: number][];
  create_graph: boolean;
  retain_graph: boolean;
  inputs: number[] | null;
}

export interface Flow {
  kind: "flow";
  node: number;
  index: number;
  to: number;
  output_nr: number;
  gradient: Maybe;
  sum: Maybe;
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
  events: TraceEvent[];
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

/** A trace from its text; a page of its own holds it as data. */
export function parseTrace(given: unknown): Trace {
  const trace = unpack(typeof given === "object" && given !== null ? given : JSON.parse(String(given)));
  if (trace.format !== "minigrad-trace" || trace.version !== 1) {
    throw new Error(`this inspector reads minigrad-trace version 1, not ${trace.format} version ${trace.version}`);
  }
  return trace;
}
