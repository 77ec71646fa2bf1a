/** A trace in its file format (docs/trace.md): previews in one base64 text, rows without field names. */
import { FORMAT, VERSION, EVENT_FIELDS, RECORD_FIELDS } from "./events";
import type { Scalar, Trace, Value } from "./types";

interface Table {
  fields: string[][];
  rows: [kind: number, ...values: unknown[]][];
}

type Packed = { numbers?: string } & Record<string, unknown>;
type At = Value & { at?: number };
type Read = [size: number, read: (view: DataView, at: number) => Scalar];

const FORMS: Record<string, Read> = {
  float32: [4, (view, at) => shown(view.getFloat32(at, true))],
  float64: [8, (view, at) => shown(view.getFloat64(at, true))],
  int64: [8, (view, at) => exact(view.getBigInt64(at, true))],
  int32: [4, (view, at) => view.getInt32(at, true)],
  uint8: [1, (view, at) => view.getUint8(at)],
  bool: [1, (view, at) => view.getUint8(at) !== 0],
};

function shown(x: number): Scalar {
  return Number.isFinite(x) ? x : Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

/** An integer; as its digits if a JavaScript number would round it. */
function exact(x: bigint): Scalar {
  const rounded = Number(x);
  return Number.isSafeInteger(rounded) ? rounded : String(x);
}

function rows({ fields, rows: entries }: Table): Record<string, unknown>[] {
  return entries.map((entry) => {
    const names = fields[entry[0]];
    if (!names || names.length !== entry.length - 1) throw new Error("this is not a whole trace: a row of it has other fields");
    const row: Record<string, unknown> = {};
    for (let at = 0; at < names.length; at++) row[names[at] as string] = entry[at + 1];
    return row;
  });
}

/** Refuses previews that read the same numbers again and again: a small file would fill the memory. */
function checkRoom(values: readonly At[], room: number): void {
  const size = values.reduce((sum, { at, shape, dtype }) =>
    at === undefined ? sum : sum + shape.reduce((a, b) => a * Math.abs(b), FORMS[dtype]?.[0] ?? 0), 0);
  if (!(size <= room)) throw new Error(`this is not a whole trace: its previews hold ${size} bytes, of which the file has ${room}`);
}

function put(value: At, numbers: DataView): void {
  const form = FORMS[value.dtype];
  if (value.at === undefined) return;
  if (!form) throw new Error(`this is not a whole trace: nobody knows how to read ${value.dtype}`);
  const [size, read] = form;
  const [start, count] = [value.at, value.shape.reduce((a, b) => a * b, 1)];
  if (start < 0 || start + count * size > numbers.byteLength) throw new Error("this is not a whole trace: numbers are missing");
  value[value.stats ? "entries" : "data"] = Array.from({ length: count }, (_, i) => read(numbers, start + i * size));
  delete value.at;
}

/** A packed trace without the numbers of large tensors. */
export function withoutEntries(packed: Packed): Packed {
  const { numbers, values } = packed as { numbers?: string; values: At[] | Table };
  if (numbers === undefined || Array.isArray(values)) return packed;
  const [before, after]: [string, string[]] = [atob(numbers), []];
  let end = 0;
  const kept = rows(values).map((row) => {
    const { at, ...value } = row as unknown as At;
    if (at === undefined) return row;
    if (value.stats) return value;
    const size = value.shape.reduce((a, b) => a * b, FORMS[value.dtype]?.[0] ?? 0);
    after.push(before.slice(at, at + size));
    end += size;
    return { ...value, at: end - size };
  });
  return { ...packed, values: kept, numbers: btoa(after.join("")) };
}

/** The trace in the form of docs/trace.md; one that is not packed is returned unchanged. */
export function unpack(packed: Packed): Trace {
  for (const name of ["values", "tensors", "nodes", "scopes", "events", "bindings", "links", "runs", "tangents"]) {
    const table = packed[name];
    if (table && !Array.isArray(table)) packed[name] = rows(table as Table);
  }
  const trace = packed as unknown as Trace;
  if (packed.numbers !== undefined) {
    const bytes = Uint8Array.from(atob(packed.numbers), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    checkRoom(trace.values, view.byteLength);
    for (const value of trace.values) put(value, view);
    delete packed.numbers;
  }
  return trace;
}

/** Parses a trace; a standalone page contains it as data. What does not fit the schema is refused before it is drawn. */
export function parseTrace(given: unknown): Trace {
  const trace = unpack(typeof given === "object" && given !== null ? { ...given } : JSON.parse(String(given)));
  if (trace.format !== FORMAT || trace.version !== VERSION) {
    throw new Error(`this inspector reads ${FORMAT} version ${VERSION}, not ${trace.format} version ${trace.version}`);
  }
  check(trace);
  return trace;
}

// ---- Checks external data against the schema before any of it is drawn: a link's trace may come from anyone, and a
// page may be damaged. minigrad/trace/validation.py does the same for files.
const INDEXED: Record<string, string> = {
  value: "values", tensor: "tensors", node: "nodes", scope: "scopes", file: "files", box: "boxes", storage: "storages", expression: "expressions",
};
const MANY = 1_000_000;
/** Events of a trace that can be stepped through; minigrad_widgets/widget.py has the same limit. */
export const MOST_EVENTS = 500_000;
const [DEEPEST, LONGEST] = [100, 1_000];
/** The fields of what Python derives from a trace, and of a comparison's figures: types.ts says what they mean. */
const LINK = "kind=str from=node to=node tensor=tensor label=str";
const MOVED = "node=node index=nr value=value";
const RUN = "call=int name=str again=bool start=int end=int level=nr stop=int? told=str";
const BOX = "tensor=tensor name=str node=node? output_nr=nr x=number y=number width=number height=number";
const SIGN = "sign=str node=node? inputs=[box] outputs=[box] ways=[[(number,number)]] x=number y=number";
const FIGURES = "steps=int peak=int atBackward=int? ops=int again=int";

type Sizes = Readonly<Record<string, number>>;
type Test = (x: unknown, sizes: Sizes) => boolean;
type Row = Record<string, unknown>;

const whole = (x: unknown): x is number => typeof x === "number" && Number.isSafeInteger(x);
const row = (x: unknown): x is Row => typeof x === "object" && x !== null && !Array.isArray(x);
const PLAIN: Record<string, Test> = {
  int: (x) => whole(x) && x >= 0,
  nr: (x) => whole(x) && x >= 0 && x < MANY,
  whole,
  number: (x) => Number.isFinite(x),
  norm: (x) => x === null || typeof x === "string" || Number.isFinite(x),
  str: (x) => typeof x === "string",
  bool: (x) => typeof x === "boolean",
};
const known = new Map<string, Test>();

/** The test that a type of the schema requires of a value. */
function testOf(kind: string): Test {
  const test = known.get(kind) ?? made(kind);
  known.set(kind, test);
  return test;
}

function made(kind: string): Test {
  if (kind.endsWith("?")) {
    const inner = testOf(kind.slice(0, -1));
    return (x, sizes) => x === null || inner(x, sizes);
  }
  if (kind.startsWith("[")) {
    const inner = testOf(kind.slice(1, -1));
    return (x, sizes) => Array.isArray(x) && x.every((entry) => inner(entry, sizes));
  }
  if (kind.startsWith("(")) {
    const names = kind.slice(1, -1).split(",");
    const parts = names.map((part) => testOf(part.slice(part.indexOf(":") + 1)));
    const needed = names.filter((part) => !part.includes("?:")).length;
    return (x, sizes) => Array.isArray(x) && needed <= x.length && x.length <= parts.length && x.every((each, at) => parts[at]?.(each, sizes));
  }
  const plain = PLAIN[kind];
  const list = INDEXED[kind] ?? "";
  return plain ?? ((x, sizes) => whole(x) && x >= 0 && x < (sizes[list] ?? 0));
}

function refuse(what: string): never {
  throw new Error(`this is not a whole trace: ${what}`);
}

interface Field {
  name: string;
  optional: boolean;
  kind: string;
  test: Test;
}
const records = new Map<string, Field[]>();

/** The fields of a record; cached, since a long trace has very many records of few kinds. */
function fieldsOf(record: string): Field[] {
  let fields = records.get(record);
  if (!fields) {
    fields = record.split(" ").filter(Boolean).map((field) => {
      const [, name = "", optional, kind = ""] = /^(\w+)(\??)=(.*)$/.exec(field) ?? [];
      return { name, optional: optional === "?", kind, test: testOf(kind) };
    });
    records.set(record, fields);
  }
  return fields;
}

/** `what` may be the function that names the entry: a large trace has too many for a text of each. */
function checkFields(entry: Row, record: string, sizes: Sizes, what: string | ((at: number) => string), at = 0): void {
  const told = (): string => (typeof what === "string" ? what : what(at));
  for (const { name, optional, kind, test } of fieldsOf(record)) {
    if (!Object.hasOwn(entry, name)) {
      if (!optional) refuse(`${told()} has no ${name}`);
    } else if (!test(entry[name], sizes)) refuse(`${told()} has no ${kind} as its ${name}`);
  }
}

/** Checks that there are no cycles: code that follows links would not terminate. */
function checkAcyclic(targets: readonly (readonly number[])[], what: string): void {
  const counts = targets.map(() => 0);
  for (const list of targets) for (const to of list) counts[to] = (counts[to] ?? 0) + 1;
  const waiting = counts.flatMap((count, at) => (count === 0 ? [at] : []));
  let seen = 0;
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    seen += 1;
    for (const to of targets[at] ?? []) if ((counts[to] = (counts[to] ?? 0) - 1) === 0) waiting.push(to);
  }
  if (seen < targets.length) refuse(`a ${what} of it leads to itself`);
}

function checkValue(value: Row, what: string): void {
  checkFields(value, "shape=[int] dtype=str", {}, what);
  const entry = (x: unknown): boolean => Number.isFinite(x) || typeof x === "boolean" || typeof x === "string";
  const { data, stats, entries } = value;
  const count = (value["shape"] as number[]).reduce((a, b) => a * b, 1);
  const numbers = (x: unknown): boolean => Array.isArray(x) && x.length === count && x.every(entry);
  const listed = stats === undefined && entries === undefined && numbers(data);
  const counted = data === undefined && row(stats) && (entries === undefined || numbers(entries)) && ["min", "max", "mean", "norm", "nan", "inf"].every((key) => stats[key] === null || entry(stats[key]));
  if (!listed && !counted) refuse(`${what} does not hold what its shape asks`);
}

/** Checks that positions are finite numbers, of existing nodes; `folded`: also of boxes, whose numbers are negative. */
function checkLayout(layout: unknown, sizes: Sizes, folded = false): void {
  const [point, points] = [testOf("(number,number)"), testOf("[(number,number)]")];
  const there = (key: string): boolean => (folded ? /^-?\d+$/ : /^\d+$/).test(key) && Number(key) < (sizes["nodes"] ?? 0);
  const good = row(layout) && row(layout["nodes"]) && row(layout["edges"] ?? {}) && point(layout["size"], sizes)
    && Object.entries(layout["nodes"]).every(([key, spot]) => there(key) && point(spot, sizes))
    && Object.values(layout["edges"] ?? {}).every((bends) => points(bends, sizes));
  if (!good) refuse("its layout is none");
}

/** Checks what the lens "values" draws. */
function checkCalculation(given: unknown, sizes: Sizes): void {
  if (!row(given) || ![given["boxes"], given["signs"]].every((list) => Array.isArray(list) && list.every(row))) refuse("its calculation is none");
  const [boxes, signs] = [given["boxes"], given["signs"]] as [Row[], Row[]];
  const all = { ...sizes, boxes: boxes.length };
  checkFields(given, "root=box steps=[(int,str)] size=(number,number)", all, "its calculation");
  for (const box of boxes) checkFields(box, BOX, all, "a box of its calculation");
  for (const sign of signs) checkFields(sign, SIGN, all, "a sign of its calculation");
}

/** Checks what Python says that each box did. */
function checkRows(given: unknown, sizes: Sizes): void {
  const good = row(given) && testOf("[([nr]?,int,number?,number?,int,int,norm)]")(given["scopes"], sizes) && testOf("[(int,int,norm)]")(given["nodes"], sizes);
  if (!good) refuse("its rows are none");
}

/** The number of parts of an expression; none if it is not an expression, or too deep. */
function parts(x: unknown, depth = 0): number {
  if (Array.isArray(x)) {
    if (depth >= DEEPEST || typeof x[0] !== "string") return Infinity;
    return x.reduce((sum: number, each) => sum + parts(each, depth + 1), 0);
  }
  return x === null || typeof x === "string" || typeof x === "boolean" || Number.isFinite(x) ? 1 : Infinity;
}

function checkEvent(event: Row, sizes: Sizes, step: number): void {
  const kind = event["kind"];
  if (typeof kind !== "string") refuse(`event ${step} has no kind`);
  checkFields(event, RECORD_FIELDS["common"] ?? "", sizes, (at) => `event ${at}`, step);
  if (Object.hasOwn(event, "file") !== Object.hasOwn(event, "line")) refuse(`event ${step} has a file and no line, or the reverse`);
  checkFields(event, Object.hasOwn(EVENT_FIELDS, kind) ? (EVENT_FIELDS[kind] ?? "") : "", sizes, (at) => `event ${at}, ${kind.slice(0, 40)},`, step);
  for (const name of ["held", "dropped"]) for (const holder of (event[name] ?? []) as unknown[][]) {
    const [what, id] = [holder[1] as number, holder[2] as number | null];
    const limit = sizes[what === 2 || what === 4 ? "nodes" : "tensors"] ?? 0;
    if (what > 5 || (id === null ? ![2, 3, 5].includes(what) : id >= limit)) refuse(`event ${step} names a holder that is not there`);
  }
}

/** Throws an error that says why this is not a trace; what passes can be shown. The data must be unpacked. */
export function check(data: unknown): void {
  if (!row(data) || data["format"] !== FORMAT || data["version"] !== VERSION) throw new Error(`this is not a ${FORMAT} of version ${VERSION}`);
  const lists = ["files", "values", "tensors", "nodes", "scopes", "storages", "expressions", "events", "bindings", "notes", "links", "runs", "tangents"];
  const all = Object.fromEntries(lists.map((name) => [name, data[name] ?? []]));
  for (const [name, list] of Object.entries(all)) if (!Array.isArray(list)) refuse(`its ${name} are no list`);
  const sizes = Object.fromEntries(Object.entries(all).map(([name, list]) => [name, (list as unknown[]).length]));
  const events = sizes["events"] ?? 0;
  if (events > MOST_EVENTS) throw new Error(`this trace has ${events.toLocaleString("en")} events, and at most ${MOST_EVENTS.toLocaleString("en")} can be shown`);
  const rows = (name: string): Row[] => (all[name] as unknown[]).map((each, at) => (row(each) ? each : refuse(`entry ${at} of its ${name} is no record`)));
  const tables = { files: "name=str lines=[str]", scopes: RECORD_FIELDS["scopes"], tensors: RECORD_FIELDS["tensors"], nodes: RECORD_FIELDS["nodes"], bindings: RECORD_FIELDS["bindings"], notes: "text=str where=str count=int", links: LINK, runs: RUN, tangents: MOVED };
  for (const [name, fields] of Object.entries(tables)) rows(name).forEach((each, at) => checkFields(each, fields ?? "", sizes, (nr) => `entry ${nr} of its ${name}`, at));
  rows("values").forEach((each, at) => checkValue(each, `entry ${at} of its values`));
  if (!(all["storages"] as unknown[]).every((size) => whole(size) && size >= 0)) refuse("its storages are no numbers of bytes");
  if (!(all["expressions"] as unknown[]).every((each) => parts(each) <= LONGEST)) refuse("one of its expressions is none");
  if (!row(data["formulas"]) || !Object.values(data["formulas"]).every((text) => typeof text === "string")) refuse("its formulas are no texts");
  checkAcyclic(rows("scopes").map(({ parent }) => (parent === null ? [] : [parent as number])), "scope");
  checkAcyclic(rows("nodes").map(({ next }) => (next as ([number, number] | null)[]).flatMap((edge) => (edge ? [edge[0]] : []))), "node");
  if (data["layout"] != null) checkLayout(data["layout"], sizes);
  if (data["calculation"] != null) checkCalculation(data["calculation"], sizes);
  if (data["rows"] != null) checkRows(data["rows"], sizes);
  if (data["opening"] != null) checkLayout(data["opening"], sizes, true);
  if (data["folded"] != null && !testOf("[scope]")(data["folded"], sizes)) refuse("what is folded are no scopes of it");
  if (data["process"] !== undefined) checkFields(row(data["process"]) ? data["process"] : refuse("its process is no record"), "rank=int ranks=int began?=number?", sizes, "its process");
  if (data["figures"] !== undefined) checkFields(row(data["figures"]) ? data["figures"] : refuse("its figures are no record"), FIGURES, sizes, "its figures");
  const nodes = rows("nodes");
  rows("events").forEach((each, step) => {
    checkEvent(each, sizes, step);
    const edges = each["kind"] === "flow" ? (nodes[each["node"] as number]?.["next"] as unknown[]).length : Infinity;
    if (edges <= (each["index"] as number)) refuse(`event ${step} goes along an edge of a node that has fewer`);
  });
}
