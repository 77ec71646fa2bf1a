/** The interface of every lens: positions to step through, and what each pane shows there. */
import type { Moment } from "./details";
import type { Scene } from "../graph/look";
import type { Maybe } from "../trace/types";

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
