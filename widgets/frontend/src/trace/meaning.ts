/**
 * What a name on a line of the program means: the tensor that it held when the line ran last, up to a step. In
 * `h = layer(h)` the first `h` is what the line gave it, the second what it held before.
 *
 * The trace says which tensors names held whenever the program had come to another line (`bindings`).
 */
import { push } from "./lists";
import type { Binding } from "./events";
import type { Maybe, Trace } from "./types";

/** The lines of a function, from 1 on. */
export type Range = [from: number, to: number];

interface Row extends Binding {
  /** The function whose names these are; undefined for the program outside of functions. */
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

/** Whether a function has a parameter or a variable of this name. */
function isLocal(lines: readonly string[], [from, to]: Range, name: string): boolean {
  const own = new RegExp(`(^|[\\s,(*])${name}\\s*(:[^=]*)?([-+*/@]?=(?!=)|,[^=()]*=(?!=))|\\bfor\\b[^:]*\\b${name}\\b[^:]*\\bin\\b|\\bas\\s+${name}\\b`);
  const head = new RegExp(`\\bdef\\s.*[(,\\s*]${name}\\s*[,:=)]`);
  return lines.slice(from - 1, to).some((line) => own.test(line) || head.test(line));
}

const WORDS = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#.*/g;

/** By character of a line, how many brackets are open there; what is in strings and comments opens none. */
function depths(line: string): number[] {
  let depth = 0;
  return [...line.replace(WORDS, (found) => " ".repeat(found.length))].map((letter) => (depth += "([{".includes(letter) ? 1 : ")]}".includes(letter) ? -1 : 0));
}

/** How a name is used at a place of a line: it is assigned there, or its value is read, or it only names an argument. */
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
  private readonly bodies = new Map<number, Range[]>();
  /** By file, what was taken down of its names. */
  private readonly rows = new Map<number, Row[]>();
  /** By file and line, the steps at which the program came there. */
  private readonly starts = new Map<string, number[]>();

  constructor(private readonly trace: Trace) {
    const calls = new Map<number, Range | undefined>();
    for (const row of trace.bindings ?? []) {
      if (row.line !== null) {
        push(this.starts, `${row.file}:${row.line}`, row.step);
        calls.set(row.call, this.within(row.file, row.line).at(-1));
      }
      push(this.rows, row.file, { ...row, body: calls.get(row.call) });
    }
    let before = "";
    trace.events.forEach(({ file, line }, step) => {
      if (file === undefined) return;
      const place = `${file}:${line}`;
      if (place !== before) push(this.starts, place, step);
      before = place;
    });
    for (const [place, steps] of this.starts) this.starts.set(place, [...new Set(steps)].sort((a, b) => a - b));
  }

  /** The innermost function that a name belongs to at a line; undefined if it is none's. */
  owner(file: number, line: number, name: string): Range | undefined {
    const lines = this.trace.files[file]?.lines ?? [];
    return this.within(file, line).filter((body) => isLocal(lines, body, name)).at(-1);
  }

  /** Whether it was taken down what a name means at a line. */
  has(file: number, line: number, name: string): boolean {
    return this.of(file, this.owner(file, line, name)).some(({ names }) => names.some(([each, tensor]) => each === name && tensor !== null));
  }

  /** The tensor that a name means at a line, up to a step; `assigned`: what the line gives it. */
  at(file: number, line: number, name: string, assigned: boolean, now: Maybe): Maybe {
    const body = this.owner(file, line, name);
    const start = this.start(file, line, now);
    if (start !== null) return assigned ? this.given(file, line, body, name, start) : this.before(file, body, name, start);
    const own = this.within(file, line).at(-1);
    const last = own?.[1] ?? this.trace.files[file]?.lines.length ?? 0;
    for (let next = line + 1; next <= last; next++) {
      const ran = this.within(file, next).at(-1) === own ? this.start(file, next, now) : null;
      if (ran !== null) return this.before(file, body, name, ran);
    }
    return this.before(file, body, name, Infinity);
  }

  /** What a name held when the program came to a line. */
  private before(file: number, body: Range | undefined, name: string, step: number): Maybe {
    const found = this.of(file, body).filter((row) => row.step <= step).flatMap(({ names }) => names.filter(([each]) => each === name));
    return found.at(-1)?.[1] ?? null;
  }

  /** What a line gave to a name: what it held when the function was looked at next. */
  private given(file: number, line: number, body: Range | undefined, name: string, start: number): Maybe {
    const rows = this.of(file, body);
    const call = rows.filter((row) => row.step <= start).at(-1)?.call;
    const later = rows.filter((row) => row.step > start && row.call === call);
    const next = (this.starts.get(`${file}:${line}`) ?? []).find((step) => step > start) ?? Infinity;
    const found = later.filter(({ step }) => step <= next).flatMap(({ names }) => names.filter(([each]) => each === name));
    if (found[0]) return found[0][1];
    if (later.length > 0) return this.before(file, body, name, start); // it was given what it held
    return this.made(file, line, name, start, next);
  }

  /** What the last op of a line made, where that is what the line gives to its only name. */
  private made(file: number, line: number, name: string, start: number, next: number): Maybe {
    const text = this.trace.files[file]?.lines[line - 1] ?? "";
    if (!new RegExp(`^\\s*${name}\\s*(:[^=]*)?([-+*/@]|//|\\*\\*)?=(?!=)`).test(text)) return null;
    const ran = this.trace.events.slice(start, next).filter((event) => event.file === file && event.line === line);
    const last = ran.filter((event) => event.kind === "forward").at(-1);
    return last?.outputs.length === 1 ? (last.outputs[0] ?? null) : null;
  }

  private of(file: number, body: Range | undefined): Row[] {
    return (this.rows.get(file) ?? []).filter((row) => row.body?.[0] === body?.[0]);
  }

  /** When the program came to a line last, up to a step; for the first time, if it had not yet; null if it never did. */
  private start(file: number, line: number, now: Maybe): Maybe {
    const steps = this.starts.get(`${file}:${line}`) ?? [];
    return steps.filter((step) => now === null || step <= now).at(-1) ?? steps[0] ?? null;
  }

  /** The functions around a line, outer ones first. */
  private within(file: number, line: number): Range[] {
    const bodies = this.bodies.get(file) ?? functions(this.trace.files[file]?.lines ?? []);
    this.bodies.set(file, bodies);
    return bodies.filter(([from, to]) => from <= line && line <= to);
  }
}
