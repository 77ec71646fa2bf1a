/** A model without a kernel, and a trace small enough to read. */
import type { Model } from "../src/page/link";
import type { Trace } from "../src/trace/types";

export class FakeModel implements Model {
  saves = 0;
  readonly state: Record<string, unknown>;
  private readonly heard = new Map<string, Set<() => void>>();

  constructor(state: Record<string, unknown>) {
    this.state = { lens: "backward", step: 0, selected: null, calls: [], ...state };
  }

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    for (const callback of this.heard.get(`change:${name}`) ?? []) callback();
  }

  save_changes(): void {
    this.saves += 1;
  }

  on(name: string, callback: () => void): void {
    this.heard.set(name, (this.heard.get(name) ?? new Set()).add(callback));
  }

  off(name: string, callback: () => void): void {
    this.heard.get(name)?.delete(callback);
  }
}

const scalar = (data: number) => ({ shape: [], dtype: "float32", data: [data] });
const place = { file: 0, line: 2 };

/** y = x * x, then y.backward(): two edges lead to one accumulator. */
export function square(name = "x"): Trace {
  const leaf = { shape: [], dtype: "float32", requires_grad: true, output_nr: 0, parameter: false, bytes: 4 };
  return {
    format: "minigrad-trace",
    version: 1,
    library: "made by hand",
    files: [{ name: "cell 1", lines: [`${name} = tensor(3.)`, `y = ${name} * ${name}`, "y.backward()"] }],
    values: [scalar(3), scalar(9), scalar(1), scalar(6)],
    tensors: [
      { ...leaf, name, is_leaf: true, node: null, storage: 0, value: 0 },
      { ...leaf, name: "y", is_leaf: false, node: 0, storage: 1, value: 1 },
    ],
    nodes: [
      { name: "MulBackward0", sequence_nr: 0, next: [[1, 0], [1, 0]], inputs: [0, 0], outputs: [1], saved: [["self", 0, 0], ["other", 0, 0]], ...place },
      { name: "AccumulateGrad", sequence_nr: null, next: [], inputs: [], outputs: [], saved: [], variable: 0, file: null, line: null },
    ],
    formulas: { MulBackward0: "return g * b, g * a" },
    events: [
      { kind: "forward", op: "mul", node: 0, inputs: [0, 0], outputs: [1], ...place, bytes: [0, 8, 0, 0] },
      { kind: "save", node: 0, ...place },
      { kind: "backward_start", roots: [[0, 0, 2]], needs: [[0, 0], [1, 2]], create_graph: false, retain_graph: false, inputs: null, file: 0, line: 3 },
      { kind: "ready", node: 0 },
      { kind: "run", node: 0, gradient: [2] },
      { kind: "release", node: 0 },
      { kind: "flow", node: 0, index: 0, to: 1, output_nr: 0, gradient: 0, sum: 0 },
      { kind: "flow", node: 0, index: 1, to: 1, output_nr: 0, gradient: 0, sum: 3 },
      { kind: "ready", node: 1 },
      { kind: "run", node: 1, gradient: [3] },
      { kind: "accumulate", node: 1, tensor: 0, gradient: 3, grad: 3 },
      { kind: "backward_end" },
    ],
    layout: { nodes: { 0: [120, 47], 1: [120, 151] }, size: [240, 200] },
  };
}
