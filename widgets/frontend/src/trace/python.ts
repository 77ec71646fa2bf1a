/** A traversal by hand as Python source that runs when pasted: the same lines as `Trace.traverse` gives. */
import type { Maybe, Scalar, Trace, Value } from "./types";

/** A number as Python's `repr` writes it. */
export function repr(entry: Scalar, dtype: string): string {
  if (typeof entry === "boolean") return entry ? "True" : "False";
  if (typeof entry !== "number") return `float('${String(entry)}')`;
  if (!dtype.includes("float")) return String(entry);
  const size = Math.abs(entry);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return entry.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(entry) ? `${entry}.0` : String(entry);
}

function tuple(sizes: readonly number[]): string {
  return sizes.length === 1 ? `(${sizes[0]},)` : `(${sizes.join(", ")})`;
}

function word(name: string): string {
  return name.replace(/[^\p{L}\p{N}_]/gu, "_");
}

/** What is needed of an arrived gradient to write it down. */
export interface Written {
  output_nr: number;
  expression: string;
}

export class PythonWriter {
  readonly lines: string[];
  private readonly names = new Map<number, string>();

  constructor(private readonly trace: Trace) {
    this.lines = [`import ${trace.library.startsWith("torch") ? "torch" : "minigrad as torch"}`];
  }

  /** The gradient that a pass starts with, and the name by which its node is reached. */
  root(node: number, output_nr: number, value: Maybe): string {
    const tensor = this.tensor(node, output_nr);
    const leaf = this.trace.nodes[node]?.variable !== undefined;
    const way = leaf ? `${tensor}.view_as(${tensor}).grad_fn.next_functions[0][0]` : `${tensor}.grad_fn`;
    if (!this.names.has(node)) this.names.set(node, way);
    return this.gradient(tensor, value);
  }

  /** The line that makes a call; gives the name of what it returns. */
  call(node: number, number: number, arguments_: number, here: readonly Written[]): string {
    const record = this.trace.nodes[node];
    if (this.names.get(node) !== `n${node}`) {
      this.lines.push(`n${node} = ${this.names.get(node) ?? ""}  # ${record?.name ?? ""}`);
      this.names.set(node, `n${node}`);
    }
    const given = Array.from({ length: arguments_ }, (_, output) => {
      const parts = here.filter((each) => each.output_nr === output && each.expression !== "");
      return parts.map((each) => each.expression).join(" + ") || "None";
    });
    const result = record?.variable === undefined ? `r${number} = ` : "";
    this.lines.push(`${result}n${node}(${given.join(", ")})`);
    return `r${number}`;
  }

  /** Remembers how a node is reached from one that leads to it. */
  reach(node: number, from: number, index: number): void {
    if (!this.names.has(node)) this.names.set(node, `${this.names.get(from) ?? ""}.next_functions[${index}][0]`);
  }

  private tensor(node: number, output_nr: number): string {
    const variable = this.trace.nodes[node]?.variable;
    const found: number[] = [];
    this.trace.tensors.forEach((tensor, id) => {
      if (tensor.node === node && tensor.output_nr === output_nr) found.push(id);
    });
    const candidates = variable === undefined ? found : [variable];
    const named = candidates.map((id) => this.trace.tensors[id]?.name).find((name) => name);
    if (named) return named;
    const name = `tensor_${candidates[0] ?? node}`;
    this.lines.push(`# ${name} stands for the tensor that backward() was called on: it has no name`);
    return name;
  }

  private gradient(tensor: string, id: Maybe): string {
    const value = id === null ? undefined : this.trace.values[id];
    if (!value) return "None";
    const data = value.data ?? (value.stats ? [value.stats.min, value.stats.max] : []);
    if (data.every((entry) => entry === 1 || entry === true)) return `torch.ones_like(${tensor})`;
    const same = new Set(data.map(String)).size === 1;
    if (same && typeof data[0] !== "string") return `torch.full_like(${tensor}, ${repr(data[0] ?? null, value.dtype)})`;
    return value.data ? literal(value, value.data) : this.tooLarge(tensor);
  }

  private tooLarge(tensor: string): string {
    const name = `gradient_of_${word(tensor)}`;
    this.lines.push(`# ${name} stands for the gradient that backward() was given: it is too large to be written here`);
    return name;
  }
}

function literal(value: Value, data: readonly Scalar[]): string {
  const numbers = data.map((entry) => repr(entry, value.dtype)).join(", ");
  return `torch.tensor([${numbers}], dtype=torch.${value.dtype}).reshape(${tuple(value.shape)})`;
}
