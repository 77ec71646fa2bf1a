/** Evaluates the expressions of a trace (docs/trace.md, *Expression*). */
import { cast, Dtype, isArray, Unsupported } from "./arrays";
import type { Argument, NumberArray } from "./arrays";
import { array, FUNCTIONS } from "./functions";
import type { Expression } from "../trace/types";

/** The value of a name; undefined if there is none. */
export type Operands = (name: string) => Argument | undefined;

const NUMBERS: Record<string, number> = { nan: NaN, inf: Infinity, "-inf": -Infinity };

export function evaluate(expression: Expression, operands: Operands): Argument {
  if (typeof expression === "string") {
    const found = operands(expression);
    if (found === undefined) throw new Unsupported(`the trace does not hold ${expression}`);
    return found;
  }
  if (!Array.isArray(expression)) return expression;
  const [name, ...args] = expression;
  if (name === "dtype") return new Dtype(String(args[0]));
  if (name === "text") return new Dtype(String(args[0]));
  if (name === "float") return NUMBERS[String(args[0])] ?? NaN;
  const call = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
  if (!call) throw new Unsupported(`${name.replace(/Backward\d+$/, "")} is not computed here`);
  return call(...args.map((each) => evaluate(each, operands)));
}

/** The array of an expression, in the recorded dtype and shape. */
export function evaluated(expression: Expression, operands: Operands, like: { shape: readonly number[]; dtype: string } | null): NumberArray {
  const found = evaluate(expression, operands);
  const result = isArray(found) ? found : array(found);
  if (!like) return result;
  if (result.shape.length !== like.shape.length || result.shape.some((n, i) => n !== like.shape[i])) throw new Unsupported("a result of another shape");
  return cast(result, like.dtype);
}
