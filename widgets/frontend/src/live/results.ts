/**
 * The results of expressions, compared with the recording.
 *
 * In the first run nothing is changed: what cannot be computed, or differs from Python's result, keeps its recorded
 * numbers from then on.
 */
import { checkSize, product, Unsupported, computes, make, type Argument, type NumberArray } from "./arrays";
import { evaluated } from "./functions";
import type { Known } from "./memory";
import { agrees, numbersOf } from "./previews";
import type { Expression, Maybe, Trace } from "../trace/types";

/** What keeps its recorded numbers, and why. */
export interface Kept {
  what: string;
  why: string;
}

export class Results {
  /** Whether this is the first run. */
  base = true;
  /** What should have changed in this run but could not be computed. */
  kept: Kept[] = [];
  /** By step and position, why it keeps its recorded numbers. */
  readonly #refused = new Map<string, Kept>();
  readonly #first = new Map<string, NumberArray | null>();

  constructor(private readonly recorded: Trace) {}

  /** A recorded number without an expression; it may be outdated once another has been changed. */
  constant(value: Maybe | undefined): Known {
    return { array: numbersOf(this.recorded.values[value ?? -1]), touched: false, stale: false };
  }

  /** The result of an expression, or its recorded value instead. */
  computed(
    key: string,
    what: string,
    index: number | undefined,
    operand: (name: string) => Known | undefined,
    state: Known,
    value: Maybe,
    like: { shape: readonly number[]; dtype: string },
    why?: string,
  ): Known {
    if (!this.base && !state.touched && !state.stale) return { array: this.#first.get(key) ?? null, touched: false, stale: false };
    const expression: Expression | undefined = index === undefined ? undefined : this.recorded.expressions?.[index];
    let found: NumberArray | null = null;
    let reason = why ?? (expression === undefined ? "no expression was recorded for it" : "");
    if (expression !== undefined && !why && !state.stale && !this.#refused.has(key)) {
      try {
        checkSize(product(like.shape));  // before an operand that is as large: it is no accident that the trace has it not
        found = evaluated(expression, (name): Argument | undefined => operand(name)?.array ?? undefined, like);
      } catch (error) {
        if (!(error instanceof Unsupported)) throw error;
        reason = error.message;
      }
    }
    if (!found) return this.keep(key, { what, why: reason }, state, value);
    return this.settled(key, { array: found, touched: state.touched, stale: false }, value, what);
  }

  /** The result, if the first run has shown that it equals the recording. */
  settled(key: string, found: Known, value: Maybe, what: string): Known {
    const recorded = value === null ? undefined : this.recorded.values[value];
    if (!found.array || found.stale || this.#refused.has(key)) return this.keep(key, { what, why: "" }, found, value);
    if (this.base && recorded && !agrees(found.array, recorded)) {
      return this.keep(key, { what, why: "it does not give here what was recorded" }, found, value);
    }
    if (this.base) this.#first.set(key, found.array);
    return found;
  }

  /** The recorded numbers, in place of what cannot be computed. */
  keep(key: string, kept: Kept, state: Known, value: Maybe): Known {
    if (this.base && !this.#refused.has(key)) this.#refused.set(key, kept);
    const known = this.constant(value);
    if (this.base) this.#first.set(key, known.array);
    const stale = state.touched || state.stale;
    if (stale && !state.stale) this.keeps(this.#refused.get(key) ?? kept);
    return { array: known.array, touched: stale, stale };
  }

  keeps(kept: Kept): void {
    if (kept.why !== "" && !this.kept.some((each) => each.what === kept.what && each.why === kept.why)) this.kept.push(kept);
  }
}

// ---- The operands of expressions: their names, and their combined state.
const places = new Map<string, [list: string, at: number]>();

/** A name such as `inputs[1]` as its list and index; for any other name the index is 0. */
export function placeOf(name: string): [list: string, at: number] {
  const known = places.get(name);
  if (known) return known;
  const [, list = name, at = "0"] = /^(inputs|reads|grads)\[(\d+)\]$/.exec(name) ?? [];
  const found: [string, number] = [list, Number(at)];
  places.set(name, found);
  return found;
}

const names = new WeakMap<object, string[]>();

/** The operands of an expression. */
export function namesIn(expression: Expression): string[] {
  if (typeof expression === "string") return [expression];
  if (!Array.isArray(expression)) return [];
  const known = names.get(expression);
  if (known) return known;
  const [name, ...args] = expression;
  const found = ["dtype", "text", "float"].includes(name) ? [] : [...new Set(args.flatMap(namesIn))];
  names.set(expression, found);
  return found;
}

/** The combined state of several arrays: touched, or stale, if any of them is. */
export function together(all: readonly Known[]): Known {
  return { array: null, touched: all.some((each) => each.touched), stale: all.some((each) => each.stale) };
}

/** Whether two arrays hold the same numbers. */
export function alike(a: NumberArray | null, b: NumberArray | null): boolean {
  return a === b || (a !== null && b !== null && a.data.length === b.data.length && a.data.every((x, at) => Object.is(x, b.data[at])));
}

export function added(a: Known, b: Known): Known {
  const [x, y] = [a.array, b.array];
  const state = together([a, b]);
  return { ...state, array: x && y && !state.stale && computes(y.dtype) ? make(y.shape, y.dtype, (at) => (x.data[at] as number) + (y.data[at] as number)) : null };
}

// ---- The origins of tensors that no op of the trace created. What existed before the program keeps its values. A
// tensor may also be a gradient that was passed to a hook, to `backward` of a Function or returned by
// `autograd.grad`: it is recognised by the equal recorded numbers. And what the library created on its way to
// something else may depend on anything: it keeps its recorded numbers, and is marked.
export class Origins {
  /** By recorded preview, the gradient that was seen with it; null if there were several, which now differ. */
  readonly #gradients = new Map<number, Known | null>();
  /** The gradients of the running node. */
  #running: [value: Maybe, known: Known | null][] = [];
  /** By recorded preview, the results of ops since the node began to run, or since its last hook. */
  #results = new Map<number, Known | null>();
  /** Whether one of these depends on a number that was changed. */
  #touched = false;
  /** PyTorch's reader does not report which tensors were created while the program ran. */
  readonly #unsure: boolean;

  constructor(
    private readonly trace: Trace,
    private readonly changed: boolean,
  ) {
    this.#unsure = !trace.library.startsWith("minigrad");
  }

  /** A gradient was passed on. */
  addGradient(value: Maybe, known: Known): void {
    if (value !== null) note(this.#gradients, value, known);
  }

  /** An op has returned a tensor. */
  addResult(value: Maybe, known: Known): void {
    if (value !== null) note(this.#results, value, known);
    this.#touched ||= known.touched || known.stale;
  }

  /** The result of an op inside a node or a hook, if that is what it returned. */
  resultInside(value: Maybe): Known | undefined {
    const result = value === null ? undefined : this.#results.get(value);
    return result && !result.stale ? result : undefined;
  }

  /** Whether an op that ran inside depends on a changed number. */
  get touchedInside(): boolean {
    return this.#touched;
  }

  /** The result of a hook: that of an op in it, or the gradient unchanged; else it keeps its recorded numbers. */
  afterHook(value: Maybe, given: boolean): Known {
    const found = this.resultInside(value) ?? this.#running.find(([before]) => before === value)?.[1];
    const stale = !found && (given || this.#touched);
    return found ?? { array: numbersOf(this.trace.values[value ?? -1]), touched: stale, stale };
  }

  /** A node runs with these gradients, or a hook has returned them. */
  enterNode(values: readonly Maybe[], known: readonly (Known | null)[]): void {
    this.#running = values.map((value, at) => [value, known[at] ?? null]);
    for (const [value, each] of this.#running) if (each) this.addGradient(value, each);
    [this.#results, this.#touched] = [new Map(), false];
  }

  /** The values of a tensor that no op created; undefined if they are the recorded ones. */
  content(id: number, keeps: (kept: Kept) => void): Known | undefined {
    const record = this.trace.tensors[id];
    if (!record?.is_leaf || !(record.unexplained || (this.#unsure && !record.requires_grad))) return undefined;
    const now = this.#running.find(([value]) => value === record.value)?.[1];
    const found = now ?? this.#gradients.get(record.value);
    if (found) return found;
    if (!this.changed || (found === undefined && !record.unexplained)) return undefined;
    const why = found === null ? "several gradients were recorded with its numbers" : "no op of the recording has made it";
    keeps({ what: record.name ?? `a tensor of ${record.dtype}`, why });
    return { array: numbersOf(this.trace.values[record.value]), touched: true, stale: true };
  }
}

/** Notes what was seen with a preview; null if it differs from what was seen with it before. */
function note(seen: Map<number, Known | null>, value: number, known: Known): void {
  const before = seen.get(value);
  const same = before === undefined || (before !== null && before.stale === known.stale && alike(before.array, known.array));
  seen.set(value, same ? known : null);
}
