/** Reads an answer as minigrad_lessons/forms.py does, and computes its digest as website/sheets.py does. */

export interface Form {
  kind: "yes-no" | "number" | "list" | "shape" | "name";
  choices: string[];
  /** A word that is accepted too. */
  word: string;
  length: number;
  truths: boolean;
  /** The reply to an answer of the wrong form. */
  misfit: string;
}

/** A well-formed answer: its value, and its text. */
export interface Read {
  value: Value;
  shown: string;
}

export const UNSURE = "?";
/** The forms in which a class is printed: Name, torch::autograd::Name, Name(x), <Name object at 0x7f>. */
const PRINTED = /^<?(?:\w+::)*(\w+)(?:\(\w*\)| object at \w+)?>?$/;
const YES_NO: Record<string, Value> = { true: true, yes: true, false: false, no: false };

/** The meaning of a word: its value if it has one, else the word in lower case. */
function meant(word: string): Value {
  try {
    const value = literal(word);
    return typeof value === "string" ? value.trim().toLowerCase() : value;
  } catch {
    const low = word.trim().toLowerCase();
    return YES_NO[low] ?? low;
  }
}

/** The answer as a value; null if it is not of the kind asked for. */
export function read(form: Form, text: string): Read | null {
  const written = text.trim().replace(/^['"]+|['"]+$/g, "");
  if (written.trim() === UNSURE) return { value: UNSURE, shown: UNSURE };
  const answer = form.kind === "name" ? (PRINTED.exec(written.trim())?.[1] ?? written) : written;
  const value = meant(answer);
  const word = value === null ? "None" : value;
  if (form.word !== "" && typeof word === "string" && word.toLowerCase() === form.word.toLowerCase()) return { value: form.word, shown: form.word };
  if (!fits(form, value)) return null;
  if (form.kind === "name") return { value, shown: value === null ? "None" : answer };
  return { value, shown: show(value, form.kind === "shape") };
}

function fits({ kind, choices, length, truths }: Form, value: Value): boolean {
  if (kind === "name") return value === null || (typeof value === "string" && /^[\p{L}\p{N}]+$/u.test(value.replaceAll(/[._]/g, "")));
  if (kind === "yes-no") return typeof value === "boolean";
  if (kind === "number") return typeof value === "number" && (choices.length === 0 || choices.includes(String(value)));
  if (value === null || typeof value !== "object") return false;
  if (kind === "shape") return value.items.every((item) => Number.isInteger(item));
  return value.items.length === length && (!truths || value.items.every((item) => typeof item === "boolean"));
}

/** A value in a sentence: at most three digits. */
function show(value: Value, shape: boolean): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(3)));
  if (typeof value === "string") return value;
  const items = value.items.map((item) => (typeof item === "string" ? item.toLowerCase() : show(item, false))).join(", ");
  return shape ? `(${items}${value.items.length === 1 ? "," : ""})` : `[${items}]`;
}

function canonical(value: Value): string {
  if (value === null) return "none";
  if (typeof value === "number") return String(Math.floor(value * 1000 + 0.5));
  if (typeof value !== "object") return String(value).trim().toLowerCase();
  return `[${value.items.map((item) => (typeof item === "string" ? canonical(meant(item)) : canonical(item))).join(", ")}]`;
}

/** The FNV-1a digest, 32 bits, of an answer to a question. */
export function digest(id: string, value: Value): string {
  let found = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${id} ${canonical(value)}`)) found = Math.imul(found ^ byte, 0x01000193) >>> 0;
  return found.toString(16).padStart(8, "0");
}

// ---- Parses what a student typed, as Python's `ast.literal_eval` does: numbers, True, False, None, quotes, lists,
// tuples.
export type Value = boolean | number | string | null | List;
export interface List {
  items: Value[];
  tuple: boolean;
}

const TOKEN = /\s*(?:([[\](),])|("[^"\\]*"|'[^'\\]*')|([+-]?\s*(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)(?![\w.])|(True|False|None)\b)/giy;
const WORDS: Record<string, Value> = { True: true, False: false, None: null };
const CLOSING: Record<string, string> = { "[": "]", "(": ")" };

type Token = string | { value: Value };

function tokens(text: string): Token[] {
  const found: Token[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const [, sign, quoted, number, word] = TOKEN.exec(text) ?? [];
    if (sign !== undefined) found.push(sign);
    else if (quoted !== undefined) found.push({ value: quoted.slice(1, -1) });
    else if (number !== undefined && !/^\D?\s*0\d*[1-9]\d*$/.test(number)) found.push({ value: Number(number.replace(/[\s_]/g, "")) });
    else if (word !== undefined && word in WORDS) found.push({ value: WORDS[word] ?? null });
    else throw new SyntaxError(text);
  }
  return found;
}

/** The value of a text; an error if it has none. */
export function literal(text: string): Value {
  const all = tokens(text.trim());
  const next = (): Value => {
    const token = all.shift();
    if (token === undefined) throw new SyntaxError(text);
    if (typeof token !== "string") return token.value;
    const closing = CLOSING[token];
    if (closing === undefined) throw new SyntaxError(text);
    return list(closing);
  };
  const list = (closing: string): Value => {
    const items: Value[] = [];
    let commas = 0;
    while (all[0] !== closing) {
      items.push(next());
      if (all[0] === ",") commas += Number(all.shift() === ",");
      else if (all[0] !== closing) throw new SyntaxError(text);
    }
    all.shift();
    const [only] = items;
    return closing === ")" && items.length === 1 && commas === 0 && only !== undefined ? only : { items, tuple: closing === ")" };
  };
  const value = next();
  if (all[0] === "," ) return bare(value, all, next);
  if (all.length > 0) throw new SyntaxError(text);
  return value;
}

/** `2, 3` is a tuple without parentheses. */
function bare(first: Value, all: Token[], next: () => Value): Value {
  const items = [first];
  while (all.length > 0) {
    if (all.shift() !== ",") throw new SyntaxError(String(first));
    if (all.length > 0) items.push(next());
  }
  return { items, tuple: true };
}
