/**
 * The traversal lens: the student calls nodes by hand. A pure fold over the list of calls, from the recorded flows of
 * the first backward pass. docs/trace.md ("Lenses") defines its results; `Trace.traverse` in Python returns the same.
 */
import { push } from "./lists";
import { PythonWriter } from "./python";
import type { BackwardStartEvent, FlowEvent, Maybe, Trace } from "./types";

export interface Pile {
  arrived: number;
  of: number;
  gradient: Maybe;
}

export interface Traversal {
  calls: number[];
  pending: Record<string, Pile>;
  grads: Record<string, Maybe>;
  early: number[];
  python: string[];
}

/** The same, with what the panes draw. */
export interface State extends Traversal {
  /** Gradients that flowed along edges: null where the value is an unknown partial sum. */
  edges: Map<string, Maybe>;
  /** The edges of the last call. */
  now: Set<string>;
  /** The pending sums, output by output: undefined if nothing arrived, null if the sum is unknown. */
  piled: Map<number, (Maybe | undefined)[]>;
  /** The gradients of each call, in the same form. */
  given: (Maybe | undefined)[][];
  /** The gradients present when the last call came too early; else null. */
  lastEarly: Pile | null;
}

/** What the first pass of a trace shows about its graph. */
interface Pass {
  start: BackwardStartEvent;
  needs: Map<number, number>;
  leaving: Map<number, FlowEvent[]>;
  arriving: Map<number, FlowEvent[]>;
  grads: Map<number, Maybe>;
  /** The number of gradients that each node receives. */
  inputs: Map<number, number>;
}

interface Arrival {
  flow: FlowEvent | null;
  gradient: Maybe;
  output_nr: number;
  expression: string;
}

/** Reads the first pass of a trace; null if there is none. */
function firstPass(trace: Trace): Pass | null {
  const at = trace.events.findIndex((event) => event.kind === "backward_start");
  const start = trace.events[at];
  if (start?.kind !== "backward_start") return null;
  const maps = { leaving: new Map<number, FlowEvent[]>(), arriving: new Map<number, FlowEvent[]>() };
  const pass: Pass = { start, needs: new Map(start.needs), ...maps, grads: new Map(), inputs: new Map() };
  for (const event of trace.events.slice(at + 1)) {
    if ((event.depth ?? 0) !== (start.depth ?? 0)) continue;
    if (event.kind === "backward_end" || event.kind === "backward_start") break;
    if (event.kind === "flow") {
      push(pass.leaving, event.node, event);
      push(pass.arriving, event.to, event);
    } else if (event.kind === "accumulate") pass.grads.set(event.node, event.grad);
    else if (event.kind === "run") pass.inputs.set(event.node, event.gradient.length);
  }
  return pass;
}

/** Plays lists of calls on the first pass of a trace. */
export class Walk {
  private readonly pass: Pass | null;

  constructor(private readonly trace: Trace) {
    this.pass = firstPass(trace);
  }

  get possible(): boolean {
    return this.pass !== null;
  }

  play(calls: readonly number[]): State {
    const game = new Game(this.trace, this.pass);
    for (const node of calls) game.call(node);
    return game.state();
  }
}

class Game {
  private readonly calls: number[] = [];
  private readonly early: number[] = [];
  private readonly given: (Maybe | undefined)[][] = [];
  private readonly grads: Record<string, Maybe> = {};
  private readonly edges = new Map<string, Maybe>();
  private readonly arrived = new Map<number, Arrival[]>();
  private readonly roots = new Map<number, number>();
  /** Nodes that have received all their gradients and passed them on. */
  private readonly finished = new Set<number>();
  private readonly python: PythonWriter;
  private now = new Set<string>();
  private lastEarly: Pile | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly pass: Pass | null,
  ) {
    this.python = new PythonWriter(trace);
    for (const [node, output_nr, gradient] of pass?.start.roots ?? []) {
      const expression = this.python.root(node, output_nr, gradient);
      push(this.arrived, node, { flow: null, gradient, output_nr, expression });
      this.roots.set(node, (this.roots.get(node) ?? 0) + 1);
    }
  }

  state(): State {
    const { calls, early, given, grads, edges, now, lastEarly } = this;
    const pending = Object.fromEntries([...this.arrived].map(([node, here]) => [node, this.pile(node, here)]));
    const piled = new Map([...this.arrived].map(([node, here]) => [node, this.outputs(node, here)]));
    return { piled, calls, early, given, grads, edges, now, lastEarly, pending, python: this.python.lines };
  }

  /** Calls a node with its pending gradients; nothing happens if it has none. */
  call(node: number): void {
    const here = this.arrived.get(node);
    if (!here) return;
    this.arrived.delete(node);
    const pile = this.pile(node, here);
    const early = pile.arrived < pile.of;
    const known = !early && !this.calls.includes(node) && pile.gradient !== null;
    if (early && !this.early.includes(node)) this.early.push(node);
    this.lastEarly = early ? pile : null;
    this.calls.push(node);
    this.given.push(this.outputs(node, here));
    this.passOn(node, here, known);
    const leaf = this.trace.nodes[node]?.variable;
    if (leaf !== undefined) this.grads[leaf] = null;
    this.finish(node);
  }

  /**
   * Notes that nothing more will come through a node, nor through those that it was the last to feed. A backward pass
   * is linear in its gradients: what passed through a node in parts adds up to what the engine passes on at once.
   */
  private finish(start: number): void {
    const left = [start];
    for (let node = left.pop(); node !== undefined; node = left.pop()) {
      if (this.finished.has(node) || this.arrived.has(node) || !this.calls.includes(node) || !this.complete(node)) continue;
      this.finished.add(node);
      const leaf = this.trace.nodes[node]?.variable;
      if (leaf !== undefined) this.grads[leaf] = this.pass?.grads.get(node) ?? null;
      if (this.early.includes(node)) this.early.splice(this.early.indexOf(node), 1);
      for (const flow of this.pass?.leaving.get(node) ?? []) left.push(flow.to);
    }
  }

  /** The number of gradients that have reached a node in full, and how many it will receive. */
  private arrivals(node: number): [arrived: number, of: number] {
    const roots = this.roots.get(node) ?? 0;
    const finished = (this.pass?.arriving.get(node) ?? []).filter((flow) => this.finished.has(flow.node));
    return [finished.length + roots, Math.max(1, this.pass?.needs.get(node) ?? 1)];
  }

  /** Whether nothing more will come to a node. */
  private complete(node: number): boolean {
    const [arrived, of] = this.arrivals(node);
    return arrived >= of;
  }

  private passOn(node: number, here: readonly Arrival[], known: boolean): void {
    const record = this.trace.nodes[node];
    const takes = this.pass?.inputs.get(node) ?? Math.max(1, record?.outputs.length ?? 0);
    const result = this.python.call(node, this.calls.length, takes, here);
    this.now = new Set();
    for (const flow of this.pass?.leaving.get(node) ?? []) {
      const expression = (record?.next.length ?? 0) > 1 ? `${result}[${flow.index}]` : result;
      const gradient = known ? flow.gradient : null;
      this.python.reach(flow.to, node, flow.index);
      this.edges.set(`${node}:${flow.index}`, gradient);
      this.now.add(`${node}:${flow.index}`);
      const written = flow.gradient === null ? "" : expression;
      push(this.arrived, flow.to, { flow, gradient, output_nr: flow.output_nr, expression: written });
    }
  }

  private pile(node: number, here: readonly Arrival[]): Pile {
    const [arrived, of] = this.arrivals(node);
    return { arrived, of, gradient: this.sum(node, here) };
  }

  /** The pending gradient of a node for each of its outputs. */
  private outputs(node: number, here: readonly Arrival[]): (Maybe | undefined)[] {
    const count = Math.max(1, ...here.map((arrival) => arrival.output_nr + 1));
    return Array.from({ length: count }, (_, output) => {
      const mine = here.filter((arrival) => arrival.output_nr === output);
      if (mine.length === 0) return undefined;
      if (mine.length === here.length) return this.sum(node, here);
      return mine.length === 1 ? mine[0]?.gradient : this.shared(node, output, mine);
    });
  }

  /** Several gradients for one of several outputs: known once all of them have arrived. */
  private shared(node: number, output: number, mine: readonly Arrival[]): Maybe {
    const recorded = (this.pass?.arriving.get(node) ?? []).filter((flow) => flow.output_nr === output);
    if (this.whole(node)) return recorded.at(-1)?.sum ?? null;
    const known = mine.length === recorded.length && mine.every((arrival) => arrival.flow && arrival.gradient !== null);
    return known ? (recorded.at(-1)?.sum ?? null) : null;
  }

  /** Whether all gradients along edges to a node are pending there. */
  private whole(node: number): boolean {
    return this.pass?.arriving.get(node) !== undefined && !this.calls.includes(node) && this.complete(node);
  }

  /** The value of a node's pending gradient, if the trace has this very sum; else null. */
  private sum(node: number, here: readonly Arrival[]): Maybe {
    const recorded = this.pass?.arriving.get(node) ?? [];
    if (this.whole(node)) return recorded.at(-1)?.sum ?? null;
    if (here.some((arrival) => arrival.gradient === null)) return null;
    if (here.length === 1) return here[0]?.gradient ?? null;
    const flows = here.map((arrival) => arrival.flow).filter((flow) => flow !== null);
    if (flows.length === 0 || here.length - flows.length !== (this.roots.get(node) ?? 0)) return null;
    return flows.every((flow, at) => flow === recorded[at]) ? (recorded[flows.length - 1]?.sum ?? null) : null;
  }
}
