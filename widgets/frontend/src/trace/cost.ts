/** The cost of each node: time, if a recording has it, saved bytes, and floating-point operations of its op. */
import { bytes as amount } from "./format";
import type { Maybe, Trace } from "./types";

export const COSTS = [
  ["forward", "time of the op"],
  ["backward", "time of its derivative"],
  ["saved", "saved bytes"],
  ["flops", "FLOPs of the op"],
] as const;
export type Cost = (typeof COSTS)[number][0];

/** Ops that only view memory differently. */
const VIEWS = /^(View|Reshape|ReshapeAlias|UnsafeView|T|Transpose|Permute|Expand|Slice|Select|Squeeze|Unsqueeze|Alias|Detach|Split|SplitWithSizes|Unbind|AsStrided|Narrow|Unfold|Diagonal|Movedim|Flatten|Unflatten|AccumulateGrad)/;

const numel = (shape: readonly number[] | undefined): number => (shape ?? []).reduce((a, b) => a * b, 1);

/** For products, two for each multiplied and added pair; for every other op, one for each element of its results. */
function flops(trace: Trace, id: number): number {
  const node = trace.nodes[id];
  const shapes = (list: readonly Maybe[] | undefined): number[][] => (list ?? []).flatMap((at) => (at === null ? [] : [trace.tensors[at]?.shape ?? []]));
  const [given, made] = [shapes(node?.inputs), shapes(node?.outputs)];
  const name = node?.name ?? "";
  const results = made.reduce((sum, shape) => sum + numel(shape), 0);
  if (VIEWS.test(name)) return 0;
  if (/^(Linear|Mm|Bmm|Matmul|Dot|Mv)(Backward|$)/.test(name)) return 2 * results * (given[0]?.at(-1) ?? 1);
  if (/^(Addmm|Baddbmm|Addmv)(Backward|$)/.test(name)) return 2 * results * (given.at(-2)?.at(-1) ?? 1);
  if (/^(Mkldnn|Slow|Cudnn)?Conv/.test(name)) return (2 * results * numel(given[1])) / Math.max(1, given[1]?.[0] ?? 1);
  if (/^ScaledDotProduct/.test(name)) return 4 * numel(given[0]) * (given[1]?.at(-2) ?? 1);
  return results;
}

export class Costs {
  /** By node: the storages that it held for its derivative. Parameters exist anyway. */
  readonly #saved = new Map<number, Set<number>>();
  readonly #timed: boolean;

  constructor(private readonly trace: Trace) {
    const parameters = new Set(trace.tensors.flatMap((tensor) => (tensor.parameter ? [tensor.storage] : [])));
    for (const event of trace.events) {
      for (const [storage, what, id] of event.held ?? []) {
        if (what === 2 && id !== null && !parameters.has(storage)) this.#saved.set(id, (this.#saved.get(id) ?? new Set()).add(storage));
      }
    }
    this.#timed = trace.nodes.some((node) => node.seconds !== undefined);
  }

  /** The costs that this recording knows. */
  get known(): Cost[] {
    return COSTS.map(([name]) => name).filter((name) => this.#timed || name === "saved" || name === "flops");
  }

  /** The combined cost of some nodes: a storage that several of them hold counts once. */
  of(cost: Cost, nodes: readonly number[]): number {
    if (cost === "saved") {
      const held = new Set(nodes.flatMap((id) => [...(this.#saved.get(id) ?? [])]));
      return [...held].reduce((sum, storage) => sum + (this.trace.storages?.[storage] ?? 0), 0);
    }
    const one = (id: number): number => (cost === "flops" ? flops(this.trace, id) : (this.trace.nodes[id]?.seconds?.[cost === "forward" ? 0 : 1] ?? 0));
    return nodes.reduce((sum, id) => sum + one(id), 0);
  }
}

/** A cost with its unit. */
export function costText(cost: Cost, value: number): string {
  const scaled = (by: readonly (readonly [number, string])[]): string => {
    const [size, unit] = by.find(([least]) => value >= least) ?? by.at(-1) ?? [1, ""];
    return `${Number((value / size).toPrecision(3))} ${unit}`.trim();
  };
  if (cost === "saved") return amount(value);
  if (cost === "flops") return scaled([[1e9, "GFLOP"], [1e6, "MFLOP"], [1e3, "kFLOP"], [1, "FLOP"]]);
  return value === 0 ? "0 s" : scaled([[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]);
}
