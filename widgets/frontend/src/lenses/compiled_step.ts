/** A compiled step: its lines, the eager ops, and the program after each pass, side by side. Pointing at one lights the others. */
import { html, mark, svg, unique, write } from "../page/dom";
import type { Link } from "../page/link";
import { bytes } from "../trace/format";
import { Stepped } from "./stepped";

const SIGNS: Record<Change, [string, string]> = { same: ["", ""], new: ["+", "new"], changed: ["~", "changed"], removed: ["−", "removed"] };
const HINT = "Point at a line, an op, a statement or a name: what belongs to it is lit. Up and down arrow do the same by the keyboard.";
const plural = (count: number, word: string): string => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** A list with one item pointed at; the up and down arrows move through it. */
class Column {
  readonly heading = html("h3", { class: "mg-heading" });
  readonly list: HTMLElement;
  readonly element: HTMLElement;
  items: HTMLElement[] = [];

  constructor(label: string) {
    this.list = html("div", { class: "mg-list mg-scroll", role: "listbox", tabindex: 0, "aria-label": label });
    this.element = html("section", { class: "mg-column" }, this.heading, this.list);
  }

  fill(rows: readonly HTMLElement[]): void {
    this.items = rows.filter((row) => row.getAttribute("role") === "option");
    this.list.replaceChildren(...rows);
  }

  /** Scrolls this list, and nothing around it, to its first lit item, unless one is visible. */
  reveal(item = this.items.find((each) => /here|lit/.test(each.dataset["look"] ?? ""))): void {
    const { scrollTop, clientHeight } = this.list;
    const seen = (each: HTMLElement): boolean => each.offsetTop >= scrollTop && each.offsetTop + Math.min(each.offsetHeight, 40) <= scrollTop + clientHeight;
    if (item && !this.items.some((each) => /here|lit/.test(each.dataset["look"] ?? "") && seen(each))) this.list.scrollTop = item.offsetTop - clientHeight / 3;
  }
}

function targetOf(item: HTMLElement): Target {
  const { line, op, statement } = item.dataset;
  return line !== undefined ? { line } : op !== undefined ? { op: Number(op) } : { statement: Number(statement) };
}

class Threes {
  readonly element = html("div", { class: "mg-compiled" });
  readonly #passes: HTMLButtonElement[];
  readonly #lines = new Column("your lines");
  readonly #ops = new Column("eager ops");
  readonly #program = new Column("statements of the program");
  readonly #map: MemoryMap;
  readonly #told = html("p", { class: "mg-told" }, HINT);
  readonly #drawn = new Map<number, HTMLElement>();
  #rows: Row[] = [];
  #step = -1;
  #chosen: Target | null = null;
  #pointed: Target | null = null;
  #buffer: string | null = null;

  constructor(private readonly found: Compiled, go: (step: number) => void) {
    this.#map = new MemoryMap(found);
    this.#passes = found.steps.map((_, at) => this.#pass(at, go));
    const strip = html("div", { class: "mg-passes", role: "group", "aria-label": "passes, and how many statements there are after each" }, ...this.#passes);
    this.#lines.fill(found.files.flatMap((file, at) => this.#file(at, file)));
    write(this.#lines.heading, "your lines");
    this.#ops.fill(found.ops.flatMap((_, at) => this.#op(at)));
    const columns = [this.#lines, this.#ops, this.#program];
    const says = html("div", { class: "mg-room-says", "aria-hidden": true }, "where the temporaries lie, from statement to statement");
    this.#program.element.append(says, this.#map.element);
    this.element.append(strip, html("div", { class: "mg-columns" }, ...columns.map((each) => each.element)), this.#told);
    for (const column of columns) this.#listen(column);
  }

  show(step: number): void {
    if (step === this.#step) return;
    this.#step = step;
    const pass = this.found.steps[step];
    if (!pass) return;
    this.#passes.forEach((each, at) => mark(each, "aria-current", at === step ? "step" : null));
    const last = step === this.found.steps.length - 1;
    mark(this.element, "data-planned", last ? "" : null);
    write(this.#program.heading, `${last ? "what runs" : "program"} · ${plural(pass.statements.length, "statement")} · ${plural(pass.buffers, last ? "place" : "temporary").replace("temporarys", "temporaries")}, ${bytes(pass.bytes)}`);
    this.#rows = rowsOf(this.found, step);
    const widest = Math.max(0, ...this.#rows.map(({ statement }) => statement.code.length));
    this.#program.list.style.setProperty("--mg-code", `${Math.min(widest, 52)}ch`);
    const loops = new Set<string>();
    const head = this.found.head.map((line, at) => html("div", { class: "mg-item", "data-head": "" }, html("code", {}, at === 0 ? line : `    ${line}`)));
    this.#program.fill([...head, ...this.#rows.map((row) => this.#statement(row, loops))]);
    const counts = countByOp(this.found, step);
    for (const item of this.#ops.items) this.#count(item, counts);
    const left = counts.filter((count) => count > 0).length;
    write(this.#ops.heading, `ops · ${left} of ${counts.length} write`);
    this.#map.show(step);
    this.#light();
    this.#program.reveal();
  }

  /** The next item of the focused list, or the previous one. */
  walk(by: 1 | -1): void {
    const active = (this.element.getRootNode() as Document | ShadowRoot).activeElement;
    const column = [this.#lines, this.#ops].find((each) => each.list === active) ?? this.#program;
    const at = column.items.findIndex((item) => item.dataset["look"] === "here");
    const from = at < 0 ? column.items.findIndex((item) => item.dataset["look"] === "lit") - by : at;
    const item = column.items[Math.max(0, Math.min(from + by, column.items.length - 1))];
    if (!item) return;
    this.#pointed = null;
    this.#choose(item, column);
  }

  #choose(item: HTMLElement, column: Column): void {
    this.#chosen = targetOf(item);
    for (const each of [this.#lines, this.#ops, this.#program]) each.list.removeAttribute("aria-activedescendant");
    column.list.setAttribute("aria-activedescendant", item.id);
    this.#light();
    column.reveal(item);
    for (const each of [this.#lines, this.#ops, this.#program]) if (each !== column) each.reveal();
  }

  #listen(column: Column): void {
    const { list } = column;
    const itemAt = (event: Event): HTMLElement | null => (event.target as Element).closest<HTMLElement>("[role=option]");
    list.addEventListener("pointerover", (event) => {
      const item = itemAt(event);
      this.#buffer = (event.target as Element).closest<HTMLElement>("[data-buffer]")?.dataset["buffer"] ?? null;
      this.#pointed = item ? targetOf(item) : null;
      this.#light();
      for (const each of [this.#lines, this.#ops, this.#program]) if (item && each !== column) each.reveal();
    });
    list.addEventListener("pointerleave", () => {
      this.#pointed = this.#buffer = null;
      this.#light();
    });
    list.addEventListener("click", (event) => {
      const item = itemAt(event);
      if (item) this.#choose(item, column);
    });
    list.addEventListener("focus", () => {
      const first = column.items.find((item) => item.dataset["look"]) ?? column.items[0];
      if (first && list.matches(":focus-visible") && this.#pointed === null) this.#choose(first, column);
    });
  }

  #light(): void {
    const target = this.#pointed ?? this.#chosen;
    const { ops, kin } = related(this.found, target);
    const lookOf = (own: readonly number[]): string | null => (own.some((op) => ops.has(op)) ? "lit" : own.some((op) => kin.has(op)) ? "kin" : null);
    const dress = (item: HTMLElement, here: boolean, own: readonly number[], same: boolean): void => {
      const look = lookOf(own);
      mark(item, "data-look", here ? "here" : same && look === "lit" ? null : look);
      mark(item, "aria-selected", String(here));
    };
    for (const item of this.#lines.items) {
      const own = this.found.ops.flatMap((op, at) => (lineOf(op) === item.dataset["line"] ? [at] : []));
      dress(item, target !== null && "line" in target && target.line === item.dataset["line"], own, target !== null && "line" in target);
    }
    for (const item of this.#ops.items) {
      const op = Number(item.dataset["op"]);
      dress(item, target !== null && "op" in target && target.op === op, [op], target !== null && "op" in target);
    }
    this.#rows.forEach(({ statement }, at) => {
      const item = this.#program.items[at];
      if (item) dress(item, target !== null && "statement" in target && target.statement === statement.id, statement.ops, target !== null && "statement" in target);
    });
    for (const name of this.#program.list.querySelectorAll("[data-buffer]")) mark(name, "data-same", this.#buffer !== null && name.getAttribute("data-buffer") === this.#buffer ? "" : null);
    const now = this.found.steps[this.#step]?.statements ?? [];
    this.#map.light(target !== null && "statement" in target ? now.findIndex((place) => this.found.statements[place]?.id === target.statement) : -1, this.#buffer);
    write(this.#told, this.#buffer !== null ? this.#toldOfBuffer(this.#buffer) : target === null ? HINT : this.#toldOf(target, ops, kin));
  }

  #toldOf(target: Target, ops: Set<number>, kin: Set<number>): string {
    const of = (which: Set<number>): string => plural(this.#rows.filter(({ statement, change }) => change !== "removed" && statement.ops.some((op) => which.has(op))).length, "statement");
    if ("line" in target) {
      const nodes = new Set([...kin].filter((op) => this.found.ops[op]?.recorded_by !== null));
      return `Line ${target.line.split(":")[1]} calls ${plural(ops.size, "op")}: ${of(ops)} here${nodes.size > 0 ? `; and ${of(nodes)} of the nodes that they recorded, in the backward pass` : ""}.`;
    }
    if ("op" in target) {
      const op = this.found.ops[target.op];
      const ended = endedBy(this.found, target.op, this.#step);
      const left = this.found.statements.every((each) => !each.ops.includes(target.op)) ? "no statement: it writes no memory" : ended === null ? `${of(ops)} here` : `nothing of it is left since “${ended}”`;
      const others = [...kin].map((each) => this.found.ops[each]);
      const kindred = others.length === 0 ? "" : op?.recorded_by === null ? `; it recorded ${others.map((each) => each?.name).join(", ")}` : `; recorded by ${others.map((each) => `${each?.name}, line ${each?.line}`).join(", ")}`;
      return `${op?.name}, ${op?.phase}, line ${op?.line}: ${left}${kindred}.`;
    }
    const row = this.#rows.find(({ statement }) => statement.id === target.statement);
    if (!row) return "This statement is not there after this pass.";
    const parts = row.statement.parts ? `, made of ${row.statement.parts.length} statements` : "";
    return `${row.statement.origin}${parts}${row.change === "same" ? "" : `; ${SIGNS[row.change][1]} by this pass`}${row.was === null ? "" : `, before: ${row.was}`}`;
  }

  #toldOfBuffer(name: string): string {
    const { kind, type, bytes: size, place, offset, first, last } = this.found.buffers[name] as Buffer;
    const kinds = { input: "given from outside", constant: "filled once, when the program is made", kept: "kept after the step", temporary: "a temporary" };
    const there = kind !== "temporary" || place === undefined ? "" : `; in the plan place ${place}, from byte ${(offset ?? 0).toLocaleString("en")}, needed from statement ${(first ?? 0) + 1} to ${(last ?? 0) + 1}`;
    return `${name}: ${kinds[kind]}, ${type}, ${size.toLocaleString("en")} bytes${there}.`;
  }

  // drawing
  #pass(at: number, go: (step: number) => void): HTMLButtonElement {
    const pass = this.found.steps[at];
    const most = Math.max(...this.found.steps.map((each) => each.statements.length), 1);
    const count = pass?.statements.length ?? 0;
    const bar = html("i");
    bar.style.height = `${(100 * count) / most}%`;
    const title = `${pass?.name}: ${plural(count, "statement")}`;
    const button = html("button", { type: "button", class: "mg-pass", tabindex: -1, title }, html("b", {}, String(count)), html("span", { class: "mg-pass-bar" }, bar), html("span", { class: "mg-pass-name" }, (pass?.name ?? "").replace("subexpres", "sub\u00adexpres\u00ad")));
    button.addEventListener("click", () => go(at));
    return button;
  }

  #item(data: Record<string, string | number>, ...children: (Node | string)[]): HTMLElement {
    return html("div", { class: "mg-item", role: "option", id: unique("mg-item"), "aria-selected": false, ...data }, ...children);
  }

  #file(at: number, file: { name: string; lines: [number, string][] }): HTMLElement[] {
    const called = new Set(this.found.ops.map(lineOf));
    const indent = Math.min(...file.lines.filter(([, text]) => text.trim() !== "").map(([, text]) => text.length - text.trimStart().length), 40);
    const rows = file.lines.flatMap(([number, text], index) => {
      const parts = [html("span", { class: "mg-number", "aria-hidden": true }, String(number)), html("code", {}, text.slice(indent) || " ")];
      const key = `${at}:${number}`;
      const gap = index > 0 && (file.lines[index - 1]?.[0] ?? 0) < number - 1 ? [html("div", { class: "mg-item mg-gap", "aria-hidden": true }, "⋯")] : [];
      return [...gap, called.has(key) ? this.#item({ "data-line": key }, ...parts) : html("div", { class: "mg-item" }, ...parts)];
    });
    return [html("div", { class: "mg-file" }, file.name), ...rows];
  }

  #op(at: number): HTMLElement[] {
    const op = this.found.ops[at];
    if (!op) return [];
    const item = this.#item({ "data-op": at }, html("code", {}, op.name), html("span", { class: "mg-quiet" }, op.line > 0 ? `line ${op.line}` : ""), html("b", { class: "mg-count" }));
    return op.phase === this.found.ops[at - 1]?.phase ? [item] : [html("div", { class: "mg-file" }, op.phase), item];
  }

  #count(item: HTMLElement, counts: readonly number[]): void {
    const count = counts[Number(item.dataset["op"])] ?? 0;
    mark(item, "data-empty", count === 0 ? "" : null);
    const place = item.querySelector(".mg-count");
    if (place) write(place, count === 0 ? "–" : String(count));
    if (place) mark(place, "title", plural(count, "statement"));
  }

  #statement({ place, statement, change }: Row, loops: Set<string>): HTMLElement {
    const row = this.#drawn.get(place) ?? this.#drawnStatement(place);
    this.#drawn.set(place, row);
    mark(row, "data-change", change);
    const sign = row.firstElementChild;
    if (sign) write(sign, SIGNS[change][0]);
    if (sign) mark(sign, "aria-label", SIGNS[change][1] || null);
    if (sign) mark(sign, "role", change === "same" ? null : "img");
    const name = statement.code.split("(")[0] ?? "";
    mark(row, "data-again", loops.has(name) ? "" : null);
    if (statement.loop) loops.add(name);
    return row;
  }

  #drawnStatement(place: number): HTMLElement {
    const statement = this.found.statements[place];
    if (!statement) return this.#item({});
    const code = pieces(this.found, statement.code).map(({ text, buffer }) => (buffer === null ? text : this.#name(text, buffer)));
    const item = this.#item({ "data-statement": statement.id }, html("span", { class: "mg-change" }), html("code", {}, ...code), html("span", { class: "mg-origin" }, `# ${statement.origin}`));
    if (statement.loop) item.append(html("code", { class: "mg-loop" }, statement.loop.join("\n")));
    return item;
  }

  #name(text: string, buffer: string): HTMLElement {
    const { kind, place } = this.found.buffers[buffer] as Buffer;
    return html("span", { class: "mg-buffer", "data-buffer": buffer, "data-kind": kind, ...(place === undefined ? {} : { "data-hue": place % HUES, "data-place": place }) }, text);
  }
}

export function compiledView(found: Compiled, link: Link): Stepped {
  const stops = found.steps.map((pass, step) => ({ step, text: pass.sentence }));
  let view: Stepped | null = null;
  const drawing = new Threes(found, (step) => view?.visit(step));
  view = new Stepped(`compiled step ${found.name}; up and down arrow go through a list`, stops, link, drawing.element, (step) => drawing.show(step), (by) => drawing.walk(by));
  return view;
}

// ---- A compiled step and the relations between its parts, without a page. The data comes from minigrad's
// compiler/inspection.py.
export interface Op {
  name: string;
  phase: "forward" | "backward" | "optimizer";
  file: number | null;
  line: number;
  /** For a node of the backward pass: the op that recorded it. */
  recorded_by: number | null;
}

export interface Statement {
  id: number;
  code: string;
  origin: string;
  ops: number[];
  loop?: string[];
  parts?: number[];
}

export interface Pass {
  name: string;
  sentence: string;
  statements: number[];
  buffers: number;
  bytes: number;
}

export interface Buffer {
  kind: "temporary" | "kept" | "input" | "constant";
  type: string;
  bytes: number;
  place?: number;
  offset?: number;
  first?: number;
  last?: number;
}

export interface Compiled {
  name: string;
  backend: string;
  files: { name: string; lines: [number, string][] }[];
  ops: Op[];
  head: string[];
  statements: Statement[];
  steps: Pass[];
  names: Record<string, string>;
  buffers: Record<string, Buffer>;
}

export type Change = "same" | "new" | "changed" | "removed";

/** A statement of a step; `was`: the statement that it replaced in the pass. */
export interface Row {
  place: number;
  statement: Statement;
  change: Change;
  was: string | null;
}

/** The target pointed at: a line of a file, an op, or a statement. */
export type Target = { line: string } | { op: number } | { statement: number };

/** What belongs to a target: `kin` is what recorded its ops, and what they recorded. */
export interface Related {
  ops: Set<number>;
  kin: Set<number>;
}

export const lineOf = (op: Op): string => (op.file === null ? "" : `${op.file}:${op.line}`);

/** The statements after a pass and, in their former positions, those that it removed. */
export function rowsOf(found: Compiled, step: number): Row[] {
  const at = (place: number): Statement => found.statements[place] as Statement;
  const now = found.steps[step]?.statements ?? [];
  const before = step === 0 ? now : (found.steps[step - 1]?.statements ?? []);
  const stays = new Set(now.map((place) => at(place).id));
  const stood = new Map(before.map((place) => [at(place).id, place]));
  const gone = before.filter((place) => !stays.has(at(place).id));
  const rows: Row[] = [];
  const flush = (goes: (place: number) => boolean): void => {
    for (const place of gone.filter(goes)) rows.push({ place, statement: at(place), change: "removed", was: null });
    gone.splice(0, gone.length, ...gone.filter((place) => !goes(place)));
  };
  const order = new Map(before.map((place, index) => [place, index]));
  for (const place of now) {
    const statement = at(place);
    const old = stood.get(statement.id);
    if (old !== undefined) flush((each) => (order.get(each) ?? 0) < (order.get(old) ?? 0));
    else if (statement.parts) flush((each) => statement.parts?.includes(at(each).id) ?? false);
    const change = old === undefined ? "new" : old === place ? "same" : "changed";
    rows.push({ place, statement, change, was: change === "changed" && old !== undefined ? at(old).code : null });
  }
  flush(() => true);
  return rows;
}

/** The ops that belong to a target, and their kin. */
export function related(found: Compiled, target: Target | null): Related {
  const ops = new Set<number>();
  if (target === null) return { ops, kin: new Set() };
  if ("op" in target) ops.add(target.op);
  else if ("line" in target) found.ops.forEach((op, at) => lineOf(op) === target.line && ops.add(at));
  else for (const each of found.statements) if (each.id === target.statement) for (const op of each.ops) ops.add(op);
  const kin = new Set<number>();
  found.ops.forEach((op, at) => {
    if (op.recorded_by !== null && ops.has(op.recorded_by) && !ops.has(at)) kin.add(at);
    if (op.recorded_by !== null && ops.has(at) && !ops.has(op.recorded_by)) kin.add(op.recorded_by);
  });
  return { ops, kin };
}

/** By op: the number of statements of a program that are part of it. */
export function countByOp(found: Compiled, step: number): number[] {
  const counts = found.ops.map(() => 0);
  for (const place of found.steps[step]?.statements ?? []) {
    for (const op of found.statements[place]?.ops ?? []) counts[op] = (counts[op] ?? 0) + 1;
  }
  return counts;
}

/** The pass that removed the last statement of an op; null if any is left, or if there was none from the start. */
export function endedBy(found: Compiled, op: number, step: number): string | null {
  const has = (at: number): boolean => found.steps[at]?.statements.some((place) => found.statements[place]?.ops.includes(op)) ?? false;
  if (has(step)) return null;
  for (let at = step - 1; at >= 0; at -= 1) if (has(at)) return found.steps[at + 1]?.name ?? null;
  return null;
}

/** A statement in pieces: text, and names of memory with their buffers. */
export function pieces(found: Compiled, code: string): { text: string; buffer: string | null }[] {
  return code.split(/\b([A-Za-z_]\w*)\b/).filter((text) => text !== "").map((text) => ({ text, buffer: Object.hasOwn(found.names, text) ? (found.names[text] ?? null) : null }));
}

export interface Stay {
  buffer: string;
  first: number;
  last: number;
  /** Its offset in bytes. Before the plan each temporary has its own memory. */
  offset: number;
  bytes: number;
  place: number | null;
}

/** The lifetimes of temporaries, from statement to statement, and their offsets. */
export function stays(found: Compiled, step: number): Stay[] {
  const spans = new Map<string, { first: number; last: number }>();
  const planned = step === found.steps.length - 1;
  (found.steps[step]?.statements ?? []).forEach((place, at) => {
    for (const { buffer } of pieces(found, found.statements[place]?.code ?? "")) {
      if (buffer === null || found.buffers[buffer]?.kind !== "temporary") continue;
      const span = spans.get(buffer);
      if (span) span.last = at;
      else spans.set(buffer, { first: at, last: at });
    }
  });
  let below = 0;
  return [...spans].map(([buffer, span]) => {
    const { bytes, offset, place } = found.buffers[buffer] as Buffer;
    const own = below;
    below += bytes;
    return { buffer, ...span, bytes, offset: planned ? (offset ?? 0) : own, place: planned ? (place ?? null) : null };
  });
}

// ---- The memory of a program's temporaries: its statements horizontally, bytes vertically.
export const HUES = 8;

export class MemoryMap {
  readonly element = svg("svg", { class: "mg-room", role: "img", preserveAspectRatio: "none" });
  readonly #cursor = svg("rect", { class: "mg-room-at", y: 0, width: 1 });
  #rects: SVGElement[] = [];

  constructor(private readonly found: Compiled) {}

  show(step: number): void {
    const pass = this.found.steps[step];
    const [length, size] = [Math.max(1, pass?.statements.length ?? 0), Math.max(1, pass?.bytes ?? 0)];
    this.element.setAttribute("viewBox", `0 0 ${length} ${size}`);
    mark(this.element, "aria-label", `memory of the temporaries, statement by statement: ${bytes(pass?.bytes ?? 0)}`);
    this.#rects = stays(this.found, step).map((stay) => {
      const place = stay.place === null ? {} : { "data-hue": stay.place % HUES };
      return svg("rect", { x: stay.first, y: stay.offset, width: stay.last - stay.first + 1, height: stay.bytes, "data-buffer": stay.buffer, ...place });
    });
    this.#cursor.setAttribute("height", String(size));
    this.element.replaceChildren(...this.#rects, this.#cursor);
  }

  /** Marks a statement by its index in the program, and a buffer; null and -1 for none. */
  light(at: number, buffer: string | null): void {
    mark(this.#cursor, "x", at);
    mark(this.#cursor, "data-off", at < 0 ? "" : null);
    for (const rect of this.#rects) mark(rect, "data-look", buffer !== null && rect.getAttribute("data-buffer") === buffer ? "here" : null);
  }
}
