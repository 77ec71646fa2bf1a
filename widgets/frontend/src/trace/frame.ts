/**
 * The fold of docs/trace.md: the state of the world after each event.
 *
 * A `Replay` is at one step. Going forward applies one event and records what it overwrote in a journal; going back
 * restores the old entries from it. A step costs what it changes, in both directions, and `take()` returns the nodes
 * and edges that changed since the last call, so that a view redraws only these.
 */
import { changedBy } from "./received";
import { FORWARD, OF_A_PASS } from "./events";
import { litNode, shownGradient, type BackwardStartEvent, type Bytes, type FlowEvent, type Maybe, type Status, type Trace, type TraceEvent } from "./types";

const SAVED = 2; // a kind of holder: a node that has saved a tensor

type Undo = [map: Map<unknown, unknown>, key: unknown, had: boolean, old: unknown];

/** The state of an outer backward pass, restored when a nested one ends. */
interface Outer {
  depth: number;
  status: Map<number, Status>;
  needs: Map<number, number>;
  ready: Map<number, number>;
  pending: Map<number, Maybe[]>;
  running: Maybe;
  before: Outer | null;
}

interface Registers {
  bytes: Bytes | null;
  again: number;
  running: Maybe;
  arrivals: number;
  pass: number;
  outer: Outer | null;
}

export interface Changes {
  nodes: Set<number>;
  edges: Set<string>;
}

export interface Frame {
  step: number;
  kind: string;
  file: Maybe;
  line: Maybe;
  depth: number;
  lit: Maybe;
  status: Record<string, Status>;
  needs: Record<string, number>;
  ready: number[];
  pending: Record<string, Maybe[]>;
  edges: Record<string, Maybe>;
  saved: Record<string, "held" | "released">;
  grads: Record<string, Maybe>;
  versions: Record<string, number>;
  rebased: Record<string, number>;
  recomputed: number[];
  hooked: number[];
  gradient: Maybe;
  bytes: Bytes | null;
}

export class Replay {
  step = -1;
  readonly status = new Map<number, Status>();
  readonly needs = new Map<number, number>();
  readonly pending = new Map<number, Maybe[]>();
  readonly edges = new Map<string, Maybe>();
  readonly saved = new Map<number, "held" | "released">();
  readonly grads = new Map<number, Maybe>();
  readonly versions = new Map<number, number>();
  /** The node of a tensor, if an in-place op gave it another one. */
  readonly rebased = new Map<number, number>();
  readonly recomputed = new Map<number, true>();
  /** The nodes at which a hook of the program has run in this pass. */
  readonly hooked = new Map<number, true>();
  /** The values of a tensor since it was changed in place. */
  readonly contents = new Map<number, Maybe>();
  readonly #arrived = new Map<number, number>();
  /** By node: how many storages it holds as saved. */
  readonly #keeps = new Map<number, number>();
  readonly #registers = new Map<keyof Registers, unknown>();
  /** State that belongs neither to a node nor to an edge. */
  readonly #apart: ReadonlySet<unknown> = new Set([this.#registers, this.contents, this.#keeps]);
  readonly #journal: Undo[][] = [];
  #page: Undo[] = [];
  #changes: Changes = { nodes: new Set(), edges: new Set() };

  /** By tensor: those with the same version counter. */
  readonly #sharing: number[][];
  /** By tensor: the nodes that it is or was an output of. */
  readonly #nodesOf = new Map<number, number[]>();

  constructor(readonly trace: Trace) {
    this.#sharing = sharing(trace);
    trace.nodes.forEach((node, id) => {
      for (const tensor of node.variable === undefined ? node.outputs : [node.variable]) {
        this.#nodesOf.set(tensor, [...(this.#nodesOf.get(tensor) ?? []), id]);
      }
    });
  }

  get event(): TraceEvent | null {
    return this.trace.events[this.step] ?? null;
  }

  get bytes(): Bytes | null {
    return this.#get("bytes") ?? null;
  }

  /** The ready queue in the order in which the engine will run it. */
  get ready(): number[] {
    const rank = (node: number): number => this.trace.nodes[node]?.sequence_nr ?? Infinity;
    const turn = (node: number): number => this.#arrived.get(node) ?? 0;
    const later = (a: number, b: number): number => (rank(a) === rank(b) ? turn(a) - turn(b) : rank(b) - rank(a));
    return [...this.#arrived.keys()].sort(later);
  }

  /** Goes to a step, forwards or backwards; -1 is the state before the first event. */
  goTo(step: number): void {
    const target = Math.max(-1, Math.min(step, this.trace.events.length - 1));
    while (this.step < target) this.#forward();
    while (this.step > target) this.#back();
  }

  /** The nodes and edges that changed since the last call. */
  take(): Changes {
    const changes = this.#changes;
    this.#changes = { nodes: new Set(), edges: new Set() };
    return changes;
  }

  frame(): Frame {
    const event = this.event;
    return {
      step: this.step,
      kind: event?.kind ?? "",
      file: event?.file ?? null,
      line: event?.line ?? null,
      depth: event?.depth ?? 0,
      lit: event ? litNode(event) : null,
      status: Object.fromEntries(this.status),
      needs: Object.fromEntries(this.needs),
      ready: this.ready,
      pending: Object.fromEntries(this.pending),
      edges: Object.fromEntries(this.edges),
      saved: Object.fromEntries(this.saved),
      grads: Object.fromEntries(this.grads),
      versions: Object.fromEntries(this.versions),
      rebased: Object.fromEntries(this.rebased),
      recomputed: [...this.recomputed.keys()],
      hooked: [...this.hooked.keys()],
      gradient: event ? shownGradient(event) : null,
      bytes: this.bytes,
    };
  }

  #forward(): void {
    this.step += 1;
    this.#page = [];
    this.#journal.push(this.#page);
    const event = this.trace.events[this.step];
    if (!event) return;
    if (event.bytes) this.#put("bytes", event.bytes);
    this.#apply(event);
    for (const [, what, of] of event.held ?? []) if (what === SAVED && of !== null) this.#set(this.#keeps, of, (this.#keeps.get(of) ?? 0) + 1);
    for (const [, what, of] of event.dropped ?? []) if (what === SAVED && of !== null) this.#loses(of);
  }

  /** A node that is gone has let go of all that it had saved, without an event of its own. */
  #loses(node: number): void {
    const left = (this.#keeps.get(node) ?? 0) - 1;
    this.#set(this.#keeps, node, left);
    if (left === 0 && this.saved.get(node) === "held") this.#set(this.saved, node, "released");
  }

  #back(): void {
    const page = this.#journal.pop() ?? [];
    for (const [map, key, had, old] of page.reverse()) {
      if (had) map.set(key, old);
      else map.delete(key);
      this.#note(map, key);
    }
    this.step -= 1;
  }

  #get<K extends keyof Registers>(key: K): Registers[K] | undefined {
    return this.#registers.get(key) as Registers[K] | undefined;
  }

  #put<K extends keyof Registers>(key: K, value: Registers[K]): void {
    this.#set(this.#registers, key, value);
  }

  #set<K, V>(map: Map<K, V>, key: K, value: V): void {
    this.#page.push([map as Map<unknown, unknown>, key, map.has(key), map.get(key)]);
    map.set(key, value);
    this.#note(map, key);
  }

  #drop<K, V>(map: Map<K, V>, key: K): void {
    if (!map.has(key)) return;
    this.#page.push([map as Map<unknown, unknown>, key, true, map.get(key)]);
    map.delete(key);
    this.#note(map, key);
  }

  #clear<K, V>(map: Map<K, V>): void {
    for (const key of [...map.keys()]) this.#drop(map, key);
  }

  #replace<K, V>(map: Map<K, V>, other: ReadonlyMap<K, V>): void {
    for (const key of [...map.keys()]) if (!other.has(key)) this.#drop(map, key);
    for (const [key, value] of other) if (map.get(key) !== value) this.#set(map, key, value);
  }

  #note(map: unknown, key: unknown): void {
    if (map === this.edges) this.#changes.edges.add(key as string);
    else if (map === this.versions || map === this.rebased || map === this.grads) {
      for (const node of this.#nodesOf.get(key as number) ?? []) this.#changes.nodes.add(node);
    }
    else if (!this.#apart.has(map)) this.#changes.nodes.add(key as number);
  }

  #apply(event: TraceEvent): void {
    if (OF_A_PASS.has(event.kind)) this.#leave(event.depth ?? 0);
    for (const [tensor, value] of changedBy(event)) this.#set(this.contents, tensor, value);
    switch (event.kind) {
      case "forward":
        if (event.node !== null) this.#learn(event.node);
        for (const [tensor, , after] of event.rebased ?? []) {
          this.#set(this.rebased, tensor, after);
          if (!this.status.has(after)) this.#set(this.status, after, "recorded");
        }
        break;
      case "save":
        this.#set(this.saved, event.node, "held");
        break;
      case "release":
        this.#set(this.saved, event.node, "released");
        break;
      case "version":
        for (const tensor of this.#sharing[event.tensor] ?? []) this.#set(this.versions, tensor, event.version);
        break;
      case "collective_end":
        for (const [tensor, value] of event.grads ?? []) this.#set(this.grads, tensor, value);
        break;
      case "recompute_begin":
        this.#put("again", (this.#get("again") ?? 0) + 1);
        break;
      case "recompute_end":
        this.#put("again", Math.max(0, (this.#get("again") ?? 0) - 1));
        break;
      case "backward_start":
        this.#start(event, event.depth ?? 0);
        break;
      case "ready":
        this.#set(this.status, event.node, "ready");
        this.#drop(this.needs, event.node);
        this.#set(this.#arrived, event.node, this.#count());
        break;
      case "run":
        this.#drop(this.#arrived, event.node);
        this.#drop(this.pending, event.node);
        this.#run(event.node);
        break;
      case "call":
        this.#run(event.node);
        break;
      case "flow":
        this.#flow(event);
        break;
      case "hook":
        if (event.hook !== "retain_grad") this.#set(this.hooked, event.node, true);
        if (event.hook === "retain_grad" && event.tensor !== null) {
          this.#set(this.grads, event.tensor, event.grad ?? null);
        }
        break;
      case "grad":
        if (event.grad === null) this.#drop(this.grads, event.tensor);
        else this.#set(this.grads, event.tensor, event.grad);
        break;
      case "accumulate":
        this.#set(this.grads, event.tensor, event.grad);
        break;
      case "backward_end":
        this.#end();
    }
  }

  #learn(node: number): void {
    this.#set(this.status, node, "recorded");
    if ((this.#get("again") ?? 0) > 0) this.#set(this.recomputed, node, true);
    for (const edge of this.trace.nodes[node]?.next ?? []) {
      const leaf = edge && this.trace.nodes[edge[0]]?.variable !== undefined;
      if (edge && leaf && !this.status.has(edge[0])) this.#set(this.status, edge[0], "recorded");
    }
  }

  #count(): number {
    const arrivals = (this.#get("arrivals") ?? 0) + 1;
    this.#put("arrivals", arrivals);
    return arrivals;
  }

  #run(node: number): void {
    this.#finish();
    this.#set(this.status, node, "running");
    this.#put("running", node);
  }

  #finish(): void {
    const running = this.#get("running") ?? null;
    if (running !== null) this.#set(this.status, running, "done");
    this.#put("running", null);
  }

  #start(event: BackwardStartEvent, depth: number): void {
    const pass = this.#get("pass") ?? 0;
    if (depth > pass) this.#push(pass);
    this.#put("pass", depth);
    this.#put("running", null);
    this.#clear(this.pending);
    this.#clear(this.edges);
    this.#clear(this.#arrived);
    this.#clear(this.hooked);
    this.#replace(this.needs, new Map(event.needs));
    for (const node of this.status.keys()) if (!this.needs.has(node)) this.#set(this.status, node, "recorded");
    for (const node of this.needs.keys()) this.#set(this.status, node, "waiting");
    for (const [node, output_nr, value] of event.roots) this.#pile(node, output_nr, value);
    for (const node of new Set(event.roots.map(([node]) => node))) if (this.needs.has(node)) this.#set(this.needs, node, Math.max(0, (this.needs.get(node) ?? 0) - 1));
  }

  #push(depth: number): void {
    this.#put("outer", {
      depth,
      status: new Map(this.status),
      needs: new Map(this.needs),
      ready: new Map(this.#arrived),
      pending: new Map(this.pending),
      running: this.#get("running") ?? null,
      before: this.#get("outer") ?? null,
    });
  }

  #pile(node: number, output_nr: number, value: Maybe): void {
    const list = [...(this.pending.get(node) ?? [])];
    while (list.length <= output_nr) list.push(null);
    list[output_nr] = value;
    this.#set(this.pending, node, list);
  }

  #flow(event: FlowEvent): void {
    this.#set(this.edges, `${event.node}:${event.index}`, event.gradient);
    this.#pile(event.to, event.output_nr, event.sum);
    const left = this.needs.get(event.to);
    if (left !== undefined) this.#set(this.needs, event.to, left - 1);
  }

  #end(): void {
    if (this.#get("outer")) return this.#restore();
    this.#finish();
    for (const map of [this.needs, this.#arrived, this.pending]) this.#clear(map as Map<number, unknown>);
  }

  /** A pass that ended with an error has no `backward_end`: the next event of an outer pass restores that one. */
  #leave(depth: number): void {
    while (this.#get("outer") && depth < (this.#get("pass") ?? 0)) this.#restore();
  }

  #restore(): void {
    const outer = this.#get("outer");
    if (!outer) return;
    this.#put("outer", outer.before);
    this.#put("pass", outer.depth);
    this.#put("running", outer.running);
    const met = [...this.status.keys()].filter((node) => !outer.status.has(node));
    this.#replace(this.status, new Map([...outer.status, ...met.map((node) => [node, "recorded"] as const)]));
    this.#replace(this.needs, outer.needs);
    this.#replace(this.#arrived, outer.ready);
    this.#replace(this.pending, outer.pending);
  }
}

/** By tensor, those that share its version counter: itself, its views, and what was detached from it. */
function sharing(trace: Trace): number[][] {
  const groups: number[][] = [];
  trace.tensors.forEach((record, id) => {
    const group = groups[record.base ?? record.counter ?? id] ?? [];
    group.push(id);
    groups.push(group);
  });
  return groups;
}

/** The steps at which a lens stops. */
export function lensSteps(trace: Trace, lens: string): number[] {
  if (lens === "values" && trace.calculation) return trace.calculation.steps.map(([step]) => step);
  const all = trace.events.map((_, step) => step);
  if (lens === "all" || lens === "checkpoint") return all;
  if (lens === "forward") return all.filter((step) => FORWARD.has(trace.events[step]?.kind ?? "") && !trace.events[step]?.depth);
  const starts = trace.events.findIndex((event) => event.kind === "backward_start" || event.kind === "call");
  return starts < 0 ? all : all.slice(starts);
}
