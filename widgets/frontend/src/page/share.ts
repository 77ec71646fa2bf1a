/** "share": the inspector at this step as a standalone page, or as a link that contains the recording itself. */
import { html, write } from "./dom";
import type { Link } from "./link";
import { bytes } from "../trace/format";
import { check, unpack, withoutEntries } from "../trace/file";

const NO_PROGRAM = "This page cannot give its own program away: save it, or copy a link.";

/** JSON that may be in a script element: it contains no `<`. */
function quoted(state: unknown): string {
  return JSON.stringify(state).replaceAll("<", "\\u003c");
}

/** A page that shows a state without network requests. `script`: a module or, for a page, its classic script. */
export function pageOf(state: Record<string, unknown>, { script, style, module }: { script: string; style: string; module: boolean }): string {
  const parts = [
    '<!doctype html>\n<html lang="en" data-minigrad-page>\n<head>\n<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">\n<title>minigrad inspector</title>',
    `<style>\n${style}\n</style>\n</head>\n<body>`,
    '<main data-minigrad="state" aria-label="minigrad inspector"></main>',
    `<script type="application/json" id="state">${quoted(state)}</script>`,
    `<script${module ? ' type="module"' : ""}>\n${script.replaceAll("</script", "<\\/script")}\n</script>\n</body>\n</html>\n`,
  ];
  return parts.join("\n");
}

export class Share {
  readonly element: HTMLDetailsElement;
  readonly #said = html("output", { class: "mg-said", "aria-live": "polite" });
  readonly #text = html("textarea", { class: "mg-shared", rows: 3, readonly: true, "aria-label": "to copy by hand" });

  constructor(private readonly link: Link) {
    this.#text.hidden = true;
    const body = html("div", { class: "mg-share-body" }, this.#button("copy as page", () => this.#page()), this.#button("copy as link", () => this.#address()), this.#said, this.#text);
    this.element = html("details", { class: "mg-share" }, html("summary", {}, "share"), body);
    this.element.addEventListener("toggle", () => this.#say(""));
  }

  #button(name: string, act: () => Promise<void>): HTMLElement {
    const button = html("button", { type: "button", class: "mg-tab" }, name);
    button.addEventListener("click", () => void act().catch((error: unknown) => this.#say(`That did not work: ${String(error)}`)));
    return button;
  }

  async #page(): Promise<void> {
    const program = await this.link.program();
    if (!program) return this.#say(NO_PROGRAM);
    const page = pageOf(this.link.state(), program);
    await this.#copy(page, `Copied: a page of ${bytes(page.length)}. Paste it into a file with a name that ends in .html.`);
  }

  async #address(): Promise<void> {
    const fragment = await fragmentOf(this.link.trace, this.link.lens, this.link.step);
    if (fragment.length > LONGEST) {
      return this.#say(`This recording needs ${bytes(fragment.length)}, and a link holds ${bytes(LONGEST)}: copy it as a page.`);
    }
    await this.#copy(`${this.link.player}#${fragment}`, `Copied: a link of ${bytes(fragment.length)} that holds the whole recording.`);
  }

  /** If the clipboard cannot be written to, the text is shown, to be copied by hand. */
  async #copy(text: string, told: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.#say(told);
    } catch {
      this.#say("The browser did not let the clipboard be written to. Copy this:");
      this.#text.hidden = false;
      this.#text.value = text;
      this.#text.select();
    }
  }

  #say(text: string): void {
    this.#text.hidden = true;
    write(this.#said, text);
  }
}

// ---- A recording as the fragment of an address: packed, deflated, in characters that an address may contain.
/** The longest fragment: some programs truncate longer addresses. */
export const LONGEST = 8 * 1024;
/** The maximum size after inflating: a short text of zeros would otherwise fill the memory. */
const LARGEST = 2 * 1024 * 1024;
/** The part of a trace in a link. Positions are computed again. */
const KEPT = ["format", "version", "library", "files", "values", "tensors", "nodes", "scopes", "storages", "formulas", "expressions", "events", "bindings", "numbers", "process", "links", "runs", "rows"];
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

/** The fragment for a trace at a step; if it would be too long, without the numbers of large tensors and what each box did. */
export async function fragmentOf(trace: unknown, lens: string, step: number): Promise<string> {
  const given = (typeof trace === "string" ? JSON.parse(trace) : trace) as Row;
  const whole = await written(given, lens, step);
  return whole.length > LONGEST ? written(withoutEntries({ ...given, rows: null }), lens, step) : whole;
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
