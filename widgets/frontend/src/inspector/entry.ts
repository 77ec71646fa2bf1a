/**
 * The arithmetic of one entry of a large result: the numbers at its position, or the products and terms summed there.
 */
import { Unsupported, broadcastTo, isArray, matmul, strides, type NumberArray, type Argument } from "../live/arrays";
import { evaluate, isElementwise } from "../live/functions";
import { pieces } from "../trace/expression";
import { number } from "../trace/format";
import type { Expression } from "../trace/types";

/** The numbers of an operand; undefined if they are unknown. */
export type Held = (operand: string) => NumberArray | undefined;

/** The number of terms of a sum that are written out. */
const TERMS = 3;

/** The index along each dimension of an entry in row-major order. */
export function indexOf(shape: readonly number[], at: number): number[] {
  return strides(shape).map((step, dim) => Math.floor(at / step) % (shape[dim] as number));
}

/** One number of an array, with at most this many digits. */
export function entryText(x: number, digits = 4): string {
  return number(Number.isFinite(x) ? Number(x.toPrecision(digits)) : String(x).toLowerCase().replace("infinity", "inf"));
}

const written = (x: number): string => entryText(x, 3);

function isPointwise(expression: Expression): boolean {
  if (!Array.isArray(expression)) return true;
  const [name, ...args] = expression;
  return name === "dtype" || name === "float" || (isElementwise(name) && args.every(isPointwise));
}

/** A sum of numbers in words; if there are many, the first few. */
function sum(terms: readonly string[], what: string): string {
  if (terms.length <= TERMS) return terms.join(" + ");
  return `${terms.slice(0, TERMS).join(" + ")} + … (${terms.length} ${what})`;
}

class Entry {
  constructor(
    private readonly held: Held,
    private readonly shape: readonly number[],
  ) {}

  /** How the entry at a position of an expression's result is computed; null if that is not shown. */
  of(expression: Expression, at: number): string | null {
    if (isPointwise(expression)) return this.#pointwise(expression, at);
    if (!Array.isArray(expression)) return null;
    const [name, ...args] = expression;
    if (name === "matmul") return this.#product(args, at);
    if (name === "sum") return this.#total(expression, args, at);
    if (name === "swapaxes" && this.shape.length === 2) return this.#turned(args, at);
    return null;
  }

  #pointwise(expression: Expression, at: number): string {
    const write = (operand: string): string => {
      const array = this.held(operand);
      return array ? written(broadcastTo(array, this.shape).data[at] as number) : operand;
    };
    return pieces(expression, write).map(({ text }) => text).join("");
  }

  #array(expression: Expression | undefined): NumberArray {
    const found: Argument = evaluate(expression ?? null, (operand) => this.held(operand));
    if (!isArray(found)) throw new Unsupported("a result that is no array");
    return found;
  }

  /** A row by a column. */
  #product([left, right]: Expression[], at: number): string | null {
    const [a, b] = [this.#array(left), this.#array(right)];
    if (a.shape.length !== 2 || b.shape.length !== 2 || matmul(a, b).data.length <= at) return null;
    const [inner, columns] = b.shape as [number, number];
    const [row, column] = [Math.floor(at / columns), at % columns];
    const terms = Array.from({ length: inner }, (_, k) => `${written(a.data[row * inner + k] as number)}·${written(b.data[k * columns + column] as number)}`);
    return sum(terms, "products");
  }

  /** The entries that a sum adds. */
  #total(expression: Expression, [inner, dims, keep]: Expression[], at: number): string | null {
    const x = this.#array(inner);
    const result = this.#array(expression);
    const gone = Array.isArray(dims) ? dims.slice(1).map(Number) : typeof dims === "number" ? [dims] : x.shape.map((_, dim) => dim);
    const summed = gone.map((dim) => (dim + x.shape.length) % x.shape.length);
    const place = indexOf(result.shape, at);
    const kept = keep === true ? place : x.shape.map((_, dim) => (summed.includes(dim) ? 0 : (place.shift() ?? 0)));
    const terms: string[] = [];
    x.data.forEach((term, i) => {
      if (indexOf(x.shape, i).every((n, dim) => summed.includes(dim) || n === kept[dim])) terms.push(written(term));
    });
    return sum(terms, "terms");
  }

  #turned([inner, i, j]: Expression[], at: number): string | null {
    if (i === j) return null;
    const [rows, columns] = this.shape as [number, number];
    return new Entry(this.held, [columns, rows]).of(inner ?? null, (at % columns) * rows + Math.floor(at / columns));
  }
}

/** The arithmetic of the entry at a position of a result; null if the numbers are unknown, or it cannot be shown. */
export function entryArithmetic(expression: Expression, shape: readonly number[], at: number, held: Held): string | null {
  try {
    return new Entry(held, shape).of(expression, at);
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
}
