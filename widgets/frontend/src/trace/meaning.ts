/**
 * The meaning of a name on a line of the program: the tensor that it held when the line last ran, up to a step. In `h =
 * layer(h)` the first `h` is the line's result, the second its former value.
 *
 * The trace records which tensors variables held whenever the program reached another line (`bindings`).
 */
import { push } from "./lists";
import type { Binding } from "./events";
import type { Maybe, Trace } from "./types";

/** The lines of a function, from 1. */
export type Range = [from: number, to: number];

interface Row extends Binding {
  /** The function whose names these are; undefined for the program outside functions. */
  body: Range | undefined;
}

/** The bodies of functions in a file, outer ones first. */
function functions(lines: readonly string[]): Range[] {
  const indent = (line: string): number => line.length - line.trimStart().length;
  return lines.flatMap((line, at): Range[] => {
    if (!/^\s*(async\s+)?def\s/.test(line)) return [];
    const end = lines.findIndex((later, i) => i > at && later.trim() !== "" && !/^\s*\)/.test(later) && indent(later) <= indent(line));
    return [[at + 1, end < 0 ? lines.length : end]];
  });
}

/** Whether a line is the head of a function with a parameter of this name. */
const hasParameter = (line: string, name: string): boolean => new RegExp(`\\bdef\\s.*[(,\\s*]${name}\\s*[,:=)]`).test(line);

/** Whether a line assigns to this name, and to no other. */
const assigns = (line: string, name: string): boolean => new RegExp(`^\\s*${name}\\s*(:[^=]*)?([-+*/@]|//|\\*\\*)?=(?!=)`).test(line);

/** Whether a function calls itself: it is then unknown to which call its names belong, where no op runs. */
function callsItself(lines: readonly string[], [from, to]: Range): boolean {
  const name = /\bdef\s+(\w+)/.exec(lines[from - 1] ?? "")?.[1] ?? "";
  return lines.slice(from, to).some((line) => new RegExp(`\\b${name}\\(`).test(line));
}

/** Whether a function has a parameter or a variable of this name. */
function isLocal(lines: readonly string[], [from, to]: Range, name: string): boolean {
  const own = new RegExp(`(^|[\\s,(*])${name}\\s*(:[^=]*)?([-+*/@]?=(?!=)|,[^=()]*=(?!=))|\\bfor\\b[^:]*\\b${name}\\b[^:]*\\bin\\b|\\bas\\s+${name}\\b`);
  return lines.slice(from - 1, to).some((line) => own.test(line) || hasParameter(line, name));
}

const WORDS = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#.*/g;

/** By character of a line, the number of open brackets; those in strings and comments do not count. */
function depths(line: string): number[] {
  let depth = 0;
  return [...line.replace(WORDS, (found) => " ".repeat(found.length))].map((letter) => (depth += "([{".includes(letter) ? 1 : ")]}".includes(letter) ? -1 : 0));
}

/** By line: the line on which its statement begins, from 1, and whether it begins inside a multi-line string. */
function statements(lines: readonly string[]): { first: number; quoted: boolean }[] {
  let [depth, quote, first] = [0, "", 1];
  return lines.map((line, at) => {
    if (depth === 0 && quote === "") first = at + 1;
    const found = { first, quoted: quote !== "" };
    for (const [token] of line.matchAll(/"""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#|[([{]|[)\]}]/g)) {
      if (quote !== "") quote = token === quote ? "" : quote;
      else if (token === "#") break;
      else if (token === '"""' || token === "'''") quote = token;
      else if (token.length === 1) depth = Math.max(0, depth + ("([{".includes(token) ? 1 : -1));
    }
    return found;
  });
}

const LOOP = /^\s*(async\s+)?for\s/;

/** How a name is used at a position of a line: assigned, read, or only the name of an argument. */
export function useOf(line: string, at: number, name: string): "assigned" | "read" | "argument" {
  const [depth, rest] = [depths(line), line.slice(at + name.length)];
  if (/^\s*=(?!=)/.test(rest) && (depth[at] ?? 0) > 0 && !/^\s*(async\s+)?def\s/.test(line)) return "argument";
  if (/^\s*(async\s+)?for\s[\w\s,()*]*$/.test(line.slice(0, at)) && /^[\w\s,()*]*\sin\s/.test(rest)) return "assigned";
  const equals = [...line.matchAll(/(?<![=!<>:])=(?!=)/g)].map(({ index }) => index).filter((index) => depth[index] === 0);
  if (at > (equals.at(-1) ?? -1) || /^\s*[.([]/.test(rest)) return "read";
  const inside = line.slice(0, at).replace(/[^[\]]/g, "");
  return inside.lastIndexOf("[") > inside.lastIndexOf("]") && /\w\s*\[[^[]*$/.test(line.slice(0, at)) ? "read" : "assigned";
}

export class Meanings {
  readonly #bodies = new Map<number, Range[]>();
  readonly #begun = new Map<number, { first: number; quoted: boolean }[]>();
  /** The rows of a function, by its file and first line, and the names that they give to tensors. */
  readonly #ofBody = new Map<string, Row[]>();
  readonly #known = new WeakMap<Row[], Set<string>>();
  readonly #rows = new Map<number, Row[]>();
  /** By file, the names that have held a tensor. */
  readonly #names = new Map<number, Set<string>>();
  /** By file and line, the steps at which the program reached it. */
  readonly #starts = new Map<string, number[]>();

  constructor(private readonly trace: Trace) {
    const calls = new Map<number, Range | undefined>();
    for (const row of trace.bindings ?? []) {
      if (row.line !== null) {
        push(this.#starts, `${row.file}:${row.line}`, row.step);
        calls.set(row.call, this.#within(row.file, row.line).at(-1));
      }
      push(this.#rows, row.file, { ...row, body: calls.get(row.call) });
      const names = this.#names.get(row.file) ?? new Set();
      for (const [name, tensor] of row.names) if (tensor !== null) names.add(name);
      this.#names.set(row.file, names);
    }
    let [before, beside]: (number | undefined)[] = [];
    trace.events.forEach(({ file, line }, step) => {
      if (file === undefined || (file === before && line === beside)) return;
      push(this.#starts, `${file}:${line}`, step);
      [before, beside] = [file, line];
    });
    for (const [place, steps] of this.#starts) this.#starts.set(place, [...new Set(steps)].sort((a, b) => a - b));
  }

  /** The innermost function that a name belongs to at a line; undefined if there is none. */
  owner(file: number, line: number, name: string): Range | undefined {
    return this.#within(file, line).filter((body) => isLocal(this.#lines(file), body, name)).at(-1);
  }

  /**
   * How a name is used at a position of a line; null in a string, and in a comprehension that has a variable of that
   * name. A line that continues the statement of an earlier one only reads.
   */
  use(file: number, line: number, text: string, at: number, name: string): "assigned" | "read" | "argument" | null {
    const { first, quoted } = this.#statement(file, line);
    const opened = (text.slice(0, at).match(/"""|'''/g) ?? []).length % 2 === 1;
    if (quoted || opened || new RegExp(`[[({].*\\bfor\\s[\\w\\s,()*]*\\b${name}\\b[\\w\\s,()*]*\\sin\\s`).test(text)) return null;
    if (first === line) return useOf(text, at, name);
    return /^\s*=(?!=)/.test(text.slice(at + name.length)) ? "argument" : "read";
  }

  /** Whether `name[0]` may mean several tensors: the program assigns to its items or attributes, or it is a parameter. */
  isChanged(file: number, line: number, name: string): boolean {
    const lines = this.#lines(file);
    const body = this.owner(file, line, name);
    const given = new RegExp(`^\\s*${name}(\\[.*\\]|\\.\\w+)+\\s*([-+*/@|&]|//|\\*\\*)?=(?!=)`);
    return lines.some((each) => given.test(each)) || (body !== undefined && hasParameter(this.#text(file, body[0]), name));
  }

  #statement(file: number, line: number): { first: number; quoted: boolean } {
    const found = this.#begun.get(file) ?? statements(this.#lines(file));
    this.#begun.set(file, found);
    return found[line - 1] ?? { first: line, quoted: false };
  }

  /** Whether a name has held a tensor anywhere in a file: quickly told, since most words of a program have not. */
  knows(file: number, name: string): boolean {
    return this.#names.get(file)?.has(name) ?? false;
  }

  /** Whether the meaning of a name at a line was recorded. */
  has(file: number, line: number, name: string): boolean {
    const rows = this.#of(file, this.owner(file, line, name));
    const known = this.#known.get(rows) ?? new Set(rows.flatMap(({ names }) => names.flatMap(([each, tensor]) => (tensor === null ? [] : [each]))));
    this.#known.set(rows, known);
    return known.has(name);
  }

  /** The tensor that a name means at a line, up to a step; `assigned`: the line's result. */
  at(file: number, line: number, name: string, assigned: boolean, now: Maybe): Maybe {
    const { first } = this.#statement(file, line);
    const body = this.owner(file, first, name);
    const start = this.#start(file, first, now);
    if (assigned && LOOP.test(this.#text(file, first))) {  // the loop's own op runs once, and each turn gives the name anew
      const turn = this.#start(file, first + 1, now);
      return turn === null ? null : this.#before(file, body, name, turn);
    }
    if (start === null) return this.#unseen(file, first, body, name, assigned, now);
    return assigned ? this.#given(file, first, body, name, start) : this.#before(file, body, name, start);
  }

  #lines(file: number): readonly string[] {
    return this.trace.files[file]?.lines ?? [];
  }

  #text(file: number, line: number): string {
    return this.#lines(file)[line - 1] ?? "";
  }

  /** The same at a line on which no op has run, from the last line that ran before it, and what came next. */
  #unseen(file: number, line: number, body: Range | undefined, name: string, assigned: boolean, now: Maybe): Maybe {
    const own = this.#within(file, line).at(-1);
    if (own && callsItself(this.#lines(file), own)) return null;
    const given = assigned ? new RegExp(`^\\s*${name}\\s*(:[^=]*)?=\\s*(\\w+|[-+]?[\\d.e]+|\\[\\]|\\{\\})\\s*(#.*)?$`).exec(this.#text(file, line))?.[2] : undefined;
    if (given !== undefined) return /^[A-Za-z_]/.test(given) && given !== name ? this.at(file, line, given, false, now) : null;
    for (let earlier = line - 1; earlier >= (own?.[0] ?? 1); earlier--) {
      const ran = this.#within(file, earlier).at(-1)?.[0] === own?.[0] ? this.#start(file, earlier, now) : null;
      if (ran === null) continue;
      if (!assigned && assigns(this.#text(file, earlier), name)) return this.#given(file, earlier, body, name, ran);
      const rows = this.#of(file, body);
      const call = rows.filter((row) => row.step <= ran).at(-1)?.call;
      const next = rows.find((row) => row.step > ran && (call === undefined || row.call === call));
      const [before, after] = [this.#before(file, body, name, ran), next ? this.#before(file, body, name, next.step) : null];
      return assigned ? (after === before ? null : after) : (after ?? before);
    }
    const rows = this.#of(file, body);
    const call = (rows.filter((row) => now === null || row.step <= now).at(-1) ?? rows[0])?.call;
    return rows.filter((row) => row.call === call).flatMap(({ names }) => names.filter(([each]) => each === name))[0]?.[1] ?? null;
  }

  /** The value of a name when the program reached a line. */
  #before(file: number, body: Range | undefined, name: string, step: number): Maybe {
    const found = this.#of(file, body).filter((row) => row.step <= step).flatMap(({ names }) => names.filter(([each]) => each === name));
    return found.at(-1)?.[1] ?? null;
  }

  /** What a line assigned to a name: its value when the function was next inspected. */
  #given(file: number, line: number, body: Range | undefined, name: string, start: number): Maybe {
    const rows = this.#of(file, body);
    const call = rows.filter((row) => row.step <= start).at(-1)?.call;
    const later = rows.filter((row) => row.step > start && row.call === call);
    const next = (this.#starts.get(`${file}:${line}`) ?? []).find((step) => step > start) ?? Infinity;
    const found = later.filter(({ step }) => step <= next).flatMap(({ names }) => names.filter(([each]) => each === name));
    if (found[0]) return found[0][1];
    if (later.length > 0) return this.#before(file, body, name, start); // it was assigned its former value
    return this.#made(file, line, name, start, next);
  }

  /** The result of the last op of a line, if the line assigns it to its only name. */
  #made(file: number, line: number, name: string, start: number, next: number): Maybe {
    if (!assigns(this.#text(file, line), name)) return null;
    const ran = this.trace.events.slice(start, next).filter((event) => event.file === file && event.line === line);
    const last = ran.filter((event) => event.kind === "forward").at(-1);
    return last?.outputs.length === 1 ? (last.outputs[0] ?? null) : null;
  }

  #of(file: number, body: Range | undefined): Row[] {
    const key = `${file}:${body?.[0]}`;
    const found = this.#ofBody.get(key) ?? (this.#rows.get(file) ?? []).filter((row) => row.body?.[0] === body?.[0]);
    this.#ofBody.set(key, found);
    return found;
  }

  /** When the program last reached a line, up to a step; the first time, if it had not yet; null if it never did. */
  #start(file: number, line: number, now: Maybe): Maybe {
    const steps = this.#starts.get(`${file}:${line}`) ?? [];
    return steps.filter((step) => now === null || step <= now).at(-1) ?? steps[0] ?? null;
  }

  /** The functions around a line, outer ones first. */
  #within(file: number, line: number): Range[] {
    const bodies = this.#bodies.get(file) ?? functions(this.#lines(file));
    this.#bodies.set(file, bodies);
    return bodies.filter(([from, to]) => from <= line && line <= to);
  }
}
