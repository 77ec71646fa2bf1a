/** The records and events of a trace, made of minigrad/trace/schema.py by `python -m tests.trace_page`. */

export const FORMAT = "minigrad-trace";
export const VERSION = 1;
export type Maybe = number | null;

/** A tensor as it was when the recorder first saw it. */
export interface TensorRecord {
  /** The variable that holds it; for a parameter, its path from its module. */
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
  /** The index of this output of its `grad_fn`. */
  output_nr: number;
  /** Whether it is a parameter of a module. */
  parameter: boolean;
  /** Its memory, an index into `storages` if there are any; tensors with equal `storage` share it. */
  storage: number;
  /** The bytes of its elements. */
  bytes: number;
  /** Its values at that time. */
  value: number;
  /** For a view, its base. */
  base?: number;
  /** Another tensor with the same version counter that is not its base, as after `detach()`. */
  counter?: number;
  /** Its version, if not 0. */
  version?: number;
  /**
   * The step after which the program first read its numbers by something other than an op: `if`, `item()`,
   * `numpy()`.
   */
  read?: number;
  /** Whether it was created while the program ran by no recorded event: its values may depend on anything. */
  unexplained?: boolean;
  /** Its offset in its storage, in elements, unless it is contiguous from the start. */
  offset?: number;
  /** Its strides in elements, in the same case. */
  strides?: number[];
}

/** A node of the graph. */
export interface NodeRecord {
  /** Its name, e.g. `MulBackward0`. */
  name: string;
  /** Its place in the order of creation; an `AccumulateGrad` has none, and the engine runs it first. */
  sequence_nr: Maybe;
  /** Where its gradients go, in the order of `inputs`; null is PyTorch's `(None, 0)`. */
  next: ([node: number, output_nr: number] | null)[];
  /** The operands of its op; null is an operand that is not a tensor. */
  inputs: Maybe[];
  /** The results of its op. */
  outputs: number[];
  /** The values that it saved for its derivative. */
  saved: [name: string, tensor: Maybe, value: Maybe][];
  /** For an `AccumulateGrad`, its leaf. */
  variable?: number;
  /** For each input the expression of its gradient, null if it gets none. */
  derivatives?: Maybe[];
  /**
   * The time of its op, and of its derivative in all passes, in seconds; null is unknown. Only in a recording with
   * `times=True`.
   */
  seconds?: [forward: Maybe, backward: Maybe];
  /**
   * Names in `derivatives` that are not tensors of the op, such as the indices of maxima, as expressions of its
   * operands: `inputs[0]`, ….
   */
  parameters?: [name: string, expression: number][];
  /** The innermost call of a module that was running when the recorder first saw it. */
  scope?: number;
  /** The file of the user's line that created it. */
  file?: Maybe;
  /** The number of that line, from 1. */
  line?: Maybe;
}

/**
 * One call of a module. A module that is called twice has two records, and a parent precedes the calls inside
 * it.
 */
export interface Scope {
  /** Its path as an attribute of the module that called it; without a caller, the variable that holds it. */
  name: string | null;
  /** Its class. */
  module: string;
  /** The enclosing call. */
  parent: Maybe;
}

/**
 * The tensors that the variables of a function hold from a step on. They are read when an op runs and the
 * function has reached another line.
 */
export interface Binding {
  /** The next event. */
  step: number;
  /** The number of the call of the function, or of the program outside functions. */
  call: number;
  /** The file with its source. */
  file: number;
  /** The line that it has reached, from 1; null is its end. */
  line: Maybe;
  /** The changes since the last reading; null is a variable that no longer holds a tensor. */
  names: [name: string, tensor: Maybe][];
}

/** Fields that every event can have besides its `kind`. */
export interface Common {
  /** The file of the user's line that is running; together with `line`. */
  file?: number;
  /** The number of that line, from 1. */
  line?: number;
  /** The number of backward passes and recomputations around it, if any. */
  depth?: number;
  /**
   * Its time, in seconds since the recording began. Only events of a backward pass and of several ranks have it,
   * in a recording with `times=True`.
   */
  time?: number;
  /** The bytes that are held, if they differ from the previous event. */
  bytes?: [parameters: number, activations: number, saved: number, gradients: number];
  /** The new holders of storages. */
  held?: [storage: number, what: number, id: Maybe][];
  /** The former holders of storages. */
  dropped?: [storage: number, what: number, id: Maybe][];
}

/** An op ran. */
export interface ForwardEvent {
  kind: "forward";
  /** The name of its function. */
  op: string;
  /** The node that it created; null if it was not recorded. */
  node: Maybe;
  /** Its operands; null is one that is not a tensor. */
  inputs: Maybe[];
  /** Its results. */
  outputs: number[];
  /**
   * For each result its arithmetic, with the operands `inputs[0]`, `inputs[1]`, …; for an in-place op, that of the
   * new values of its first operand.
   */
  expressions?: number[];
  /** Tensors other than operands that the expressions call `reads[0]`, `reads[1]`, …. */
  reads?: number[];
  /** The call of a module that it ran in, if it has no node with a scope. */
  scope?: number;
  /** The values of operands that have received other memory since they were last seen, e.g. by `w.data = …`. */
  found?: [tensor: number, value: number][];
  /**
   * The tensors to which an in-place op gave another node: the one written to, or its base, whose new node is a
   * `CopySlices`, and the view, whose new node is an `AsStridedBackward0` of the base; another view of the base
   * gets its own at the op that uses it next.
   */
  rebased?: [tensor: number, before: Maybe, after: number][];
}

/** A node saved its tensors. */
export interface SaveEvent {
  kind: "save";
  /** Which one; its record has the saved values. */
  node: number;
}

/** An in-place op raised a tensor's version. */
export interface VersionEvent {
  kind: "version";
  /** Which one. */
  tensor: number;
  /** Its version now. */
  version: number;
  /** Its values now, whereas its record has those when it was first seen; older traces lack it. */
  value?: Maybe;
  /** The values now of other tensors that share its memory. */
  others?: [tensor: number, value: number][];
}

/** The program removed a tensor's `.grad` (`zero_grad()`), set it, or changed it in place. */
export interface GradEvent {
  kind: "grad";
  /** Whose. */
  tensor: number;
  /** Its new values. */
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

/** The first run of a checkpointed function begins. */
export interface CheckpointBeginEvent {
  kind: "checkpoint_begin";
  /** The number of the call, from 0. */
  call: number;
  /** The function's name. */
  name: string;
  /** Whether it is the reentrant variant. */
  reentrant: boolean;
}

/** The first run of a checkpointed function ends. */
export interface CheckpointEndEvent {
  kind: "checkpoint_end";
  /** Of which call. */
  call: number;
}

/** A pass begins: the engine counted how many gradients each node will receive. */
export interface BackwardStartEvent {
  kind: "backward_start";
  /** The nodes where it begins, and their gradients. */
  roots: [node: number, output_nr: number, value: Maybe][];
  /** How many gradients each node waits for. */
  needs: [node: number, count: number][];
  /** Whether the pass is recorded itself. */
  create_graph: boolean;
  /** Whether nodes keep their saved values. */
  retain_graph: boolean;
  /** The inputs given, if any; those that are edges are omitted. */
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
  /** The node at which it ran. */
  node: number;
  /** `tensor`, `retain_grad`, `pre`, `post` or `post_accumulate`. */
  hook: string;
  /** The name of the user's function. */
  name: string;
  /** The gradients after it. */
  gradient: Maybe[];
  /** For `retain_grad` and `post_accumulate`, the tensor of the hook. */
  tensor: Maybe;
  /** For `retain_grad`, the tensor's `.grad` now. */
  grad?: Maybe;
}

/** A node freed its saved values. */
export interface ReleaseEvent {
  kind: "release";
  /** Which one. */
  node: number;
}

/** A gradient flows along an edge of the graph. */
export interface FlowEvent {
  kind: "flow";
  /** Its source. */
  node: number;
  /** The index of the edge in `next`, which is that of the input with this gradient. */
  index: number;
  /** Its destination. */
  to: number;
  /** The output of `to`. */
  output_nr: number;
  /** The gradient. */
  gradient: Maybe;
  /** The sum so far at `to` for that output, including this one. */
  sum: Maybe;
}

/** An `AccumulateGrad` added a gradient to its leaf's `.grad`. */
export interface AccumulateEvent {
  kind: "accumulate";
  /** Which one. */
  node: number;
  /** The leaf. */
  tensor: number;
  /** The gradient that it added. */
  gradient: Maybe;
  /** The sum. */
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

/** The pass ends. */
export interface BackwardEndEvent {
  kind: "backward_end";
}

/** The program called a node directly. */
export interface CallEvent {
  kind: "call";
  /** Which one. */
  node: number;
  /** Its arguments. */
  gradient: Maybe[];
  /** Its results. */
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

/** A checkpointed function runs again; its events have a greater `depth`. */
export interface RecomputeBeginEvent {
  kind: "recompute_begin";
  /** Of which call. */
  call: number;
}

/** A tensor that a non-reentrant checkpoint had not kept is available again. */
export interface HolderFilledEvent {
  kind: "holder_filled";
  /** Of which call. */
  call: number;
  /** Its index among the saved tensors. */
  index: number;
  /** Its values. */
  value: Maybe;
}

/** All needed tensors are available: the rest of the function is skipped. */
export interface EarlyStopEvent {
  kind: "early_stop";
  /** Of which call. */
  call: number;
}

/** The recomputation ends, normally, by an early stop or by an error. */
export interface RecomputeEndEvent {
  kind: "recompute_end";
  /** Of which call. */
  call: number;
}

/** This rank called a collective operation. */
export interface CollectiveStartEvent {
  kind: "collective_start";
  /** The number of the call, from 0. */
  call: number;
  /** The operation, with dtype and shape. */
  op: string;
  /** Its purpose, or an empty string. */
  label: string;
  /** The size of its tensor in bytes. */
  size: number;
  /** The participating ranks, if not all. */
  group?: number[];
  /** The number of the bucket of `DistributedDataParallel` that it sums. */
  bucket?: number;
  /** The parameters whose gradients are in it. */
  parameters?: string[];
}

/** This rank begins to wait for the end of the operation. */
export interface CollectiveWaitEvent {
  kind: "collective_wait";
  /** Of which call. */
  call: number;
}

/** The operation has ended, and this rank knows it. */
export interface CollectiveEndEvent {
  kind: "collective_end";
  /** Of which call. */
  call: number;
  /** When this rank called it, when all ranks had, and when it ended, as `time`; null is unknown. */
  times?: [called: number, begun: Maybe, ended: number];
  /** The values now of tensors in memory that it may have written. */
  written?: [tensor: number, value: number][];
  /** The values now of `.grad`s in that memory, by their tensors. */
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
