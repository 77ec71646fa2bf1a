/** The holders of every storage that is alive at a step, each storage once. minigrad/trace/holders.py does the same. */
import { KINDS, type Holder, type Maybe, type Trace } from "./types";
import { chain, scopeTitle } from "./groups";
import { nodeName, shape, tensorName } from "./format";

export interface Held {
  storage: number;
  bytes: number;
  kind: string;
  holders: Holder[];
}

/** The kinds of holders, and the kind of `bytes` as which each makes a storage count; the first present one decides. */
const RANK: [what: number, kind: number][] = [[0, 0], [5, 4], [2, 2], [3, 3], [4, 3], [1, 1]];

function kindOf(holders: readonly Holder[]): string {
  return KINDS[RANK.find(([what]) => holders.some((holder) => holder[0] === what))?.[1] ?? 1] ?? "";
}

function byNumber([a, of]: Holder, [b, other]: Holder): number {
  return a - b || (of ?? -1) - (other ?? -1);
}

/** Works in both directions: going back removes what a step added. */
export class Holders {
  #step = -1;
  readonly #live = new Map<number, Holder[]>();

  constructor(private readonly trace: Trace) {}

  goTo(step: number): void {
    while (this.#step < step) {
      const event = this.trace.events[++this.#step];
      this.#change(event?.held ?? [], event?.dropped ?? []);
    }
    while (this.#step > step) {
      const event = this.trace.events[this.#step--];
      this.#change(event?.dropped ?? [], event?.held ?? []);
    }
  }

  held(): Held[] {
    return [...this.#live].sort(([a], [b]) => a - b).map(([storage, holders]) => {
      const bytes = this.trace.storages?.[storage] ?? 0;
      return { storage, bytes, kind: kindOf(holders), holders: [...holders].sort(byNumber) };
    });
  }

  #change(held: readonly [number, ...Holder][], dropped: readonly [number, ...Holder][]): void {
    for (const [storage, ...holder] of held) this.#live.set(storage, [...(this.#live.get(storage) ?? []), holder]);
    for (const [storage, what, of] of dropped) {
      const holders = this.#live.get(storage) ?? [];
      const at = holders.findIndex((holder) => holder[0] === what && holder[1] === of);
      const left = holders.filter((_, i) => i !== at);
      if (left.length > 0) this.#live.set(storage, left);
      else this.#live.delete(storage);
    }
  }
}

/** When nodes save, and as what a storage counts if not as saved. One pass over the events; then each answer is quick. */
export class Savings {
  readonly #saves = new Map<number, number>();
  /** By storage, when holders that rank above "saved" began or ceased: a parameter, the state of an optimizer. */
  readonly #ranked = new Map<number, [step: number, what: number, more: number][]>();

  constructor(trace: Trace) {
    trace.events.forEach((event, step) => {
      if (event.kind === "save") this.#saves.set(event.node, step);
      for (const [list, more] of [[event.held, 1], [event.dropped, -1]] as const) {
        for (const [storage, what] of list ?? []) {
          if (what !== 0 && what !== 5) continue;
          this.#ranked.set(storage, this.#ranked.get(storage) ?? []);
          this.#ranked.get(storage)?.push([step, what, more]);
        }
      }
    });
  }

  /** Whether a node saves at a later step, so that it holds nothing yet. */
  later(node: number, step: number): boolean {
    return (this.#saves.get(node) ?? -1) > step;
  }

  /** As what a saved storage counts at a step, in words; "" if it counts as saved. */
  countsAs(storage: number, step: number): string {
    const held = (what: number): boolean =>
      (this.#ranked.get(storage) ?? []).reduce((sum, [at, kind, more]) => sum + (at <= step && kind === what ? more : 0), 0) > 0;
    return held(0) ? "a parameter" : held(5) ? "state of the optimizer" : "";
  }
}

/** A holder of a storage, in words; the node to show. */
export interface Named {
  text: string;
  node: Maybe;
}

export class Makers {
  readonly #first = new Map<number, number>();
  readonly #made = new Map<number, number>();

  constructor(private readonly trace: Trace) {
    trace.tensors.forEach(({ storage }, id) => {
      if (!this.#first.has(storage)) this.#first.set(storage, id);
    });
    trace.events.forEach((event, step) => {
      if (event.kind !== "forward") return;
      for (const id of event.outputs) if (!this.#made.has(id)) this.#made.set(id, step);
    });
  }

  /** The contents of a storage: the tensor that it was first seen with. */
  what({ storage, holders }: Held): string {
    const id = this.#first.get(storage);
    if (id === undefined) return holders.every(([what]) => what === 3 || what === 4) ? "a gradient" : "an array";
    return `${tensorName(this.trace, id)} ${shape(this.trace.tensors[id]?.shape ?? [])}`;
  }

  isTensor({ storage }: Held): boolean {
    return this.#first.has(storage);
  }

  /** The op that created it, with the module around it. */
  maker({ storage }: Held): Named | null {
    const step = this.#made.get(this.#first.get(storage) ?? -1);
    const event = step === undefined ? undefined : this.trace.events[step];
    if (event?.kind !== "forward") return null;
    const scope = event.node === null ? event.scope : this.trace.nodes[event.node]?.scope;
    const path = chain(this.trace, scope).map((id) => scopeTitle(this.trace, id)).reverse().join(".");
    return { text: path === "" ? event.op : `${event.op} in ${path}`, node: event.node };
  }

  holder([what, of]: Holder): Named {
    if (what === 5) return { text: `optimizer state${of === null ? "" : ` of ${tensorName(this.trace, of)}`}`, node: null };
    if (of === null) return { text: what === 2 ? "a checkpoint" : "a .grad", node: null };
    if (what === 2) return { text: `saved by ${nodeName(this.trace, of)}`, node: of };
    if (what === 4) return { text: `waits at ${nodeName(this.trace, of)}`, node: of };
    return { text: `${tensorName(this.trace, of)}${what === 3 ? ".grad" : ""}`, node: null };
  }
}
