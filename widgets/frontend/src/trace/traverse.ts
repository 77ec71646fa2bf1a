/**
 * The traversal lens: the student calls nodes by hand. A pure fold over the list of calls, from the recorded flows of
 * the first backward pass. docs/trace.md ("Lenses") defines its results; `Trace.traverse` in Python returns the same.
 */
import { push } from "./lists";
import type { BackwardStartEvent, FlowEvent, Maybe, Trace, Scalar, Value } from "./types";

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
  readonly #pass: Pass | null;

  constructor(private readonly trace: Trace) {
    this.#pass = firstPass(trace);
  }

  get possible(): boolean {
    return this.#pass !== null;
  }

  play(calls: readonly number[]): State {
    const game = new Game(this.trace, this.#pass);
    for (const node of calls) game.call(node);
    return game.state();
  }
}

class Game {
  readonly #calls: number[] = [];
  readonly #early: number[] = [];
  readonly #given: (Maybe | undefined)[][] = [];
  readonly #grads: Record<string, Maybe> = {};
  readonly #edges = new Map<string, Maybe>();
  readonly #arrived = new Map<number, Arrival[]>();
  readonly #roots = new Map<number, number>();
  /** Nodes that have received all their gradients and passed them on. */
  readonly #finished = new Set<number>();
  readonly #python: PythonWriter;
  #now = new Set<string>();
  #lastEarly: Pile | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly pass: Pass | null,
  ) {
    this.#python = new PythonWriter(trace);
    for (const [node, output_nr, gradient] of pass?.start.roots ?? []) {
      const expression = this.#python.root(node, output_nr, gradient);
      push(this.#arrived, node, { flow: null, gradient, output_nr, expression });
      this.#roots.set(node, (this.#roots.get(node) ?? 0) + 1);
    }
  }

  state(): State {
    const pending = Object.fromEntries([...this.#arrived].map(([node, here]) => [node, this.#pile(node, here)]));
    const piled = new Map([...this.#arrived].map(([node, here]) => [node, this.#outputs(node, here)]));
    return {
      piled, pending, calls: this.#calls, early: this.#early, given: this.#given, grads: this.#grads, edges: this.#edges,
      now: this.#now, lastEarly: this.#lastEarly, python: this.#python.lines,
    };
  }

  /** Calls a node with its pending gradients; nothing happens if it has none. */
  call(node: number): void {
    const here = this.#arrived.get(node);
    if (!here) return;
    this.#arrived.delete(node);
    const pile = this.#pile(node, here);
    const early = pile.arrived < pile.of;
    const known = !early && !this.#calls.includes(node) && pile.gradient !== null;
    if (early && !this.#early.includes(node)) this.#early.push(node);
    this.#lastEarly = early ? pile : null;
    this.#calls.push(node);
    this.#given.push(this.#outputs(node, here));
    this.#passOn(node, here, known);
    const leaf = this.trace.nodes[node]?.variable;
    if (leaf !== undefined) this.#grads[leaf] = null;
    this.#finish(node);
  }

  /**
   * Notes that nothing more will come through a node, nor through those that it was the last to feed. A backward pass
   * is linear in its gradients: what passed through a node in parts adds up to what the engine passes on at once.
   */
  #finish(start: number): void {
    const left = [start];
    for (let node = left.pop(); node !== undefined; node = left.pop()) {
      if (this.#finished.has(node) || this.#arrived.has(node) || !this.#calls.includes(node) || !this.#complete(node)) continue;
      this.#finished.add(node);
      const leaf = this.trace.nodes[node]?.variable;
      if (leaf !== undefined) this.#grads[leaf] = this.pass?.grads.get(node) ?? null;
      if (this.#early.includes(node)) this.#early.splice(this.#early.indexOf(node), 1);
      for (const flow of this.pass?.leaving.get(node) ?? []) left.push(flow.to);
    }
  }

  /** The number of gradients that have reached a node in full, and how many it will receive. */
  #arrivals(node: number): [arrived: number, of: number] {
    const roots = this.#roots.get(node) ?? 0;
    const finished = (this.pass?.arriving.get(node) ?? []).filter((flow) => this.#finished.has(flow.node));
    return [finished.length + roots, Math.max(1, this.pass?.needs.get(node) ?? 1)];
  }

  /** Whether nothing more will come to a node. */
  #complete(node: number): boolean {
    const [arrived, of] = this.#arrivals(node);
    return arrived >= of;
  }

  #passOn(node: number, here: readonly Arrival[], known: boolean): void {
    const record = this.trace.nodes[node];
    const takes = this.pass?.inputs.get(node) ?? Math.max(1, record?.outputs.length ?? 0);
    const result = this.#python.call(node, this.#calls.length, takes, here);
    this.#now = new Set();
    for (const flow of this.pass?.leaving.get(node) ?? []) {
      const expression = (record?.next.length ?? 0) > 1 ? `${result}[${flow.index}]` : result;
      const gradient = known ? flow.gradient : null;
      this.#python.reach(flow.to, node, flow.index);
      this.#edges.set(`${node}:${flow.index}`, gradient);
      this.#now.add(`${node}:${flow.index}`);
      const written = flow.gradient === null ? "" : expression;
      push(this.#arrived, flow.to, { flow, gradient, output_nr: flow.output_nr, expression: written });
    }
  }

  #pile(node: number, here: readonly Arrival[]): Pile {
    const [arrived, of] = this.#arrivals(node);
    return { arrived, of, gradient: this.#sum(node, here) };
  }

  /** The pending gradient of a node for each of its outputs. */
  #outputs(node: number, here: readonly Arrival[]): (Maybe | undefined)[] {
    const count = Math.max(1, ...here.map((arrival) => arrival.output_nr + 1));
    return Array.from({ length: count }, (_, output) => {
      const mine = here.filter((arrival) => arrival.output_nr === output);
      if (mine.length === 0) return undefined;
      if (mine.length === here.length) return this.#sum(node, here);
      return mine.length === 1 ? mine[0]?.gradient : this.#shared(node, output, mine);
    });
  }

  /** Several gradients for one of several outputs: known once all of them have arrived. */
  #shared(node: number, output: number, mine: readonly Arrival[]): Maybe {
    const recorded = (this.pass?.arriving.get(node) ?? []).filter((flow) => flow.output_nr === output);
    if (this.#whole(node)) return recorded.at(-1)?.sum ?? null;
    const known = mine.length === recorded.length && mine.every((arrival) => arrival.flow && arrival.gradient !== null);
    return known ? (recorded.at(-1)?.sum ?? null) : null;
  }

  /** Whether all gradients along edges to a node are pending there. */
  #whole(node: number): boolean {
    return this.pass?.arriving.get(node) !== undefined && !this.#calls.includes(node) && this.#complete(node);
  }

  /** The value of a node's pending gradient, if the trace has this very sum; else null. */
  #sum(node: number, here: readonly Arrival[]): Maybe {
    const recorded = this.pass?.arriving.get(node) ?? [];
    if (this.#whole(node)) return recorded.at(-1)?.sum ?? null;
    if (here.some((arrival) => arrival.gradient === null)) return null;
    if (here.length === 1) return here[0]?.gradient ?? null;
    const flows = here.map((arrival) => arrival.flow).filter((flow) => flow !== null);
    if (flows.length === 0 || here.length - flows.length !== (this.#roots.get(node) ?? 0)) return null;
    return flows.every((flow, at) => flow === recorded[at]) ? (recorded[flows.length - 1]?.sum ?? null) : null;
  }
}

// ---- A traversal by hand as Python source that runs when pasted: the same lines as `Trace.traverse` gives.
/** A number as Python's `repr` writes it. */
export function repr(entry: Scalar, dtype: string): string {
  if (typeof entry === "boolean") return entry ? "True" : "False";
  if (typeof entry !== "number") return `float('${String(entry)}')`;
  if (!dtype.includes("float")) return String(entry);
  const size = Math.abs(entry);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return entry.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(entry) ? `${entry}.0` : String(entry);
}

function tuple(sizes: readonly number[]): string {
  return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
}

function word(name: string): string {
  return name.replace(/[^\p{L}\p{N}_]/gu, "_");
}

/** What is needed of an arrived gradient to write it down. */
export interface Written {
  output_nr: number;
  expression: string;
}

export class PythonWriter {
  readonly lines: string[];
  readonly #names = new Map<number, string>();

  constructor(private readonly trace: Trace) {
    this.lines = [`import ${trace.library.startsWith("torch") ? "torch" : "minigrad as torch"}`];
  }

  /** The gradient that a pass starts with, and the name by which its node is reached. */
  root(node: number, output_nr: number, value: Maybe): string {
    const tensor = this.#tensor(node, output_nr);
    const leaf = this.trace.nodes[node]?.variable !== undefined;
    const way = leaf ? `${tensor}.view_as(${tensor}).grad_fn.next_functions[0][0]` : `${tensor}.grad_fn`;
    if (!this.#names.has(node)) this.#names.set(node, way);
    return this.#gradient(tensor, value);
  }

  /** The line that makes a call; gives the name of what it returns. */
  call(node: number, number: number, arguments_: number, here: readonly Written[]): string {
    const record = this.trace.nodes[node];
    if (this.#names.get(node) !== `n${node}`) {
      this.lines.push(`n${node} = ${this.#names.get(node) ?? ""}  # ${record?.name ?? ""}`);
      this.#names.set(node, `n${node}`);
    }
    const given = Array.from({ length: arguments_ }, (_, output) => {
      const parts = here.filter((each) => each.output_nr === output && each.expression !== "");
      return parts.map((each) => each.expression).join(" + ") || "None";
    });
    const result = record?.variable === undefined ? `r${number} = ` : "";
    this.lines.push(`${result}n${node}(${given.join(", ")})`);
    return `r${number}`;
  }

  /** Remembers how a node is reached from one that leads to it. */
  reach(node: number, from: number, index: number): void {
    if (!this.#names.has(node)) this.#names.set(node, `${this.#names.get(from) ?? ""}.next_functions[${index}][0]`);
  }

  #tensor(node: number, output_nr: number): string {
    const variable = this.trace.nodes[node]?.variable;
    const found: number[] = [];
    this.trace.tensors.forEach((tensor, id) => {
      if (tensor.node === node && tensor.output_nr === output_nr) found.push(id);
    });
    const candidates = variable === undefined ? found : [variable];
    const named = candidates.map((id) => this.trace.tensors[id]?.name).find((name) => name);
    if (named) return named;
    const name = `tensor_${candidates[0] ?? node}`;
    this.lines.push(`# ${name} stands for the tensor that backward() was called on: it has no name`);
    return name;
  }

  #gradient(tensor: string, id: Maybe): string {
    const value = id === null ? undefined : this.trace.values[id];
    if (!value) return "None";
    const data = value.data ?? (value.stats ? [value.stats.min, value.stats.max] : []);
    if (data.every((entry) => entry === 1 || entry === true)) return `torch.ones_like(${tensor})`;
    const same = new Set(data.map(String)).size === 1;
    if (same && typeof data[0] !== "string") return `torch.full_like(${tensor}, ${repr(data[0] ?? null, value.dtype)})`;
    return value.data ? literal(value, value.data) : this.#tooLarge(tensor);
  }

  #tooLarge(tensor: string): string {
    const name = `gradient_of_${word(tensor)}`;
    this.lines.push(`# ${name} stands for the gradient that backward() was given: it is too large to be written here`);
    return name;
  }
}

function literal(value: Value, data: readonly Scalar[]): string {
  const numbers = data.map((entry) => repr(entry, value.dtype)).join(", ");
  return `torch.tensor([${numbers}], dtype=torch.${value.dtype}).reshape(${tuple(value.shape)})`;
}
