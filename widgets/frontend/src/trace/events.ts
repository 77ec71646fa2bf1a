/** The records and events of a trace, made of minigrad/trace/schema.py by `python -m tests.trace_page`. */

export const FORMAT = "minigrad-trace";
export const VERSION = 1;
export type Maybe = number | null;

/** A tensor as it was when the recorder first saw it. */
export interface TensorRecord {
  /** The variable that holds it; of a parameter, its path from its module. */
  name: string | null;
  /** Its shape. */
  shape: number[];
  /** Its dtype. */
  dtype: string;
  /** Whether gradients are computed for it. */
  requires_grad: boolean;
  /** Whether it has no `grad_fn`. */
  is_leaf: boolean;
  /** Its `grad_fn`. */
  node: Maybe;
  /** Which output of that it is. */
  output_nr: number;
  /** Whether it is a parameter of a module. */
  parameter: boolean;
  /** Its memory, an index into `storages` where there are some; tensors with one `storage` share it. */
  storage: number;
  /** The bytes of its elements. */
  bytes: number;
  /** What it held. */
  value: number;
  /** Of a view, the tensor that it is a view of. */
  base?: number;
  /** Another tensor with the same version counter that is not its base, as after `detach()`. */
  counter?: number;
  /** Its version, if that was not 0. */
  version?: number;
  /**
   * The step after which the program first read its numbers by what is no op of the trace: `if`, `item()`,
   * `numpy()`.
   */
  read?: number;
  /** Whether it was made while the program ran, and no event says of what: what it holds may depend on anything. */
  unexplained?: boolean;
  /** Where it begins in its storage, in elements, if it does not lie there from the beginning row by row. */
  offset?: number;
  /** Its strides in elements, in the same case. */
  strides?: number[];
}

/** A node of the graph. */
export interface NodeRecord {
  /** Its name, as `MulBackward0`. */
  name: string;
  /** When it was made; an `AccumulateGrad` has none, and the engine takes it before all others. */
  sequence_nr: Maybe;
  /** Where its gradients go, in the order of `inputs`; null is PyTorch's `(None, 0)`. */
  next: ([node: number, output_nr: number] | null)[];
  /** The operands of its op; null is an operand that is no tensor. */
  inputs: Maybe[];
  /** The results of its op. */
  outputs: number[];
  /** What it has saved for its derivative. */
  saved: [name: string, tensor: Maybe, value: Maybe][];
  /** Of an `AccumulateGrad`, its leaf. */
  variable?: number;
  /** For each input the expression of its gradient, null where none goes there. */
  derivatives?: Maybe[];
  /**
   * How long its op took, and its derivative in all passes, in seconds; null is unknown. Only a recording with
   * `times=True` has it.
   */
  seconds?: [forward: Maybe, backward: Maybe];
  /**
   * What `derivatives` name and what is no tensor of the op, such as the positions of maxima, in operands of the
   * op: `inputs[0]`, ….
   */
  parameters?: [name: string, expression: number][];
  /** The innermost call of a module that ran when the recorder first saw it. */
  scope?: number;
  /** The file of the user's line that made it. */
  file?: Maybe;
  /** The number of that line, from 1. */
  line?: Maybe;
}

/** One call of a module. A module that is called twice has two, and a parent stands before what is inside of it. */
export interface Scope {
  /** Its path as an attribute of the module that called it; the variable that holds it, where none did. */
  name: string | null;
  /** Its class. */
  module: string;
  /** The call that it is inside of. */
  parent: Maybe;
}

/**
 * Which tensors the names of a function hold from a step on. They are looked at when an op runs and the function
 * has come to another line.
 */
export interface Binding {
  /** The event that comes next. */
  step: number;
  /** The number of the call of the function, or of the program outside of functions. */
  call: number;
  /** Where its text stands. */
  file: number;
  /** The line that it has come to, from 1; null is its end. */
  line: Maybe;
  /** What is new since it was looked at before; null is a name that holds no tensor now. */
  names: [name: string, tensor: Maybe][];
}

/** What every event can have besides its `kind`. */
export interface Common {
  /** The file of the user's line that runs; it comes with `line`. */
  file?: number;
  /** The number of that line, from 1. */
  line?: number;
  /** How many backward passes and recomputations it is inside of, if any. */
  depth?: number;
  /**
   * When it happened, in seconds since the recording began. Only events of a backward pass and of several ranks
   * have it, in a recording with `times=True`.
   */
  time?: number;
  /** The bytes that are held, where they differ from the event before. */
  bytes?: [parameters: number, activations: number, saved: number, gradients: number];
  /** Who has begun to hold a storage. */
  held?: [storage: number, what: number, id: Maybe][];
  /** Who has ceased to. */
  dropped?: [storage: number, what: number, id: Maybe][];
}

/** An op ran. */
export interface ForwardEvent {
  kind: "forward";
  /** Its name, as its function has it. */
  op: string;
  /** The node that it made; null if it was not recorded. */
  node: Maybe;
  /** Its operands; null is one that is no tensor. */
  inputs: Maybe[];
  /** Its results. */
  outputs: number[];
  /**
   * For each result its arithmetic, with the operands `inputs[0]`, `inputs[1]`, …; of an op in place that of what
   * it wrote to its first operand.
   */
  expressions?: number[];
  /** Tensors that are no operands, which the expressions call `reads[0]`, `reads[1]`, …. */
  reads?: number[];
  /** The module that it ran in, where there is no node to say it. */
  scope?: number;
  /** What operands hold that were given other memory since they were seen last, as `w.data = …` does. */
  found?: [tensor: number, value: number][];
  /**
   * Which tensors an op in place gave another node: what was written to, or its base, whose new node is a
   * `CopySlices`, and the view, which is an `AsStridedBackward0` of the base from then on; another view of the
   * base gets its own at the op that uses it next.
   */
  rebased?: [tensor: number, before: Maybe, after: number][];
}

/** A node saved its tensors. */
export interface SaveEvent {
  kind: "save";
  /** Which one; its record says what. */
  node: number;
}

/** An op in place raised a tensor's version. */
export interface VersionEvent {
  kind: "version";
  /** Which one. */
  tensor: number;
  /** Its version now. */
  version: number;
  /** What it holds now, while its record has what it held when it was first seen; older traces have none. */
  value?: Maybe;
  /** What other tensors that share its memory hold now. */
  others?: [tensor: number, value: number][];
}

/** The program took a tensor's `.grad` off (`zero_grad()`), set it, or changed it in place. */
export interface GradEvent {
  kind: "grad";
  /** Whose. */
  tensor: number;
  /** What is there now. */
  grad: Maybe;
}

/** The user's code switched a grad mode, or `Function.apply` did around `forward`. */
export interface ModeEvent {
  kind: "mode";
  /** `grad` or `inference`. */
  mode: string;
  /** Whether it is on now. */
  on: boolean;
}

/** A checkpointed function begins its first run. */
export interface CheckpointBeginEvent {
  kind: "checkpoint_begin";
  /** The number of the call, from 0. */
  call: number;
  /** The function's name. */
  name: string;
  /** Which of the two ways to checkpoint it is. */
  reentrant: boolean;
}

/** The first run of a checkpointed function is over. */
export interface CheckpointEndEvent {
  kind: "checkpoint_end";
  /** Of which call. */
  call: number;
}

/** A pass begins: the engine counted how many gradients each node will receive. */
export interface BackwardStartEvent {
  kind: "backward_start";
  /** Where it begins, and with which gradients. */
  roots: [node: number, output_nr: number, value: Maybe][];
  /** How many gradients each node waits for. */
  needs: [node: number, count: number][];
  /** Whether the pass is recorded itself. */
  create_graph: boolean;
  /** Whether nodes keep what they have saved. */
  retain_graph: boolean;
  /** The inputs that were given, if any were; those that are edges are left out. */
  inputs: number[] | null;
}

/** The last gradient of a node arrived: it joins the ready queue. */
export interface ReadyEvent {
  kind: "ready";
  /** Which one. */
  node: number;
}

/** The engine took a node from the queue. */
export interface RunEvent {
  kind: "run";
  /** Which one. */
  node: number;
  /** Its gradients, one for each output of its op. */
  gradient: Maybe[];
}

/** A hook ran. */
export interface HookEvent {
  kind: "hook";
  /** At which node. */
  node: number;
  /** `tensor`, `retain_grad`, `pre`, `post` or `post_accumulate`. */
  hook: string;
  /** The name of the user's function. */
  name: string;
  /** The gradients that it left. */
  gradient: Maybe[];
  /** Of `retain_grad` and `post_accumulate`, whose hook it is. */
  tensor: Maybe;
  /** Of `retain_grad`, the tensor's `.grad` now. */
  grad?: Maybe;
}

/** A node let go of what it had saved. */
export interface ReleaseEvent {
  kind: "release";
  /** Which one. */
  node: number;
}

/** A gradient goes along an edge of the graph. */
export interface FlowEvent {
  kind: "flow";
  /** Where it comes from. */
  node: number;
  /** Which entry of `next` the edge is, and so the gradient of which input. */
  index: number;
  /** Where it goes to. */
  to: number;
  /** To which output of that. */
  output_nr: number;
  /** What goes along. */
  gradient: Maybe;
  /** What has piled up at `to` for that output, this one included. */
  sum: Maybe;
}

/** An `AccumulateGrad` added a gradient to its leaf's `.grad`. */
export interface AccumulateEvent {
  kind: "accumulate";
  /** Which one. */
  node: number;
  /** The leaf. */
  tensor: number;
  /** What it added. */
  gradient: Maybe;
  /** What is there now. */
  grad: Maybe;
}

/** `autograd.grad` kept the gradient of one of its inputs. */
export interface CaptureEvent {
  kind: "capture";
  /** Of which one. */
  tensor: number;
  /** The gradient. */
  gradient: Maybe;
}

/** The pass is over. */
export interface BackwardEndEvent {
  kind: "backward_end";
}

/** Somebody called a node by hand. */
export interface CallEvent {
  kind: "call";
  /** Which one. */
  node: number;
  /** What it was given. */
  gradient: Maybe[];
  /** What came out. */
  result: Maybe[];
}

/** The pass or the block ended in an exception. */
export interface ErrorEvent {
  kind: "error";
  /** Its class. */
  type: string;
  /** Its text. */
  message: string;
}

/** A checkpointed function runs again; what it does is deeper. */
export interface RecomputeBeginEvent {
  kind: "recompute_begin";
  /** Of which call. */
  call: number;
}

/** A tensor that a non-reentrant checkpoint had not kept is there again. */
export interface HolderFilledEvent {
  kind: "holder_filled";
  /** Of which call. */
  call: number;
  /** As which of its saved tensors. */
  index: number;
  /** What it holds. */
  value: Maybe;
}

/** All that is needed is there: the rest of the function is left out. */
export interface EarlyStopEvent {
  kind: "early_stop";
  /** Of which call. */
  call: number;
}

/** Such a run is over, by its end, an early stop or an error. */
export interface RecomputeEndEvent {
  kind: "recompute_end";
  /** Of which call. */
  call: number;
}

/** This rank has called an operation of several ranks. */
export interface CollectiveStartEvent {
  kind: "collective_start";
  /** The number of the call, from 0. */
  call: number;
  /** The operation, with dtype and shape. */
  op: string;
  /** What it is for, or an empty text. */
  label: string;
  /** The bytes of the tensor that it was given. */
  size: number;
  /** The ranks that take part, where these are not all. */
  group?: number[];
  /** The number of the bucket of `DistributedDataParallel` that it sums. */
  bucket?: number;
  /** The parameters whose gradients are in it. */
  parameters?: string[];
}

/** This rank begins to wait for the end of such an operation. */
export interface CollectiveWaitEvent {
  kind: "collective_wait";
  /** Of which call. */
  call: number;
}

/** Such an operation is over, and this rank knows it. */
export interface CollectiveEndEvent {
  kind: "collective_end";
  /** Of which call. */
  call: number;
  /** When this rank called it, when all ranks had, and when it was over, as `time`; null is unknown. */
  times?: [called: number, begun: Maybe, ended: number];
  /** What tensors hold now that lie where it may have written. */
  written?: [tensor: number, value: number][];
  /** Whose `.grad` lies there, and what that holds now. */
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
  tensors: "name=str? shape=[int] dtype=str requires_grad=bool is_leaf=bool node=node? output_nr=nr parameter=bool storage=int bytes=int value=value base?=tensor counter?=tensor version?=int read?=int unexplained?=bool offset?=whole strides?=[whole]",
  nodes: "name=str sequence_nr=whole? next=[(node,output_nr:nr)?] inputs=[tensor?] outputs=[tensor] saved=[(name:str,tensor?,value?)] variable?=tensor derivatives?=[expression?] seconds?=(forward:number?,backward:number?) parameters?=[(name:str,expression)] scope?=scope file?=file? line?=int?",
  scopes: "name=str? module=str parent=scope?",
  bindings: "step=int call=int file=file line=int? names=[(name:str,tensor?)]",
  common: "file?=file line?=int depth?=nr time?=number bytes?=(parameters:int,activations:int,saved:int,gradients:int) held?=[(storage,what:nr,id:int?)] dropped?=[(storage,what:nr,id:int?)]",
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
  error: "type=str message=str",
  recompute_begin: "call=int",
  holder_filled: "call=int index=int value=value?",
  early_stop: "call=int",
  recompute_end: "call=int",
  collective_start: "call=int op=str label=str size=int group?=[int] bucket?=int parameters?=[str]",
  collective_wait: "call=int",
  collective_end: "call=int times?=(called:number,begun:number?,ended:number) written?=[(tensor,value)] grads?=[(tensor,value)]",
};
