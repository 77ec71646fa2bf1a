/** A recording as the fragment of an address: packed, deflated, in characters that an address may contain. */
import { check } from "../trace/check";
import { unpack, withoutEntries } from "../trace/unpack";

/** The longest fragment: some programs truncate longer addresses. */
export const LONGEST = 8 * 1024;
/** The maximum size after inflating: a short text of zeros would otherwise fill the memory. */
const LARGEST = 2 * 1024 * 1024;
/** The part of a trace in a link. Positions are computed again; nothing else that an inspector adds is needed. */
const KEPT = ["format", "version", "library", "files", "values", "tensors", "nodes", "scopes", "storages", "formulas", "expressions", "events", "bindings", "numbers", "process"];
const WALKS = ["forward", "backward", "traversal", "checkpoint", "all"];

type Row = Record<string, unknown>;

async function through(bytes: Uint8Array<ArrayBuffer>, by: CompressionStream | DecompressionStream, most = Infinity): Promise<Uint8Array> {
  const [writer, reader] = [by.writable.getWriter(), by.readable.getReader() as ReadableStreamDefaultReader<Uint8Array>];
  // The reader reports what is wrong with the bytes.
  writer.write(bytes).then(() => writer.close()).catch(() => undefined);
  const parts: Uint8Array[] = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(`it holds more than ${most} bytes`);
    }
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The fragment for a trace at a step, without the numbers of large tensors if it would be too long with them. */
export async function fragmentOf(trace: unknown, lens: string, step: number): Promise<string> {
  const given = (typeof trace === "string" ? JSON.parse(trace) : trace) as Row;
  const whole = await written(given, lens, step);
  return whole.length > LONGEST ? written(withoutEntries(given), lens, step) : whole;
}

async function written(given: Row, lens: string, step: number): Promise<string> {
  const kept = { ...Object.fromEntries(KEPT.flatMap((name) => (name in given ? [[name, given[name]]] : []))), layout: null };
  const packed = await through(new TextEncoder().encode(JSON.stringify({ trace: kept, lens, step })), new CompressionStream("deflate-raw"));
  let text = "";
  for (const byte of packed) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The contents of a fragment, checked field by field; an error says why it cannot be shown. */
export async function stateOf(fragment: string): Promise<Row> {
  if (fragment.length > LONGEST) throw new Error(`it is longer than ${LONGEST} letters`);
  if (!/^[\w-]+$/.test(fragment)) throw new Error("it has letters that no such link has");
  const raw = atob(fragment.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = await through(Uint8Array.from(raw, (letter) => letter.charCodeAt(0)), new DecompressionStream("deflate-raw"), LARGEST);
  const state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as Row;
  const trace = unpack(Object.fromEntries(KEPT.flatMap((name) => (Object.hasOwn(state["trace"] as Row, name) ? [[name, (state["trace"] as Row)[name]]] : []))));
  trace.layout = null;
  check(trace);
  const lens = WALKS.find((name) => name === state["lens"]) ?? "backward";
  return { trace, lens, step: Number.isSafeInteger(state["step"]) ? state["step"] : 0, selected: null, calls: [], ask: [], answers: [] };
}
