/** A trace in its file format (docs/trace.md): previews in one base64 text, rows without field names. */
import { check } from "./check";
import { FORMAT, VERSION } from "./events";
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
  return entries.map(([kind, ...values]) => {
    const names = fields[kind];
    if (!names || names.length !== values.length) throw new Error("this is not a whole trace: a row of it has other fields");
    return Object.fromEntries(names.map((name, at) => [name, values[at]]));
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
  for (const name of ["values", "tensors", "nodes", "scopes", "events", "bindings"]) {
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
