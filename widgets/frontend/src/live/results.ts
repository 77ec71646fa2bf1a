/**
 * The results of expressions, compared with the recording.
 *
 * In the first run nothing is changed: what cannot be computed, or differs from Python's result, keeps its recorded
 * numbers from then on.
 */
import { checkSize, product, Unsupported } from "./arrays";
import type { Argument, NumberArray } from "./arrays";
import { evaluated } from "./evaluate";
import type { Known } from "./memory";
import { agrees, numbersOf } from "./numbers";
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
  private readonly refused = new Map<string, Kept>();
  private readonly first = new Map<string, NumberArray | null>();

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
    if (!this.base && !state.touched && !state.stale) return { array: this.first.get(key) ?? null, touched: false, stale: false };
    const expression: Expression | undefined = index === undefined ? undefined : this.recorded.expressions?.[index];
    let found: NumberArray | null = null;
    let reason = why ?? (expression === undefined ? "no expression was recorded for it" : "");
    if (expression !== undefined && !why && !state.stale && !this.refused.has(key)) {
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
    if (!found.array || found.stale || this.refused.has(key)) return this.keep(key, { what, why: "" }, found, value);
    if (this.base && recorded && !agrees(found.array, recorded)) {
      return this.keep(key, { what, why: "it does not give here what was recorded" }, found, value);
    }
    if (this.base) this.first.set(key, found.array);
    return found;
  }

  /** The recorded numbers, in place of what cannot be computed. */
  keep(key: string, kept: Kept, state: Known, value: Maybe): Known {
    if (this.base && !this.refused.has(key)) this.refused.set(key, kept);
    const known = this.constant(value);
    if (this.base) this.first.set(key, known.array);
    const stale = state.touched || state.stale;
    if (stale && !state.stale) this.keeps(this.refused.get(key) ?? kept);
    return { array: known.array, touched: stale, stale };
  }

  keeps(kept: Kept): void {
    if (kept.why !== "" && !this.kept.some((each) => each.what === kept.what && each.why === kept.why)) this.kept.push(kept);
  }
}
