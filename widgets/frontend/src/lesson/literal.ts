/** Parses what a student typed, as Python's `ast.literal_eval` does: numbers, True, False, None, quotes, lists, tuples. */
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
