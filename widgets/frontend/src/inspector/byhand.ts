/** The traversal lens: positions are calls; going back undoes a call, going forward repeats it. */
import type { Moment, Changed, Lens } from "./lens";
import { brief, inline, nodeName, piled, tensorName, valueOf } from "../trace/format";
import { lensSteps, Replay } from "../trace/frame";
import { STYLES, type Look, type NodeLook, type Scene } from "../graph/look";
import { Trays } from "./trays";
import type { Received } from "../trace/received";
import { Walk, type Pile, type State } from "../trace/traverse";
import type { Maybe, Trace } from "../trace/types";

const WORDS: Partial<Record<Look, string>> = { recorded: "", running: "called", done: "called" };
const EVERYTHING: Changed = { nodes: null, edges: null };

export class TraversalLens implements Lens {
  readonly name = "traversal";
  calls: number[] = [];
  position = 0;
  refusal = "";
  readonly step: number;
  readonly #walk: Walk;
  readonly #before: Replay;
  #state: State;
  readonly #trays: Trays;

  constructor(private readonly trace: Trace) {
    this.#trays = new Trays(trace);
    this.#walk = new Walk(trace);
    this.#before = new Replay(trace);
    this.step = lensSteps(trace, "backward")[0] ?? 0;
    this.#before.goTo(this.step);
    this.#state = this.#walk.play([]);
  }

  get last(): number {
    return this.calls.length;
  }

  get made(): number[] {
    return this.calls.slice(0, this.position);
  }

  get lit(): Maybe {
    return this.made.at(-1) ?? null;
  }

  get focus(): Maybe {
    return this.lit ?? this.ready[0] ?? null;
  }

  get gradient(): Maybe {
    return this.#state.given.at(-1)?.find((value) => value !== undefined) ?? null;
  }

  /** The nodes that could be called now without being too early. */
  get ready(): number[] {
    const whole = Object.entries(this.#state.pending).filter(([, pile]) => pile.arrived >= pile.of);
    return whole.map(([id]) => Number(id));
  }

  get python(): string[] {
    return this.#state.python;
  }

  get counter(): string {
    const all = this.calls.length;
    const made = all === this.position ? `${all}` : `${this.position} / ${all}`;
    return `${made} ${all === 1 ? "call" : "calls"}`;
  }

  get text(): string {
    if (this.refusal) return this.refusal;
    const last = this.lit;
    if (!this.#walk.possible) return "no backward pass was recorded: there is nothing to call";
    if (last === null) return "no call yet: click the node that you would call first";
    return `call ${this.position}: ${this.#told(last)}${this.#goal()}`;
  }

  get moment(): Moment {
    return {
      pending: (node) => this.#state.piled.get(node) ?? [],
      unknown: "a partial sum",
      edge: (key) => this.#state.edges.get(key),
      grad: (tensor) => this.#state.grads[tensor],
      version: (tensor) => this.#before.versions.get(tensor) ?? 0,
      value: (tensor) => this.#before.contents.get(tensor) ?? this.trace.tensors[tensor]?.value ?? null,
      tensors: [],
      saved: (node) => this.#before.saved.get(node) ?? "",
      look: (node) => this.#look(node),
      received: (node) => this.#received(node),
      now: null,
    };
  }

  /** What a node received in its only call, or has now; null if it was called in parts. */
  #received(node: number): Received | null {
    const calls = this.made.flatMap((called, at) => (called === node ? [at] : []));
    const pile = this.#state.pending[node];
    const whole = calls.length === 0 ? pile !== undefined && pile.arrived >= pile.of : calls.length === 1 && !this.#state.early.includes(node);
    const values = calls[0] === undefined ? (this.#state.piled.get(node) ?? []) : (this.#state.given[calls[0]] ?? []);
    if (!whole || values.includes(null)) return null;
    const gradient = values.map((value) => value ?? null);
    return { arrived: gradient, gradient, replaced: false };
  }

  goTo(position: number): Changed {
    this.refusal = "";
    this.position = Math.max(0, Math.min(position, this.calls.length));
    this.#state = this.#walk.play(this.made);
    return EVERYTHING;
  }

  /** Calls a node by hand. If no gradient has arrived there, nothing happens, and the reason is shown. */
  call(node: number): boolean {
    const pile = this.#state.pending[node];
    if (!pile) {
      const why = this.made.includes(node) ? "it has passed on what it had" : "no gradient has arrived there";
      this.refusal = `${nodeName(this.trace, node)} cannot be called now: ${why}`;
      return false;
    }
    this.calls = [...this.made, node];
    this.goTo(this.calls.length);
    return true;
  }

  /** Accepts calls from outside; a call of a node without a gradient is ignored. */
  load(calls: readonly number[]): void {
    this.calls = this.#walk.play(calls.filter((node) => this.trace.nodes[node] !== undefined)).calls;
    this.goTo(this.calls.length);
  }

  scene(selected: Maybe): Scene {
    const state = this.#state;
    return { node: (id) => this.#look(id), state: (id) => this.#look(id), edge: (key) => state.edges.get(key), lit: this.lit, selected, now: state.now };
  }

  #told(node: number): string {
    const name = nodeName(this.trace, node);
    const early = this.#state.lastEarly;
    if (early) {
      return `${name} was called too early: ${early.arrived} of ${early.of} gradients had arrived, so it passes on a partial sum, and has to be called again`;
    }
    const given = (this.#state.given.at(-1) ?? []).map((value) => this.#written(value)).join(" and ");
    const variable = this.trace.nodes[node]?.variable;
    if (variable === undefined) return `${name} received ${given} and passed it on along ${this.#state.now.size} edge${this.#state.now.size === 1 ? "" : "s"}`;
    const grad = this.#state.grads[variable] ?? null;
    const now = grad === null ? "a partial sum" : inline(valueOf(this.trace, grad));
    return `${tensorName(this.trace, variable)}.grad is now ${now}`;
  }

  #goal(): string {
    if (Object.keys(this.#state.pending).length > 0) return "";
    const inParts = new Set(this.made).size < this.made.length;
    const how = inParts ? ", some of them in parts: the sums are right, but the engine calls each node once" : ", as the engine does it";
    return `. Every gradient has arrived${how}`;
  }

  #look(id: number): NodeLook {
    const pile = this.#state.pending[id];
    const look = this.#status(id, pile);
    const word = pile && pile.of > 1 ? `${pile.arrived} of ${pile.of}` : WORDS[look] ?? STYLES[look].word;
    const saved = this.#before.saved.get(id) ?? "";
    const known = this.#before.status.has(id);
    const grad = this.#state.grads[this.trace.nodes[id]?.variable ?? -1];
    const tray = this.#trays.of(id, { grad, arrived: pile?.arrived ?? 0, of: pile?.of ?? 0 });
    return { look, known, word, badge: pile ? `Σ ${this.#amount(id)}` : "", saved, tray };
  }

  #status(id: number, pile: Pile | undefined): Look {
    if (pile) return pile.arrived >= pile.of ? "ready" : "waiting";
    if (this.#state.early.includes(id)) return "early";
    if (this.lit === id) return "running";
    if (this.made.includes(id)) return "done";
    return "recorded";
  }

  #amount(id: number): string {
    const amounts = (this.#state.piled.get(id) ?? []).map((value) => {
      if (value === undefined) return "–";
      return value === null ? "partial" : brief(valueOf(this.trace, value));
    });
    return piled(amounts);
  }

  #written(value: Maybe | undefined): string {
    if (value === undefined) return "None";
    return value === null ? "a partial sum, from a call that came too early" : inline(valueOf(this.trace, value));
  }
}
