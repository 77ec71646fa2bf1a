/**
 * Where the numbers of a tensor come from that no op of the trace has made.
 *
 * What was there before the program holds what it held. A tensor may also be a gradient that came by: hooks, `backward`
 * of a Function and `autograd.grad` give such ones. It is known by the numbers that were recorded of both. And what the
 * library has made on its way to something else may depend on anything: it keeps its recorded numbers, and says so.
 */
import type { Known } from "./memory";
import { numbersOf } from "./numbers";
import { alike } from "./operands";
import type { Kept } from "./results";
import type { Maybe, Trace } from "../trace/types";

export class Origins {
  /** By recorded preview, the gradient that was seen with it; null where several were, which differ now. */
  private readonly gradients = new Map<number, Known | null>();
  /** The gradients of the node that runs. */
  private running: [value: Maybe, known: Known | null][] = [];
  /** By recorded preview, what ops have given since the node began to run, or since a hook of it has run. */
  private results = new Map<number, Known | null>();
  /** Whether one of these depends on a number that was changed. */
  private touched = false;
  /** PyTorch's reader does not say which tensors were made while the program ran. */
  private readonly unsure: boolean;

  constructor(
    private readonly trace: Trace,
    private readonly changed: boolean,
  ) {
    this.unsure = !trace.library.startsWith("minigrad");
  }

  /** A gradient came by. */
  addGradient(value: Maybe, known: Known): void {
    if (value !== null) note(this.gradients, value, known);
  }

  /** An op has given a tensor. */
  addResult(value: Maybe, known: Known): void {
    if (value !== null) note(this.results, value, known);
    this.touched ||= known.touched || known.stale;
  }

  /** What an op gave that ran inside of a node or a hook, if that is what it has left. */
  resultInside(value: Maybe): Known | undefined {
    const result = value === null ? undefined : this.results.get(value);
    return result && !result.stale ? result : undefined;
  }

  /** Whether an op that ran inside depends on a number that was changed. */
  get touchedInside(): boolean {
    return this.touched;
  }

  /** What a hook has left: what an op in it gave, or the gradient as it was; else it keeps its recorded numbers. */
  afterHook(value: Maybe, given: boolean): Known {
    const found = this.resultInside(value) ?? this.running.find(([before]) => before === value)?.[1];
    const stale = !found && (given || this.touched);
    return found ?? { array: numbersOf(this.trace.values[value ?? -1]), touched: stale, stale };
  }

  /** A node runs with these gradients, or a hook has left them. */
  enterNode(values: readonly Maybe[], known: readonly (Known | null)[]): void {
    this.running = values.map((value, at) => [value, known[at] ?? null]);
    for (const [value, each] of this.running) if (each) this.addGradient(value, each);
    [this.results, this.touched] = [new Map(), false];
  }

  /** What a tensor holds that no op has made; undefined where that is what was recorded of it. */
  content(id: number, keeps: (kept: Kept) => void): Known | undefined {
    const record = this.trace.tensors[id];
    if (!record?.is_leaf || !(record.unexplained || (this.unsure && !record.requires_grad))) return undefined;
    const now = this.running.find(([value]) => value === record.value)?.[1];
    const found = now ?? this.gradients.get(record.value);
    if (found) return found;
    if (!this.changed || (found === undefined && !record.unexplained)) return undefined;
    const why = found === null ? "several gradients were recorded with its numbers" : "no op of the recording has made it";
    keeps({ what: record.name ?? `a tensor of ${record.dtype}`, why });
    return { array: numbersOf(this.trace.values[record.value]), touched: true, stale: true };
  }
}

/** Notes what was seen with a preview; null if it is not what was seen with it before. */
function note(seen: Map<number, Known | null>, value: number, known: Known): void {
  const before = seen.get(value);
  const same = before === undefined || (before !== null && before.stale === known.stale && alike(before.array, known.array));
  seen.set(value, same ? known : null);
}
