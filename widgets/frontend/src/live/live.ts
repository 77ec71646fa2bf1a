/**
 * Live numbers: the recorded program, recomputed with other numbers in its leaves, forwards and backwards.
 *
 * The first run changes nothing, and is compared with the recording: what it cannot compute, or computes differently,
 * keeps its recorded numbers from then on, and so does what follows from it.
 *
 * The displayed trace is a copy, in which whatever can change has its own preview: a run replaces previews, while all
 * indices stay, and with them everything that a view has derived from the trace.
 */
import { computes, make, Unsupported, MOST, product } from "./arrays";
import { evaluated } from "./functions";
import { isNumber, Memory, type Known } from "./memory";
import { numbersOf } from "./previews";
import { Slots } from "./slots";
import { added, namesIn, placeOf, together, Origins, Results, type Kept } from "./results";
import { tensorName } from "../trace/format";
import type { Maybe, Trace, TraceEvent } from "../trace/types";
import type { CollectiveEndEvent } from "../trace/events";

type Of<K extends TraceEvent["kind"]> = Extract<TraceEvent, { kind: K }>;

/** A longer program is not recomputed at each change. */
const LONGEST = 20_000;
const UNKNOWN: Known = { array: null, touched: false, stale: false };
const PASSING = ["retain_grad", "post_accumulate"];

export class Live {
  /** The displayed trace. */
  readonly trace: Trace;
  /** The tensors whose numbers can be changed. */
  readonly leaves: readonly number[];
  /** What keeps its recorded numbers whatever is changed. */
  readonly limits: readonly Kept[];
  /** After a run: the changed tensors whose numbers the program had read by something other than an op. */
  read: number[] = [];
  readonly slots: Slots;
  readonly #results: Results;
  /** By step, the tensors that the program then read by something other than an op. */
  readonly #reads = new Map<number, number[]>();
  #memory: Memory;
  #passes: Map<string, Known>[] = [];
  #received = new Map<number, (Known | null)[]>();
  #parameters = new Map<number, Map<string, Known>>();
  #replaced = new Set<number>();
  #shown = new Set<number>();
  /** The former value of the `.grad` that is added to. */
  #before: Known | undefined;
  /** What the last in-place op wrote to. */
  #target: Maybe = null;
  #origins: Origins;

  constructor(private readonly recorded: Trace) {
    this.slots = new Slots(recorded);
    this.#results = new Results(recorded);
    recorded.tensors.forEach(({ read }, id) => {
      if (read !== undefined) this.#reads.set(read, [...(this.#reads.get(read) ?? []), id]);
    });
    this.trace = this.slots.trace;
    this.#origins = new Origins(recorded, false);
    this.#memory = this.#remembering(new Map());
    this.run(new Map());
    this.#results.base = false;
    const loaded = [...this.#memory.loaded].sort((a, b) => a - b);
    this.leaves = recorded.events.some((event) => event.kind === "forward" && event.expressions) ? loaded.filter((id) => this.#isLeaf(id)) : [];
    this.limits = this.#probed();
  }

  /** The live numbers of a trace; null if nothing can be changed, or there would be too much to compute. */
  static of(trace: Trace): Live | null {
    if (trace.events.length > LONGEST || !trace.events.some((event) => event.kind === "forward" && event.expressions)) return null;
    const live = new Live(computable(trace));
    return live.leaves.length > 0 ? live : null;
  }

  /** The index in the recorded trace of a preview of the displayed one. */
  recordedIndex(value: number): number {
    return this.slots.recordedIndex(value);
  }

  /** What would keep its recorded numbers if any leaf were changed. */
  #probed(): readonly Kept[] {
    this.run(new Map(this.leaves.map((leaf) => [leaf, this.numbers(leaf)])));
    const found = this.kept;
    this.run(new Map());
    return found;
  }

  /** After a run: what should have changed but could not be computed. */
  get kept(): readonly Kept[] {
    return this.#results.kept;
  }

  /** Whether a number was changed. */
  get changed(): boolean {
    return this.changes.size > 0;
  }

  changes: ReadonlyMap<number, readonly number[]> = new Map();
  /** The recorded numbers of a leaf. */
  numbers(leaf: number): number[] {
    return [...(numbersOf(this.recorded.values[this.recorded.tensors[leaf]?.value ?? -1])?.data ?? [])];
  }

  /** Computes everything with these numbers in place of those of some leaves. */
  run(changes: ReadonlyMap<number, readonly number[]>): void {
    this.changes = changes;
    [this.#results.kept, this.read, this.#passes] = [[], [], []];
    [this.#received, this.#parameters, this.#replaced, this.#shown] = [new Map(), new Map(), new Set(), new Set()];
    this.#origins = new Origins(this.recorded, changes.size > 0);
    this.#memory = this.#remembering(changes);
    this.recorded.events.forEach((event, step) => {
      if (event.kind === "accumulate") this.#before = this.#memory.readGrad(event.tensor);
      for (const [storage, what, id] of event.dropped ?? []) this.#memory.drop(storage, what, id);
      for (const [storage, what, id] of event.held ?? []) this.#memory.hold(storage, what, id);
      this.#event(event, step);
      for (const [, what, id] of event.held ?? []) if (what < 2 && id !== null && this.#memory.knows(id)) this.#tensor(id);
      for (const id of this.#reads.get(step) ?? []) this.#tensor(id);
    });
  }

  readonly #parts = (): Parts => ({ trace: this.recorded, memory: this.#memory, results: this.#results, slots: this.slots });

  #remembering(changes: ReadonlyMap<number, readonly number[]>): Memory {
    return new Memory(this.recorded, changes, (tensor) => this.#origins.content(tensor, (kept) => this.#results.keeps(kept)));
  }

  #isLeaf(id: number): boolean {
    const record = this.recorded.tensors[id];
    return record !== undefined && record.is_leaf && isNumber(record) && (record.name !== null || record.requires_grad);
  }

  #event(event: TraceEvent, step: number): void {
    if (event.kind === "forward") this.#target = null;
    switch (event.kind) {
      case "forward":
        return this.#forward(event, step);
      case "save":
        return this.#save(event.node);
      case "version":
        return this.#version(event, step);
      case "collective_end":
        return reduced(this.#parts(), event, step, this.changed);
      case "backward_start":
        return this.#begin(event, step);
      case "run":
        return this.#ran(event, step);
      case "hook":
        return this.#hooked(event, step);
      case "flow":
        return this.#flowed(event, step);
      case "accumulate":
        return this.#accumulated(event, step);
      case "capture":
        return this.#captured(event, step);
      case "grad":
        return this.#setGrad(event, step);
      case "call":
        event.gradient.forEach((value, at) => this.slots.showAt(step, "gradient", at, this.#results.constant(value)));
        return event.result.forEach((value, at) => this.slots.showAt(step, "result", at, this.#results.constant(value)));
      case "holder_filled":
        return this.slots.show(step, "value", this.#results.constant(event.value));
    }
  }

  // forwards
  #forward(event: Of<"forward">, step: number): void {
    const given = [...event.inputs, ...(event.reads ?? [])].map((tensor) => (tensor === null ? UNKNOWN : this.#tensor(tensor)));
    const state = together(given);
    const operand = (name: string): Known | undefined => {
      const [list, at] = placeOf(name);
      return list === "inputs" ? given[at] : list === "reads" ? given[event.inputs.length + at] : undefined;
    };
    const node = event.node === null ? undefined : this.recorded.nodes[event.node];
    if (node?.parameters && event.node !== null) {
      this.#parameters.set(event.node, new Map(node.parameters.map(([name, index]) => [name, this.#parameter(index, operand, state)])));
    }
    shownAgain(this.#parts(), event.found, step, "found");
    if (event.op.endsWith("_")) return this.#writes(event, step, operand, state);
    event.outputs.forEach((output, at) => {
      const record = this.recorded.tensors[output];
      if (!record) return;
      const inside = event.expressions?.[at] === undefined && this.#shown.has(output) && this.#memory.read(output).array !== null;
      if (!inside && !this.#memory.shares(output, event.inputs)) {  // else an op inside of this one has made it
        // results that PyTorch's operators return only for their derivatives need no mention
        const silent = at > 0 && event.expressions !== undefined && event.expressions[at] === undefined ? "" : undefined;
        const found = this.#results.computed(`${step}:${at}`, event.op, event.expressions?.[at], operand, state, record.value, record, silent);
        this.#memory.write(output, found);
      }
      this.#origins.addResult(record.value, this.#tensor(output));
    });
  }

  /** An in-place op: its result goes to the memory of its first operand. */
  #writes(event: Of<"forward">, step: number, operand: (name: string) => Known | undefined, state: Known): void {
    const target = event.inputs[0];
    const record = target == null ? undefined : this.recorded.tensors[target];
    if (target == null || !record) return;
    const after = this.recorded.events.slice(step + 1, step + 4).find((each) => each.kind === "version" && each.tensor === target);
    const value = after?.kind === "version" ? (after.value ?? null) : null;
    this.#target = target;
    this.#memory.write(target, this.#results.computed(`${step}:0`, event.op, event.expressions?.[0], operand, state, value, record));
    if (value !== null) this.#origins.addResult(value, this.#memory.read(target));
  }

  #parameter(index: number, operand: (name: string) => Known | undefined, state: Known): Known {
    const expression = this.recorded.expressions?.[index];
    try {
      if (state.stale || expression === undefined) throw new Unsupported("");
      const found = evaluated(expression, (name) => operand(name)?.array ?? undefined, null);
      return { array: found, touched: state.touched, stale: false };
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error;
      return { array: null, touched: state.touched, stale: state.touched };
    }
  }

  #save(id: number): void {
    const node = this.recorded.nodes[id];
    node?.saved.forEach(([name, tensor, value], at) => {
      const made = this.#parameters.get(id)?.get(name);
      if (tensor !== null && made && !node.inputs.includes(tensor) && !node.outputs.includes(tensor)) {
        this.#memory.write(tensor, made);  // the op made it besides its results: the positions of maxima
        this.#tensor(tensor);
      }
      if (value === null) return;
      const own = tensor === null ? this.#parameters.get(id)?.get(name) : this.#memory.read(tensor);
      const known = own?.array ? own : { ...this.#results.constant(value), stale: own?.stale ?? false };
      this.slots.showSaved(id, at, known);
    });
  }

  #version(event: Of<"version">, step: number): void {
    const { tensor, value } = event;
    if (value !== undefined && (this.#target === null || (tensor !== this.#target && !this.#memory.shares(tensor, [this.#target])))) {
      const kept = { what: tensorName(this.recorded, tensor), why: "what has written to it is no op of one tensor" };
      this.#memory.write(tensor, this.#results.keep(`${step}`, kept, { ...UNKNOWN, touched: this.changed }, value));
    }
    this.slots.show(step, "value", this.#tensor(tensor));
    shownAgain(this.#parts(), event.others, step, "others");
  }

  // backwards
  #begin(event: Of<"backward_start">, step: number): void {
    const arriving = new Map<string, Known>();
    event.roots.forEach(([node, nr, value], at) => arriving.set(`${node}:${nr}`, this.#given(event, step, node, value, at)));
    this.#passes[event.depth ?? 0] = arriving;
  }

  /** The values of memory that an event first uses, if a tensor that the trace has was there. */
  #lying(event: TraceEvent, what: number, id: number, value: Maybe): Known | undefined {
    const like = this.recorded.values[value ?? -1];
    const places = (event.held ?? []).filter((holder) => holder[1] === what && holder[2] === id).map(([storage]) => storage);
    return places.map((storage) => this.#memory.whole(storage, like?.shape ?? [], like?.dtype ?? "")).find((each) => each !== undefined);
  }

  /** The gradient of a root: ones, or a tensor in memory that an op has written. */
  #given(event: Of<"backward_start">, step: number, node: number, value: Maybe, at: number): Known {
    const found = this.#lying(event, 4, node, value);
    return found ? this.#results.settled(`${step}:root ${at}`, found, value, "the gradient that the pass begins with") : this.#results.constant(value);
  }

  #pass(event: TraceEvent): Map<string, Known> {
    return (this.#passes[event.depth ?? 0] ??= new Map());
  }

  #ran(event: Of<"run">, step: number): void {
    const arriving = this.#pass(event);
    const found = event.gradient.map((value, nr) => {
      const known = arriving.get(`${event.node}:${nr}`);
      arriving.delete(`${event.node}:${nr}`);
      if (value === null) return null;
      const settled = this.#results.settled(`${step}:${nr}`, known ?? this.#results.constant(value), value, this.#nodeName(event.node));
      this.slots.showAt(step, "gradient", nr, settled);
      return settled;
    });
    this.#received.set(event.node, found);
    this.#replaced.delete(event.node);
    this.#origins.enterNode(event.gradient, found);
  }

  /** A hook is Python code: its result is known as it was recorded. */
  #hooked(event: Of<"hook">, step: number): void {
    const got = this.#received.get(event.node) ?? [];
    const passing = PASSING.includes(event.hook);
    const touched = got.some((each) => each?.touched);
    const left = event.gradient.map((value, at) => {
      const known = passing && got[at] ? got[at] : this.#origins.afterHook(value, touched);
      this.slots.showAt(step, "gradient", at, known);
      return value === null ? null : known;
    });
    if (event.grad !== undefined && event.grad !== null) this.slots.show(step, "grad", left[0] ?? this.#results.constant(event.grad));
    if (passing) return;
    if (left.some((each) => each?.stale)) this.#results.keeps({ what: `the hook ${event.name}`, why: "it is a function of Python" });
    if (event.hook === "post") this.#replaced.add(event.node);
    else if (left.length === got.length) this.#received.set(event.node, left);
    this.#origins.enterNode(event.gradient, left);
  }

  #captured(event: Of<"capture">, step: number): void {
    const known = this.#results.settled(`${step}`, this.#arrived(event), event.gradient, "capture");
    this.#origins.addGradient(event.gradient, known);
    this.slots.show(step, "gradient", known);
  }

  #flowed(event: Of<"flow">, step: number): void {
    const node = this.recorded.nodes[event.node];
    const got = this.#received.get(event.node) ?? [];
    const index = node?.derivatives?.[event.index] ?? undefined;
    const expression = this.recorded.expressions?.[index ?? -1];
    const inputs = expression === undefined ? (node?.inputs ?? []).map((tensor) => (tensor === null ? UNKNOWN : this.#memory.read(tensor))) : [];
    const named = expression === undefined ? [] : namesIn(expression).map((name) => this.#operand(event.node, name, got) ?? UNKNOWN);
    const state = together([...got.filter((each) => each !== null), ...inputs, ...named]);
    const why = this.#replaced.has(event.node) ? "a hook replaces what it gives" : undefined;
    const like = this.recorded.values[event.gradient ?? -1];
    const inside = expression === undefined && !why ? this.#origins.resultInside(event.gradient) : undefined;
    const name = this.#nodeName(event.node);
    if (expression === undefined) state.touched ||= this.#origins.touchedInside;
    const found = !like ? null : inside
      ? this.#results.settled(`${step}`, inside, event.gradient, name)
      : this.#results.computed(`${step}`, name, index, (operand) => this.#operand(event.node, operand, got), state, event.gradient, like, why);
    this.slots.show(step, "gradient", found);
    const [arriving, key] = [this.#pass(event), `${event.to}:${event.output_nr}`];
    const before = arriving.get(key);
    const sum = found && before ? this.#results.settled(`${step}:sum`, added(before, found), event.sum, "a sum") : (found ?? before ?? null);
    if (sum) arriving.set(key, sum);
    if (before) this.slots.show(step, "sum", sum);
    else this.slots.share(step);
  }

  /** The value of a name in the expression of a gradient. */
  #operand(id: number, name: string, got: readonly (Known | null)[]): Known | undefined {
    const node = this.recorded.nodes[id];
    const [list, nr] = placeOf(name);
    if (list === "grad" || list === "grads") {
      const output = this.recorded.tensors[node?.outputs[nr] ?? -1];
      return got[nr] ?? (output && computes(output.dtype) ? { ...UNKNOWN, array: make(output.shape, output.dtype, () => 0) } : undefined);
    }
    const own = this.#parameters.get(id)?.get(name);
    if (own) return own;
    const input = list === "inputs" ? node?.inputs[nr] : undefined;
    if (input != null) return this.#memory.read(input);
    const row = node?.saved.find(([each]) => each === name);
    if (!row) return undefined;
    return row[1] === null ? this.#results.constant(row[2]) : this.#memory.read(row[1]);
  }

  #accumulated(event: Of<"accumulate">, step: number): void {
    const gradient = this.#received.get(event.node)?.[0] ?? this.#results.constant(event.gradient);
    this.slots.show(step, "gradient", gradient);
    const before = this.#before ?? (event.grad === event.gradient ? undefined : (this.#lying(event, 3, event.tensor, event.grad) ?? this.#earlier(event)));
    const total = this.#results.settled(`${step}:grad`, before ? added(before, gradient) : gradient, event.grad, "a .grad");
    this.#memory.writeGrad(event.tensor, total);
    this.slots.show(step, "grad", total);
  }

  /** The value of a `.grad` before the recording, which is its present value without what was added. */
  #earlier(event: Of<"accumulate">): Known | undefined {
    const [now, more] = [event.grad, event.gradient].map((value) => numbersOf(this.recorded.values[value ?? -1]));
    if (!now || !more || !computes(now.dtype) || now.data.every((x, at) => Object.is(x, more.data[at]))) return undefined;
    return { ...UNKNOWN, array: make(now.shape, now.dtype, (at) => (now.data[at] as number) - (more.data[at] as number)) };
  }

  #setGrad(event: Of<"grad">, step: number): void {
    if (event.grad === null) return void this.#memory.grads.delete(event.tensor);
    const found = this.#memory.readGrad(event.tensor);
    const settled = this.#results.settled(`${step}`, found ?? this.#results.constant(event.grad), event.grad, "a .grad");
    if (!found) this.#memory.writeGrad(event.tensor, settled);
    this.slots.show(step, "grad", settled);
  }

  #arrived(event: Of<"capture">): Known {
    const record = this.recorded.tensors[event.tensor];
    const leaf = this.recorded.nodes.findIndex((node) => node.variable === event.tensor);
    const node = record?.node ?? leaf;
    const known = this.#pass(event).get(`${node}:${record?.output_nr ?? 0}`) ?? this.#received.get(node)?.[record?.output_nr ?? 0];
    return known ?? { ...this.#results.constant(event.gradient), touched: this.changed, stale: this.changed };
  }

  // shared by all of the above
  /** The values of a tensor; its record shows those when it was first seen. */
  #tensor(id: number): Known {
    const known = this.#memory.read(id);
    if (!this.#shown.has(id)) {
      this.#shown.add(id);
      this.slots.showTensor(id, known);
    }
    if (known.touched && this.recorded.tensors[id]?.read !== undefined && !this.read.includes(id)) this.read.push(id);
    return known;
  }

  #nodeName(id: number): string {
    return (this.recorded.nodes[id]?.name ?? "a node").replace(/Backward\d+$/, "");
  }
}

// ---- Which part of a long program is recomputed.
/** If a program creates more numbers than this, its large tensors are not computed: they would fill the memory. */
const MOST_NUMBERS = 4_000_000;

/** The number of values in the results and gradients of a program that could be computed. */
function numbersMade(trace: Trace): number {
  const sizes = trace.events.flatMap((event) => {
    if (event.kind === "forward") return event.outputs.map((id) => product(trace.tensors[id]?.shape ?? []));
    return event.kind === "flow" ? [product(trace.values[event.gradient ?? -1]?.shape ?? [])] : [];
  });
  return sizes.reduce((sum, size) => (size > MOST ? sum : sum + size), 0);
}

/** The trace; if a program creates too many numbers, without those of its large tensors. */
export function computable(trace: Trace): Trace {
  if (numbersMade(trace) <= MOST_NUMBERS) return trace;
  return { ...trace, values: trace.values.map(({ entries: _, ...value }) => value) };
}

// ---- The values of tensors whose memory was written by something other than their own op.
/** The state of a run: the recorded trace, the memory of its tensors, the computed and the displayed values. */
export interface Parts {
  trace: Trace;
  memory: Memory;
  results: Results;
  slots: Slots;
}

/** Shows the values of tensors that an event repeats, since another tensor was written to. */
export function shownAgain({ trace, memory, results, slots }: Parts, told: readonly [number, number][] | undefined, step: number, field: "others" | "found"): void {
  told?.forEach(([tensor, value], at) => {
    slots.showPair(step, field, at, results.settled(`${step}:${field} ${at}`, memory.read(tensor), value, tensorName(trace, tensor)));
  });
}

/** A collective operation: the result depends on other ranks, whose data was not recorded here. */
export function reduced({ trace, memory, results, slots }: Parts, event: CollectiveEndEvent, step: number, changed: boolean): void {
  const kept = (field: "written" | "grads", at: number, what: string, value: Maybe) => {
    const known = results.keep(`${step}:${field} ${at}`, { what, why: "other ranks have written to it" }, { array: null, touched: changed, stale: false }, value);
    slots.showPair(step, field, at, known);
    return known;
  };
  event.written?.forEach(([tensor, value], at) => memory.write(tensor, kept("written", at, tensorName(trace, tensor), value)));
  event.grads?.forEach(([tensor, value], at) => memory.writeGrad(tensor, kept("grads", at, `${tensorName(trace, tensor)}.grad`, value)));
}
