/** The interface of every lens: positions to step through, and what each pane shows there. */
import type { NodeLook, Scene } from "../graph/look";
import type { Received } from "../trace/received";
import type { Maybe } from "../trace/types";

/** What a lens knows at this moment; the pane itself has no state of the program. */
export interface Moment {
  pending: (node: number) => readonly (Maybe | undefined)[];
  /** The meaning of null among the pending gradients. */
  unknown: string;
  edge: (key: string) => Maybe | undefined;
  grad: (tensor: number) => Maybe | undefined;
  version: (tensor: number) => number;
  /** The node that an in-place op gave a tensor. */
  nodeOf?: (tensor: number) => Maybe | undefined;
  value: (tensor: number) => Maybe;
  /** The subject of an event that names no node. */
  tensors: readonly number[];
  /** At the end of a pass, and of the program: what each leaf, or each requested tensor, has received. */
  got?: { title: string; of: readonly (readonly [tensor: number, gradient: Maybe])[] };
  saved: (node: number) => string;
  look: (node: number) => NodeLook;
  /** The input of a node's derivative, where it differs from the events. */
  received?: (node: number) => Received | null;
  /** Whether a question is open, whose answer must not be revealed. */
  asking?: boolean;
  /** The step of the trace; null if time does not follow its events. */
  now: Maybe;
}

export interface Changed {
  nodes: Iterable<number> | null;
  edges: Iterable<string> | null;
}

export interface Lens {
  readonly name: string;
  position: number;
  readonly last: number;
  /** Goes to a position and returns what changed; null means "everything". */
  goTo(position: number): Changed;
  scene(selected: Maybe): Scene;
  moment: Moment;
  ready: number[];
  /** The step in plain words. */
  text: string;
  counter: string;
  /** The gradient of this step: the id of its value. */
  gradient: Maybe;
  /** The event of the trace that is shown. */
  step: number;
  lit: Maybe;
  /** The node that the step is about, even if none is lit: it must be in view. */
  focus: Maybe;
}
