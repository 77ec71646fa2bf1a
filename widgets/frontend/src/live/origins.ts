/**
 * The origins of tensors that no op of the trace created.
 *
 * What existed before the program keeps its values. A tensor may also be a gradient that was passed to a hook, to
 * `backward` of a Function or returned by `autograd.grad`: it is recognised by the equal recorded numbers. And what the
 * library created on its way to something else may depend on anything: it keeps its recorded numbers, and is marked.
 */
import type { Known } from "./memory";
import { numbersOf } from "./numbers";
import { alike } from "./operands";
import type { Kept } from "./results";
import type { Maybe, Trace } from "../trace/types";

export class Origins {
  /** By recorded preview, the gradient that was seen with it; null if there were several, which now differ. */
  private readonly gradients = new Map<number, Known | null>();
  /** The gradients of the running node. */
  private running: [value: Maybe, known: Known | null][] = [];
  /** By recorded preview, the results of ops since the node began to run, or since its last hook. */
  private results = new Map<number, Known | null>();
  /** Whether one of these depends on a number that was changed. */
  private touched = false;
  /** PyTorch's reader does not report which tensors were created while the program ran. */
  private readonly unsure: boolean;

  constructor(
    private readonly trace: Trace,
    private readonly changed: boolean,
  ) {
    this.unsure = !trace.library.startsWith("minigrad");
  }

  /** A gradient was passed on. */
  addGradient(value: Maybe, known: Known): void {
    if (value !== null) note(this.gradients, value, known);
  }

  /** An op has returned a tensor. */
  addResult(value: Maybe, known: Known): void {
    if (value !== null) note(this.results, value, known);
    this.touched ||= known.touched || known.stale;
  }

  /** The result of an op inside a node or a hook, if that is what it returned. */
  resultInside(value: Maybe): Known | undefined {
    const result = value === null ? undefined : this.results.get(value);
    return result && !result.stale ? result : undefined;
  }

  /** Whether an op that ran inside depends on a changed number. */
  get touchedInside(): boolean {
    return this.touched;
  }

  /** The result of a hook: that of an op in it, or the gradient unchanged; else it keeps its recorded numbers. */
  afterHook(value: Maybe, given: boolean): Known {
    const found = this.resultInside(value) ?? this.running.find(([before]) => before === value)?.[1];
    const stale = !found && (given || this.touched);
    return found ?? { array: numbersOf(this.trace.values[value ?? -1]), touched: stale, stale };
  }

  /** A node runs with these gradients, or a hook has returned them. */
  enterNode(values: readonly Maybe[], known: readonly (Known | null)[]): void {
    this.running = values.map((value, at) => [value, known[at] ?? null]);
    for (const [value, each] of this.running) if (each) this.addGradient(value, each);
    [this.results, this.touched] = [new Map(), false];
  }

  /** The values of a tensor that no op created; undefined if they are the recorded ones. */
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

/** Notes what was seen with a preview; null if it differs from what was seen with it before. */
function note(seen: Map<number, Known | null>, value: number, known: Known): void {
  const before = seen.get(value);
  const same = before === undefined || (before !== null && before.stale === known.stale && alike(before.array, known.array));
  seen.set(value, same ? known : null);
}
