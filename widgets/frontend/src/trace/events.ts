/**
 * The records and events of a trace, made of minigrad/trace/schema.py by `python -m tests.trace_page`;
 * docs/trace.md says what each field means.
 */

export const FORMAT = "minigrad-trace";
export const VERSION = 1;
export type Maybe = number | null;

/** A tensor as it was when the recorder first saw it. */
export interface TensorRecord {
  name: string | null;
  shape: number[];
  dtype: string;
  requires_grad: boolean;
  is_leaf: boolean;
  node: Maybe;
  output_nr: number;
  parameter: boolean;
  storage: number;
  bytes: number;
  value: number;
  base?: number;
  counter?: number;
  version?: number;
  read?: number;
  unexplained?: boolean;
  tangent?: number;
  offset?: number;
  strides?: number[];
}

/** A node of the graph. */
export interface NodeRecord {
  name: string;
  sequence_nr: Maybe;
  next: ([node: number, output_nr: number] | null)[];
  inputs: Maybe[];
  outputs: number[];
  saved: [name: string, tensor: Maybe, value: Maybe][];
  variable?: number;
  derivatives?: Maybe[];
  seconds?: [forward: Maybe, backward: Maybe];
  parameters?: [name: string, expression: number][];
  scope?: number;
  file?: Maybe;
  line?: Maybe;
}

/**
 * One call of a module, or one run of a function by a transform: `vmap ×5`, of five examples, `grad`, `vjp`,
 * `jvp`. A module that is called twice has two records, and a parent precedes the calls inside it.
 */
export interface Scope {
  name: string | null;
  module: string;
  parent: Maybe;
  inputs?: number[];
  outputs?: number[];
}

/**
 * The tensors that the variables of a function hold from a step on. They are read when an op runs and the
 * function has reached another line.
 */
export interface Binding {
  step: number;
  call: number;
  file: number;
  line: Maybe;
  names: [name: string, tensor: Maybe][];
}

/** Fields that every event can have besides its `kind`. */
export interface Common {
  file?: number;
  line?: number;
  depth?: number;
  time?: number;
  bytes?: [parameters: number, activations: number, saved: number, gradients: number, optimizer?: number];
  held?: [storage: number, what: number, id: Maybe][];
  dropped?: [storage: number, what: number, id: Maybe][];
}

/** An op ran. */
export interface ForwardEvent {
  kind: "forward";
  op: string;
  node: Maybe;
  inputs: Maybe[];
  outputs: number[];
  expressions?: number[];
  reads?: number[];
  scope?: number;
  found?: [tensor: number, value: number][];
  rebased?: [tensor: number, before: Maybe, after: number][];
}

/** A node saved its tensors. */
export interface SaveEvent {
  kind: "save";
  node: number;
}

/** An in-place op raised a tensor's version. */
export interface VersionEvent {
  kind: "version";
  tensor: number;
  version: number;
  value?: Maybe;
  others?: [tensor: number, value: number][];
}

/** The program removed a tensor's `.grad` (`zero_grad()`), set it, or changed it in place. */
export interface GradEvent {
  kind: "grad";
  tensor: number;
  grad: Maybe;
}

/** The user's code switched a grad mode, or `Function.apply` did around `forward`. */
export interface ModeEvent {
  kind: "mode";
  mode: string;
  on: boolean;
}

/** The first run of a checkpointed function begins. */
export interface CheckpointBeginEvent {
  kind: "checkpoint_begin";
  call: number;
  name: string;
  reentrant: boolean;
}

/** The first run of a checkpointed function ends. */
export interface CheckpointEndEvent {
  kind: "checkpoint_end";
  call: number;
}

/** A pass begins: the engine counted how many gradients each node will receive. */
export interface BackwardStartEvent {
  kind: "backward_start";
  roots: [node: number, output_nr: number, value: Maybe][];
  needs: [node: number, count: number][];
  create_graph: boolean;
  retain_graph: boolean;
  inputs: number[] | null;
}

/** The last gradient of a node arrived: it joins the ready queue. */
export interface ReadyEvent {
  kind: "ready";
  node: number;
}

/** The engine took a node from the queue. */
export interface RunEvent {
  kind: "run";
  node: number;
  gradient: Maybe[];
}

/** A hook ran. */
export interface HookEvent {
  kind: "hook";
  node: number;
  hook: string;
  name: string;
  gradient: Maybe[];
  tensor: Maybe;
  grad?: Maybe;
}

/** A node freed its saved values. */
export interface ReleaseEvent {
  kind: "release";
  node: number;
}

/** A gradient flows along an edge of the graph. */
export interface FlowEvent {
  kind: "flow";
  node: number;
  index: number;
  to: number;
  output_nr: number;
  gradient: Maybe;
  sum: Maybe;
}

/** An `AccumulateGrad` added a gradient to its leaf's `.grad`. */
export interface AccumulateEvent {
  kind: "accumulate";
  node: number;
  tensor: number;
  gradient: Maybe;
  grad: Maybe;
}

/** `autograd.grad` kept the gradient of one of its inputs. */
export interface CaptureEvent {
  kind: "capture";
  tensor: number;
  gradient: Maybe;
}

/** The pass ends. */
export interface BackwardEndEvent {
  kind: "backward_end";
}

/** The program called a node directly. */
export interface CallEvent {
  kind: "call";
  node: number;
  gradient: Maybe[];
  result: Maybe[];
}

/** The pass or the block ended in an exception. */
export interface ErrorEvent {
  kind: "error";
  type: string;
  message: string;
  scope?: number;
}

/** A checkpointed function runs again; its events have a greater `depth`. */
export interface RecomputeBeginEvent {
  kind: "recompute_begin";
  call: number;
}

/** A tensor that a non-reentrant checkpoint had not kept is available again. */
export interface HolderFilledEvent {
  kind: "holder_filled";
  call: number;
  index: number;
  value: Maybe;
}

/** All needed tensors are available: the rest of the function is skipped. */
export interface EarlyStopEvent {
  kind: "early_stop";
  call: number;
}

/** The recomputation ends, normally, by an early stop or by an error. */
export interface RecomputeEndEvent {
  kind: "recompute_end";
  call: number;
}

/** This rank called a collective operation. */
export interface CollectiveStartEvent {
  kind: "collective_start";
  call: number;
  op: string;
  label: string;
  size: number;
  group?: number[];
  bucket?: number;
  parameters?: string[];
}

/** This rank begins to wait for the end of the operation. */
export interface CollectiveWaitEvent {
  kind: "collective_wait";
  call: number;
}

/** The operation has ended, and this rank knows it. */
export interface CollectiveEndEvent {
  kind: "collective_end";
  call: number;
  times?: [called: number, begun: Maybe, ended: number];
  written?: [tensor: number, value: number][];
  grads?: [tensor: number, value: number][];
}

export type TraceEvent = Common &
  (
    | ForwardEvent
    | SaveEvent
    | VersionEvent
    | GradEvent
    | ModeEvent
    | CheckpointBeginEvent
    | CheckpointEndEvent
    | BackwardStartEvent
    | ReadyEvent
    | RunEvent
    | HookEvent
    | ReleaseEvent
    | FlowEvent
    | AccumulateEvent
    | CaptureEvent
    | BackwardEndEvent
    | CallEvent
    | ErrorEvent
    | RecomputeBeginEvent
    | HolderFilledEvent
    | EarlyStopEvent
    | RecomputeEndEvent
    | CollectiveStartEvent
    | CollectiveWaitEvent
    | CollectiveEndEvent
  );

/** What the user's code runs: the forward lens stops at these. */
export const FORWARD: ReadonlySet<string> = new Set([
  "forward", "save", "version", "grad", "mode", "checkpoint_begin", "checkpoint_end",
]);

/** What a backward pass does. */
export const OF_A_PASS: ReadonlySet<string> = new Set([
  "backward_start", "ready", "run", "hook", "release", "flow", "accumulate", "capture", "backward_end",
]);

/** The fields of each record, and of every event: `field=type` or, where it may be absent, `field?=type`. */
export const RECORD_FIELDS: Readonly<Record<string, string>> = {
  tensors: "name=str? shape=[int] dtype=str requires_grad=bool is_leaf=bool node=node? output_nr=nr parameter=bool storage=int bytes=int value=value base?=tensor counter?=tensor version?=int read?=int unexplained?=bool tangent?=tensor offset?=whole strides?=[whole]",
  nodes: "name=str sequence_nr=whole? next=[(node,output_nr:nr)?] inputs=[tensor?] outputs=[tensor] saved=[(name:str,tensor?,value?)] variable?=tensor derivatives?=[expression?] seconds?=(forward:number?,backward:number?) parameters?=[(name:str,expression)] scope?=scope file?=file? line?=int?",
  scopes: "name=str? module=str parent=scope? inputs?=[tensor] outputs?=[tensor]",
  bindings: "step=int call=int file=file line=int? names=[(name:str,tensor?)]",
  common: "file?=file line?=int depth?=nr time?=number bytes?=(parameters:int,activations:int,saved:int,gradients:int,optimizer?:int) held?=[(storage,what:nr,id:int?)] dropped?=[(storage,what:nr,id:int?)]",
};

/** The fields of each kind of event. */
export const EVENT_FIELDS: Readonly<Record<string, string>> = {
  forward: "op=str node=node? inputs=[tensor?] outputs=[tensor] expressions?=[expression] reads?=[tensor] scope?=scope found?=[(tensor,value)] rebased?=[(tensor,before:node?,after:node)]",
  save: "node=node",
  version: "tensor=tensor version=int value?=value? others?=[(tensor,value)]",
  grad: "tensor=tensor grad=value?",
  mode: "mode=str on=bool",
  checkpoint_begin: "call=int name=str reentrant=bool",
  checkpoint_end: "call=int",
  backward_start: "roots=[(node,output_nr:nr,value?)] needs=[(node,count:int)] create_graph=bool retain_graph=bool inputs=[tensor]?",
  ready: "node=node",
  run: "node=node gradient=[value?]",
  hook: "node=node hook=str name=str gradient=[value?] tensor=tensor? grad?=value?",
  release: "node=node",
  flow: "node=node index=int to=node output_nr=nr gradient=value? sum=value?",
  accumulate: "node=node tensor=tensor gradient=value? grad=value?",
  capture: "tensor=tensor gradient=value?",
  backward_end: "",
  call: "node=node gradient=[value?] result=[value?]",
  error: "type=str message=str scope?=scope",
  recompute_begin: "call=int",
  holder_filled: "call=int index=int value=value?",
  early_stop: "call=int",
  recompute_end: "call=int",
  collective_start: "call=int op=str label=str size=int group?=[int] bucket?=int parameters?=[str]",
  collective_wait: "call=int",
  collective_end: "call=int times?=(called:number,begun:number?,ended:number) written?=[(tensor,value)] grads?=[(tensor,value)]",
};
