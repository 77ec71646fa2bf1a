/** The lenses that follow recorded events: forward, backward, checkpoint, every step. */
import type { Moment, Changed, Lens } from "./lens";
import { describe } from "../trace/describe";
import { brief, broken, piled, valueOf } from "../trace/format";
import { lensSteps, type Replay } from "../trace/frame";
import { boxTitle, chain } from "../trace/groups";
import { STYLES, type NodeLook, type Scene, type State, type Tray } from "../graph/look";
import { Trays } from "./trays";
import { push } from "../trace/lists";
import { litNode, shownGradient, type Calculation, type Maybe, type Trace, type TraceEvent } from "../trace/types";

const PLACES = 9;
const NOTHING: ReadonlySet<string> = new Set();

/** For a recording without events: whom its recorder listens to. Tensors of the other library are the usual reason. */
function nothing({ library }: Trace): string {
  const own = library.startsWith("torch") ? "PyTorch" : "minigrad";
  const other = own === "minigrad" ? "PyTorch’s tensors are recorded by inspect(…)" : "minigrad’s tensors are recorded by minigrad.recorder.record()";
  return `nothing was recorded: no op of ${own} ran in the block; ${other}`;
}

export class BackwardLens implements Lens {
  readonly steps: number[];
  readonly #trays: Trays;
  /** By pass, in their order: how many gradients each node will receive. */
  readonly #counts: [step: number, needs: ReadonlyMap<number, number>][] = [];
  /** By node: the edges along which tangents come to it, and by edge the value of the tangent. */
  readonly #moved = new Map<number, string[]>();
  readonly #tangents = new Map<string, number>();
  /** By node, the tangent of a result from which it goes no further. */
  readonly #arrivals = new Map<number, number>();
  #queue: [step: number, first: number[]] = [-2, []];

  /** The lenses of one inspector share one replay: another lens begins where the last one was. */
  constructor(
    private readonly trace: Trace,
    readonly name: string,
    readonly replay: Replay,
  ) {
    this.steps = lensSteps(trace, name);
    this.#trays = new Trays(trace);
    for (const { node, index, value } of trace.tangents ?? []) {
      push(this.#moved, node, `${node}:${index}`);
      this.#tangents.set(`${node}:${index}`, value);
    }
    const used = new Set((trace.tangents ?? []).map(({ node, index }) => trace.nodes[node]?.next[index]?.join(":")));
    trace.nodes.forEach(({ outputs, variable }, id) => outputs.forEach((output, nr) => {
      const moves = trace.tensors[trace.tensors[output]?.tangent ?? -1]?.value ?? null;
      if (variable === undefined && moves !== null && !used.has(`${id}:${nr}`)) this.#arrivals.set(id, moves);
    }));
    trace.events.forEach((event, step) => {
      if (event.kind === "backward_start") this.#counts.push([step, new Map(event.needs)]);
    });
  }

  get position(): number {
    return this.positionOf(this.replay.step);
  }

  get last(): number {
    return Math.max(0, this.steps.length - 1);
  }

  get step(): number {
    return this.replay.step;
  }

  get lit(): Maybe {
    const event = this.replay.event;
    return event ? litNode(event) : null;
  }

  get focus(): Maybe {
    const event = this.replay.event;
    if (event?.kind === "backward_start") return event.roots[0]?.[0] ?? null;
    const tensor = this.#tensors[0];
    const node = tensor === undefined ? null : (this.replay.rebased.get(tensor) ?? this.trace.tensors[tensor]?.node ?? null);
    return this.lit ?? node ?? this.#before;
  }

  /** The last event up to a step for which this holds; it is near, so that a long trace is not copied. */
  #last(step: number, holds: (event: TraceEvent) => boolean): TraceEvent | undefined {
    for (let at = step; at >= 0; at--) if (holds(this.trace.events[at] as TraceEvent)) return this.trace.events[at];
    return undefined;
  }

  /** The node of the last event before this one that has a node. */
  get #before(): Maybe {
    const last = this.#last(this.step - 1, (event) => litNode(event) !== null);
    return last ? litNode(last) : null;
  }

  get gradient(): Maybe {
    const event = this.replay.event;
    return event ? shownGradient(event) : null;
  }

  get ready(): number[] {
    return this.replay.ready;
  }

  get counter(): string {
    if (this.#told) return `${this.position + 1} / ${this.#told.length}`;
    return this.#at.join(" / ");
  }

  /** Which step it is, and of how many: of the forward or the backward pass, else of the recording. */
  get #at(): [step: number, of: number] {
    if ((this.name === "forward" || this.name === "backward") && this.steps.length > 0) return [this.position + 1, this.steps.length];
    return [Math.max(0, this.step), this.steps.at(-1) ?? 0];
  }

  /** In the forward pass, which operation it is: some steps only say what one saved, or that a mode was switched. */
  get #operation(): string {
    if (this.name !== "forward") return "";
    const ran = this.steps.filter((step) => this.trace.events[step]?.kind === "forward");
    const now = ran.filter((step) => step <= this.step).length;
    return ran.length < this.steps.length && now > 0 ? `, operation ${now} of ${ran.length}` : "";
  }

  /** The steps of the lens "values", with their sentences. */
  get #told(): Calculation["steps"] | undefined {
    return this.name === "values" ? this.trace.calculation?.steps : undefined;
  }

  get text(): string {
    const event = this.replay.event;
    if (this.#told) return `step ${this.position + 1} of ${this.#told.length}: ${this.#told[this.position]?.[1] ?? ""}`;
    if (!event && this.trace.events.length === 0) return nothing(this.trace);
    if (!event) return this.name === "forward" ? "no op was recorded: there is no forward pass to step through" : "nothing yet";
    return `step ${this.#at.join(" of ")}${this.#operation}: ${this.#begins(event) ?? describe(this.trace, event)}`;
  }

  /** On a map, whose boxes the reader sees before any node: at which of them a pass begins. */
  #begins(event: TraceEvent): string | undefined {
    const [root, , value] = (event.kind === "backward_start" && event.roots.length === 1 && event.roots[0]) || [];
    const box = chain(this.trace, this.trace.nodes[root ?? -1]?.scope).reverse().find((scope) => this.trace.folded?.includes(scope));
    return box === undefined ? undefined : `the backward pass begins at ${boxTitle(this.trace, box)}, with gradient ${brief(valueOf(this.trace, value)).replace(/\.$/, "")}: each box waits for the gradients that come down its arrows`;
  }

  /** The tensors of an event that names no node. */
  get #tensors(): number[] {
    const event = this.replay.event;
    if (event?.kind === "version" || event?.kind === "grad" || event?.kind === "capture") return [event.tensor];
    return event?.kind === "forward" && event.node === null ? event.outputs : [];
  }

  /** At the end of a pass, each `.grad` that it wrote, as hooks left it, or what `autograd.grad` returns; at the last step, each `.grad`. */
  get #got(): NonNullable<Moment["got"]> {
    const { event, grads } = this.replay;
    if (event?.kind !== "backward_end") return { title: "each .grad at the end", of: this.step === this.steps.at(-1) ? [...grads] : [] };
    const before = this.trace.events.slice(0, this.step).filter(({ depth = 0 }) => depth === (event.depth ?? 0));
    const pass = before.slice(before.map(({ kind }) => kind).lastIndexOf("backward_start"));
    const kept = new Map(pass.flatMap((each) => (each.kind === "capture" ? [[each.tensor, each.gradient] as const] : [])));
    if (kept.size > 0) return { title: "what autograd.grad gives", of: [...kept] };
    const found = new Set(pass.flatMap((each) => ((each.kind === "accumulate" || (each.kind === "hook" && each.hook === "retain_grad")) && each.tensor !== null ? [each.tensor] : [])));
    return { title: "each .grad after the pass", of: [...found].map((tensor) => [tensor, grads.get(tensor) ?? null]) };
  }

  get moment(): Moment {
    const replay = this.replay;
    return {
      pending: (node) => replay.pending.get(node) ?? [],
      unknown: "nothing yet",
      edge: (key) => replay.edges.get(key),
      grad: (tensor) => replay.grads.get(tensor),
      version: (tensor) => replay.versions.get(tensor) ?? this.trace.tensors[tensor]?.version ?? 0,
      nodeOf: (tensor) => replay.rebased.get(tensor),
      value: (tensor) => replay.contents.get(tensor) ?? this.trace.tensors[tensor]?.value ?? null,
      tensors: this.#tensors,
      got: this.#got,
      saved: (node) => replay.saved.get(node) ?? "",
      look: (node) => this.#look(node),
      now: replay.step,
    };
  }

  goTo(position: number): Changed {
    const before = this.#next;
    this.replay.goTo(this.steps[Math.max(0, Math.min(position, this.last))] ?? -1);
    const { nodes, edges } = this.replay.take();
    for (const node of [...before, ...this.#next]) nodes.add(node);
    if (this.#moved.size > 0) for (const node of nodes) for (const key of this.#moved.get(node) ?? []) edges.add(key);
    return { nodes, edges };
  }

  /** The first entries of the ready queue, which show their position in it. */
  get #next(): number[] {
    if (this.#queue[0] !== this.step) this.#queue = [this.step, this.replay.ready.slice(0, PLACES)];
    return this.#queue[1];
  }

  /** The step of a position; null beyond the last one. */
  stepAt(position: number): Maybe {
    return this.steps[position] ?? null;
  }

  /** The first position at which a node is drawn; null if this lens has none. */
  appears(node: number): Maybe {
    const users = new Set<Maybe>(this.trace.nodes.flatMap(({ next }, id) => (next.some((edge) => edge?.[0] === node) ? [id] : [])));
    const step = this.trace.events.findIndex((event) => {
      if (event.kind === "backward_start") return event.needs.some(([id]) => id === node);
      return event.kind === "forward" && (event.node === node || users.has(event.node) || event.rebased?.some(([, , after]) => after === node));
    });
    const position = step < 0 ? -1 : this.steps.findIndex((each) => each >= step);
    return position < 0 ? null : position;
  }

  /** The position of the nearest step of this lens, at or before a step of the trace. */
  positionOf(step: number): number {
    let [low, high] = [0, this.last];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.steps[middle] ?? 0) <= step) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  scene(selected: Maybe): Scene {
    const event = this.replay.event;
    const moved = event?.kind === "forward" && event.node !== null ? this.#moved.get(event.node) : undefined;
    const now = event?.kind === "flow" ? new Set([`${event.node}:${event.index}`]) : moved ? new Set(moved) : NOTHING;
    const tangent = (key: string): number | undefined => (this.replay.status.has(Number.parseInt(key, 10)) ? this.#tangents.get(key) : undefined);
    return { node: (id) => this.#look(id), state: (id) => this.#state(id), edge: (key) => this.replay.edges.get(key), tangent, lit: this.lit, selected, now };
  }

  #state(id: number): State {
    const status = this.replay.status.get(id);
    const look = status === "recorded" && this.replay.recomputed.has(id) ? "again" : (status ?? "recorded");
    return { look, known: status !== undefined, saved: this.replay.saved.get(id) ?? "" };
  }

  #look(id: number): NodeLook {
    const state = this.#state(id);
    const status = state.known ? state.look : undefined;
    const needs = this.replay.needs.get(id);
    const waits = status === "waiting" && needs !== undefined ? `waits: ${needs}` : STYLES[status ?? "recorded"].word;
    const place = status === "ready" ? this.#next.indexOf(id) + 1 : 0;
    const hooked = (status === "running" || status === "done") && this.replay.hooked.has(id);
    return {
      ...state,
      hooked,
      word: status === "recorded" || status === undefined ? "" : place > 0 ? `ready: ${place}` : waits,
      ...this.#tensorOf(id),
      ...this.#brokenAt(id),
      badge: this.#badge(this.replay.pending.get(id)) || (state.known && this.#arrivals.has(id) ? `↑ ${brief(valueOf(this.trace, this.#arrivals.get(id)))}` : ""),
      ...this.#tray(id, status),
    };
  }

  /** The `.grad` of a leaf; while its AccumulateGrad waits or runs, the number of gradients that have arrived. */
  #tray(id: number, status: string | undefined): { tray?: Tray | undefined } {
    const leaf = this.trace.nodes[id]?.variable;
    if (leaf === undefined) return {};
    const open = status === "waiting" || status === "ready" || (status === "running" && !this.#added(id));
    const of = this.#counts.filter(([step, needs]) => step <= this.step && needs.has(id)).at(-1)?.[1].get(id) ?? 0;
    const arrived = open ? of - (this.replay.needs.get(id) ?? 0) : 0;
    return { tray: this.#trays.of(id, { grad: this.replay.grads.get(leaf), arrived, of }) };
  }

  /** Whether a running AccumulateGrad has added its gradient yet. */
  #added(id: number): boolean {
    return this.#last(this.step, (event) => (event.kind === "accumulate" || event.kind === "run") && event.node === id)?.kind === "accumulate";
  }

  /** The state of the tensor that a node created. */
  #tensorOf(id: number): { version: number; stale: boolean } {
    const node = this.trace.nodes[id];
    const made = node?.variable === undefined ? (node?.outputs ?? []) : [node.variable];
    const own = made.filter((tensor) => (this.replay.rebased.get(tensor) ?? id) === id);
    const versions = own.map((tensor) => this.replay.versions.get(tensor) ?? 0);
    return { version: versions.reduce((a, b) => Math.max(a, b), 0), stale: made.length > 0 && own.length === 0 };
  }

  /** What of a node is NaN or infinite: a gradient that it passed on, what is pending there, or its result. */
  #brokenAt(id: number): Pick<NodeLook, "broken" | "whose"> {
    const given = (this.trace.nodes[id]?.next ?? []).map((_, index) => this.replay.edges.get(`${id}:${index}`));
    const results = (this.trace.nodes[id]?.outputs ?? []).map((tensor) => this.replay.contents.get(tensor) ?? this.trace.tensors[tensor]?.value);
    const leaf = this.trace.nodes[id]?.variable;
    const grad = leaf === undefined ? undefined : this.replay.grads.get(leaf);
    const worst = (...values: (Maybe | undefined)[]): string => {
      const found = values.map((value) => broken(valueOf(this.trace, value)));
      return found.includes("nan") ? "nan" : found.includes("inf") ? "inf" : "";
    };
    const gradient = worst(grad, ...given, ...(this.replay.pending.get(id) ?? []));
    return { broken: gradient || worst(...results), whose: gradient === "" ? "value" : "" };
  }

  #badge(pending: readonly Maybe[] | undefined): string {
    if (!pending || pending.length === 0) return "";
    return `Σ ${piled(pending.map((entry) => (entry === null ? "–" : brief(valueOf(this.trace, entry)))))}`;
  }
}
