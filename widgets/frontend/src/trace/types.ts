/** The shapes of a trace, version 1, as docs/trace.md describes them. Every id is an index into its list. */
import type { Binding, Common, Maybe, NodeRecord, Scope, TensorRecord, TraceEvent } from "./events";

export type * from "./events";
export type Bytes = NonNullable<Common["bytes"]>;
/** In the order of `bytes`. */
export const KINDS = ["parameters", "activations", "saved", "gradients", "optimizer"] as const;
/** In the order in which a chart stacks and lists them, from the bottom: saved tensors grow on a level base. */
export const STACKED = [2, 0, 4, 1, 3] as const;
export type Edge = NodeRecord["next"][number];

/** Kinds of holders: 0 a parameter, 1 a tensor, 2 a node that saved it, 3 a tensor's .grad, 4 a node where it waits,
 * 5 an optimizer that remembers it about a tensor. */
export type Holder = [what: number, id: Maybe];

/** An operand's name, a number, or a function's name with its arguments. */
export type Expression = string | number | boolean | null | [string, ...Expression[]];

export type Scalar = number | boolean | string | null;

export interface Value {
  shape: number[];
  dtype: string;
  data?: Scalar[];
  /** Besides statistics: all numbers of a tensor that no op of the recording created. */
  entries?: Scalar[];
  stats?: { min: Scalar; max: Scalar; mean: Scalar; norm: Scalar; nan: number; inf: number };
  /** Whether it was computed from changed numbers, in place of the `recorded` ones. */
  live?: boolean;
  recorded?: Value;
  /** Whether it should have changed with them but could not be computed: it has the recorded numbers. */
  stale?: boolean;
}

export interface Layout {
  nodes: Record<string, [x: number, y: number]>;
  size: [width: number, height: number];
  /** Points that an edge passes between its two nodes, if it is longer than one layer. */
  edges?: Record<string, [x: number, y: number][]>;
  /** By pair of boxes in two columns, the two points between which their edge runs up. */
  turns?: Record<string, [x: number, y: number][]>;
  /** Whether boxes are as wide as their short titles. */
  narrow?: boolean;
}

/** A link between nodes that is not an edge: from a view's to its base's, or from one to that which it took over from. */
export interface Tie {
  kind: "view" | "rebased";
  from: number;
  to: number;
  tensor: number;
  /** The label beside it; none for a view that is never written to. */
  label: string;
}

/** One run of a checkpointed function: the first, or one of the later ones (`again`). Runs inside others have a higher level. */
export interface Run {
  call: number;
  name: string;
  again: boolean;
  start: number;
  end: number;
  level: number;
  /** The step at which it stopped early. */
  stop: Maybe;
  /** It in plain words. */
  told: string;
}

/** An edge along which a tangent goes forward, and the value of the tangent. */
export interface Moved {
  node: number;
  index: number;
  value: number;
}

/** A small program as one reads it: minigrad_widgets/graph/calculation.py says what each field means. */
export interface CalculationBox {
  tensor: number;
  name: string;
  node: Maybe;
  output_nr: number;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Calculation {
  boxes: CalculationBox[];
  signs: { sign: string; node: Maybe; inputs: number[]; outputs: number[]; ways: [x: number, y: number][][]; x: number; y: number }[];
  root: number;
  steps: [step: number, told: string][];
  size: [width: number, height: number];
}

type NodeRow = [saved: number, flops: number, gradient: number | string | null];

/** What boxes did: minigrad_widgets/graph/rows.py says what each field means. */
export interface HandedRows {
  scopes: [output: number[] | null, parameters: number, forward: Maybe, backward: Maybe, ...NodeRow][];
  nodes: NodeRow[];
}

/** What a trace cost, for comparisons. */
export interface Figures {
  steps: number;
  peak: number;
  /** The bytes held, without parameters, when the first pass begins; null if there is none. */
  atBackward: Maybe;
  ops: number;
  again: number;
}

export interface Trace {
  format: string;
  version: number;
  library: string;
  files: { name: string; lines: string[] }[];
  values: Value[];
  /** `filled`: whether it had a `.grad` when it was first seen; a trace does not have its values. */
  tensors: (TensorRecord & { filled?: boolean })[];
  nodes: NodeRecord[];
  /** Absent in older traces. */
  scopes?: Scope[];
  /** The bytes of each storage. */
  storages?: number[];
  formulas: Record<string, string>;
  /** The arithmetic of derivatives. Absent in older traces. */
  expressions?: Expression[];
  events: TraceEvent[];
  /** The tensors that the program's variables held. Absent in older traces. */
  bindings?: Binding[];
  /** Which of several processes was recorded, and when; absent if there is one. */
  process?: { rank: number; ranks: number; began: number | null };
  /** What the recorder says about its recording; absent if there is nothing. */
  notes?: { text: string; where: string; count: number }[];
  layout: Layout | null;
  /** The steps at which the grad mode changes; the inspector adds it. */
  modes?: [step: number, mode: Mode][];
  /** The scopes that are folded at first, and the positions of the boxes then; the inspector adds them. */
  folded?: number[];
  opening?: Layout;
  /** Whether a leaf has its name alone, since its AccumulateGrad has not been told of yet. */
  plain?: boolean;
  /** The module whose call raised; the last node in it or before it; the two shapes that met. The inspector adds it. */
  failed?: { scope: number; node: number; met: string };
  /** What minigrad_widgets/graph/derived.py finds. */
  links?: Tie[];
  runs?: Run[];
  tangents?: Moved[];
  calculation?: Calculation;
  /** What each box did; without questions also which gradient came to it. The inspector adds it. */
  rows?: HandedRows;
  /** A comparison adds them. */
  figures?: Figures;
}

export type Mode = "on" | "off" | "inference";

export type Status = "recorded" | "waiting" | "ready" | "running" | "done";

/** The node of an event, or null. */
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
