/** The arithmetic of a derivative as a line of text: docs/trace.md, *Expression*. */
import { number } from "./format";
import { INFIX, NAMES, OPPOSITES, WORDS } from "./sentences";
import type { Expression } from "./types";

/** A piece of a line; one for an operand has its name. */
export interface Piece {
  text: string;
  operand?: string;
}

/** How an operand is written: by its name, or by its value. */
export type Written = (operand: string) => string;

interface Part {
  pieces: Piece[];
  level: number;
}

/** The precedence of a part, as in INFIX; a part of lower precedence is parenthesised. */
const [LOGIC, COMPARE, SUM, SIGN, POWER, ATOM] = [0, 1, 2, 4, 5, 6] as const;
const DEEPEST = 40;
/** An end that no index reaches: PyTorch passes the largest integer for an omitted end. */
const FAR = 2 ** 53;

const piece = (text: string): Piece => ({ text });
const atom = (text: string): Part => ({ pieces: [piece(text)], level: ATOM });

function inside(part: Part, level: number): Piece[] {
  return part.level >= level ? part.pieces : [piece("("), ...part.pieces, piece(")")];
}

function joined(parts: readonly Part[]): Piece[] {
  return parts.flatMap((part, at) => [...(at > 0 ? [piece(", ")] : []), ...part.pieces]);
}

/** `LogSoftmaxBackward` as `log_softmax_backward`; the class of a node loses the end of its name. */
function functionName(name: string): string {
  const own = Object.hasOwn(NAMES, name) ? NAMES[name] : name.replace(/(.)Backward\d+$/, "$1");
  return (own ?? name).replace(WORDS, "_").toLowerCase();
}

class Writer {
  constructor(private readonly written: Written) {}

  part(expression: Expression, depth = 0): Part {
    if (depth > DEEPEST) return atom("…");
    if (typeof expression === "string") return this.#operand(expression);
    if (!Array.isArray(expression)) return literal(expression);
    const [name, ...args] = expression;
    const part = (arg: Expression): Part => this.part(arg, depth + 1);
    return this.#quoted(name, args) ?? this.#operator(name, args, part) ?? this.#method(name, args, part) ?? this.#call(name, args, part);
  }

  #operand(name: string): Part {
    const text = this.written(name);
    const level = text.startsWith("-") ? SUM : /^[\p{L}_[]/u.test(text) ? ATOM : POWER;  // a name, a list, or a number
    return { pieces: [{ text, operand: name }], level };
  }

  /** Arguments that are neither numbers nor operands. */
  #quoted(name: string, args: readonly Expression[]): Part | null {
    const [first] = args;
    if (name === "text") return atom(`"${String(first)}"`);
    if (name === "dtype" || name === "float") return atom(String(first));
    if (name === "ellipsis") return atom("…");
    if (name === "slice") return atom(args.slice(0, args[2] === null ? 2 : 3).map((end) => (end === null || Math.abs(Number(end)) >= FAR ? "" : String(end))).join(":"));
    return null;
  }

  #operator(name: string, args: readonly Expression[], part: (arg: Expression) => Part): Part | null {
    const [a, b] = args.map(part);
    if (name === "neg" && a) return { pieces: [piece("−"), ...inside(a, SIGN)], level: SIGN };
    const inner = name === "invert" ? nameOf(args[0]) : "";
    const opposite = Object.hasOwn(OPPOSITES, inner) ? OPPOSITES[inner] : undefined;
    if (opposite && Array.isArray(args[0])) return this.#operator(opposite, args[0].slice(1), part);
    if (name === "invert" && a) return { pieces: [piece("not "), ...inside(a, POWER)], level: SIGN };
    const infix = Object.hasOwn(INFIX, name) ? INFIX[name] : undefined;
    if (!infix || !a || !b || args.length !== 2) return null;
    const [symbol, level] = infix;
    const chain = level === SUM || nameOf(args[0]) === name || (isProduct(name) && isProduct(nameOf(args[0])));
    const left = chain && level !== POWER && level !== COMPARE ? level : level + 1;
    const right = nameOf(args[1]) === name && (name === "mul" || name === "add") ? level : level + 1;
    return { pieces: [...inside(a, left), piece(` ${symbol} `), ...inside(b, right)], level };
  }

  /** What PyTorch's users write after a dot or in brackets. */
  #method(name: string, args: readonly Expression[], part: (arg: Expression) => Part): Part | null {
    const [x, first, second] = args;
    if (x === undefined) return null;
    const of = (pieces: Piece[]): Part => ({ pieces: [...inside(part(x), ATOM), ...pieces], level: ATOM });
    if (isTranspose(name, args)) return of([piece("ᵀ")]);
    if (name === "getitem") return of([piece("["), ...this.#list(first ?? null, part), piece("]")]);
    if (name === "output") return of([piece("["), ...part(first ?? null).pieces, piece("]")]);
    if (name === "cast") return of([piece(".to("), ...part(first ?? null).pieces, piece(")")]);
    if (name === "sum") {
      const dims = first === null || first === undefined ? [] : this.#list(first, part);
      const keeps = second === true ? [piece(dims.length > 0 ? ", keepdim" : "keepdim")] : [];
      return of([piece(".sum("), ...dims, ...keeps, piece(")")]);
    }
    if (["reshape", "broadcast_to", "swapaxes", "transpose"].includes(name)) {
      return of([piece(`.${functionName(name)}(`), ...joined(args.slice(1).map((arg) => ({ pieces: this.#list(arg, part), level: ATOM }))), piece(")")]);
    }
    return null;
  }

  #call(name: string, args: readonly Expression[], part: (arg: Expression) => Part): Part {
    if (name === "tuple") return { pieces: [piece("("), ...this.#list(["tuple", ...args], part), piece(")")], level: ATOM };
    if (name === "masked") return this.#call("where", [args[0] ?? null, args[1] ?? null, 0], part);
    if (name === "scatter") {
      const [x, index, size] = args.map((arg) => this.#list(arg, part));
      return { pieces: [piece("zeros("), ...(size ?? []), piece(") with ["), ...(index ?? []), piece("] = "), ...(x ?? [])], level: LOGIC };
    }
    return { pieces: [piece(`${functionName(name)}(`), ...joined(args.map(part)), piece(")")], level: ATOM };
  }

  /** The parts of a tuple without its parentheses; anything else as it is. */
  #list(expression: Expression, part: (arg: Expression) => Part): Piece[] {
    if (!Array.isArray(expression) || expression[0] !== "tuple") return part(expression).pieces;
    return joined(expression.slice(1).map(part));
  }
}

function literal(value: number | boolean | null): Part {
  if (typeof value !== "number") return atom(value === null ? "None" : value ? "True" : "False");
  const text = Number.isInteger(value) ? String(value) : number(value);
  return { pieces: [piece(text)], level: value < 0 ? SUM : ATOM };
}

const isProduct = (name: string): boolean => name === "mul" || name === "div";
const nameOf = (expression: Expression | undefined): string => (Array.isArray(expression) ? expression[0] : "");

function isTranspose(name: string, args: readonly Expression[]): boolean {
  if (name === "swapaxes") return [-1, -2].every((dim) => args.includes(dim)) || (args.includes(0) && args.includes(1));
  return name === "transpose" && JSON.stringify(args[1]) === '["tuple",1,0]';
}

/** An expression in pieces, in the notation of mathematics and of PyTorch. */
export function pieces(expression: Expression, written: Written): Piece[] {
  return new Writer(written).part(expression).pieces;
}
