/** The source pane: the program's lines, the current one lit. In the traversal lens: the same calls in Python. */
import { html, write } from "../page/dom";
import type { Maybe, Trace } from "../trace/types";
import { inline, nodeName, shape, tensorName, valueOf } from "../trace/format";
import { once, push } from "../trace/lists";
import { Meanings } from "../trace/meaning";
import { unwritten } from "./trays";
import type { Moment } from "./lens";

export class SourcePane {
  readonly element: HTMLElement;
  readonly #heading = html("h3", { class: "mg-heading" });
  readonly #body = html("div", { class: "mg-code", tabindex: 0, role: "group" });
  readonly #pages = new Map<number, HTMLElement[]>();
  readonly #observer: ResizeObserver | null = null;
  #file: Maybe = null;
  #lit: HTMLElement | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly called: Called,
  ) {
    this.element = html("section", { class: "mg-source", "aria-label": "source" }, this.#heading, this.#body);
    called.listen(this.#body);
    // A pane has no height and cannot be scrolled before it is in a page.
    if (typeof ResizeObserver !== "undefined") {
      this.#observer = new ResizeObserver(() => this.#lit && this.#scrollTo(this.#lit));
      this.#observer.observe(this.#body);
    }
    this.show(trace.events.find((event) => event.file !== undefined)?.file ?? 0, null);
  }

  dispose(): void {
    this.#observer?.disconnect();
  }

  /** Lights a line; for an event without one, the last one stays in view, unlit. */
  show(file: Maybe, line: Maybe): void {
    if (file !== null && file !== this.#file && this.trace.files[file]) this.#open(file);
    const rows = this.#pages.get(this.#file ?? -1) ?? [];
    const row = file === null || line === null ? null : (rows[line - 1] ?? null);
    if (row === this.#lit) return;
    this.#lit?.classList.remove("mg-current");
    this.#lit?.removeAttribute("aria-current");
    this.#lit = row;
    if (!row) return;
    row.classList.add("mg-current");
    row.setAttribute("aria-current", "step");
    this.#scrollTo(row);
  }

  /** Shows lines of Python that correspond to the student's clicks. */
  write(heading: string, lines: readonly string[]): void {
    write(this.#heading, heading);
    this.#file = null;
    this.#lit = null;
    const rows = lines.map((line, at) => this.#row(at, line));
    this.#body.replaceChildren(...rows);
    const last = rows.at(-1);
    if (last) this.#scrollTo(last);
  }

  #open(file: number): void {
    const source = this.trace.files[file];
    if (!source) return;
    const rows = this.#pages.get(file) ?? source.lines.map((line, at) => this.#row(at, ...this.called.pieces(file, at + 1, line)));
    this.#pages.set(file, rows);
    this.#file = file;
    this.#lit?.classList.remove("mg-current");
    this.#lit = null;
    write(this.#heading, source.name);
    this.#body.replaceChildren(...rows);
    this.called.enter(this.#body);
  }

  #row(at: number, ...line: (Node | string)[]): HTMLElement {
    const number = html("span", { class: "mg-number", "aria-hidden": true }, String(at + 1));
    return html("div", { class: "mg-line" }, number, html("code", {}, ...line, line.join("") === "" ? " " : ""));
  }

  /** Scrolls the pane by whole lines, not the page: scrollIntoView would move the notebook under the student's hands. */
  #scrollTo(row: HTMLElement): void {
    const above = row.offsetTop < this.#body.scrollTop;
    const below = row.offsetTop + row.offsetHeight > this.#body.scrollTop + this.#body.clientHeight;
    if (!above && !below) return;
    // Half a pane above the row, what is in sight begins with the beginning of a line, unless the source ends before.
    const half = row.offsetTop - this.#body.clientHeight / 2;
    const tops = [...this.#body.children].map(each => (each as HTMLElement).offsetTop);
    this.#body.scrollTop = tops.find(top => top >= half) ?? row.offsetTop;
  }
}

// ---- Names in the source: pointing at a name, or focusing it, lights its tensor's node, gradient and `.grad`. A name
// on a line means the tensor that it held when that line last ran; where it is assigned, the new one.
/** Lights nodes and the edges that lead to them. */
export type CallOut = (nodes: readonly number[], edges: readonly string[]) => void;

const WORD = /("""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#.*)|(?<![\w.])([A-Za-z_]\w*)/g;
const SHOWN = 3;

/** A name in the text, with what follows it if that selects one tensor, as in `weights[0]`. */
interface Meant {
  text: string;
  /** The tensors that it means at every step; null if that depends on the step. */
  tensors: number[] | null;
}

export class Called {
  /** Under the lines: what the name means at this step. */
  readonly card = html("output", { class: "mg-card", "aria-live": "polite" });
  readonly #named = new Map<string, number[]>();
  /** By the first part of a path, the tensors of each path that has more parts. */
  readonly #paths = new Map<string, Map<string, number[]>>();
  readonly #leaves = new Map<number, number>();
  /** The edges to an output of a node, by `node:output_nr`; none before a name is first pointed at. */
  readonly #edges = new Map<string, string[]>();
  /** The lines at which each tensor with a name was created or used, by file. */
  readonly #lines = once(() => this.#uses());
  readonly #meanings: Meanings;
  #name: HTMLElement | null = null;
  #moment: Moment | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly light: CallOut,
    private readonly arrived: (node: number, output_nr: number, moment: Moment) => Maybe,
    private readonly pick: (node: number) => void,
  ) {
    this.card.hidden = true;
    this.#meanings = new Meanings(trace);
    trace.tensors.forEach(({ name }, id) => {
      if (name === null) return;
      const first = name.split(/[.[]/)[0] ?? name;
      push(this.#named, first, id);
      if (name === first) return;
      const paths = this.#paths.get(first) ?? new Map<string, number[]>();
      push(paths, name, id);
      this.#paths.set(first, paths);
    });
    trace.nodes.forEach((node, id) => {
      if (node.variable !== undefined) this.#leaves.set(node.variable, id);
    });
  }

  #uses(): Map<number, [file: number, line: number][]> {
    const lines = new Map<number, [file: number, line: number][]>();
    for (const event of this.trace.events) {
      if (event.kind !== "forward") continue;
      for (const tensor of [...event.inputs, ...event.outputs]) {
        if (tensor === null || !this.trace.tensors[tensor]?.name) continue;
        const [known, { file, line }] = [lines.get(tensor) ?? [], event];
        if (file !== undefined && line !== undefined && !known.some(([of, row]) => of === file && row === line)) known.push([file, line]);
        lines.set(tensor, known);
      }
    }
    return lines;
  }

  /** A line of a file (from 1) as text, in which the names of tensors can be pointed at. */
  pieces(file: number, at: number, line: string): (Node | string)[] {
    const pieces: (Node | string)[] = [];
    let done = 0;
    for (const found of line.matchAll(WORD)) {
      const name = found[2];
      const meant = name === undefined || found.index < done ? null : this.#meant(file, at, line, name, found.index);
      if (name === undefined || meant === null) continue;
      const data = meant.tensors ? { "data-tensors": meant.tensors.join(" ") } : { "data-name": name, "data-line": `${file}:${at}`, "data-assigned": String(this.#meanings.use(file, at, line, found.index, name) === "assigned") };
      pieces.push(line.slice(done, found.index), html("span", { class: "mg-called", role: "button", tabindex: -1, ...data }, meant.text));
      done = found.index + meant.text.length;
    }
    return [...pieces, line.slice(done)];
  }

  /** Listens to the lines: to the pointer, and to the focus, which stays while stepping. */
  listen(body: HTMLElement): void {
    const name = (target: EventTarget | null): HTMLElement | null => (target instanceof Element ? target.closest<HTMLElement>(".mg-called") : null);
    const focused = (): HTMLElement | null => body.querySelector<HTMLElement>(".mg-called:focus");
    body.addEventListener("pointerover", (event) => this.#point(name(event.target) ?? focused()));
    body.addEventListener("pointerleave", () => this.#point(focused()));
    body.addEventListener("focusin", (event) => this.#point(name(event.target)));
    body.addEventListener("focusout", () => this.#point(null));
    body.addEventListener("click", (event) => name(event.target)?.focus());
    body.addEventListener("keydown", (event) => {
      const from = name(event.target);
      if (!from) return;
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by !== undefined) this.#walk(body, from, by);
      else if (event.key === "Enter" || event.key === " ") this.#shown.slice(0, 1).forEach((id) => this.#choose(this.#nodeOf(id)));
      else return;
      event.preventDefault();
    });
  }

  /** One name of a file can be reached with Tab; the arrow keys move on from there. */
  enter(body: HTMLElement): void {
    body.querySelector(".mg-called")?.setAttribute("tabindex", "0");
  }

  /** Shows the same tensors at another step. */
  show(moment: Moment): void {
    this.#moment = moment;
    this.#draw();
  }

  #choose(node: Maybe): void {
    if (node !== null) this.pick(node);
  }

  #walk(body: HTMLElement, from: HTMLElement, by: number): void {
    const all = [...body.querySelectorAll<HTMLElement>(".mg-called")];
    const to = all[all.indexOf(from) + by];
    if (!to) return;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }

  #point(name: HTMLElement | null): void {
    this.#name = name;
    this.#draw();
  }

  /** The tensors at this step of the name pointed at. */
  get #shown(): number[] {
    const { tensors = "", name, line, assigned } = this.#name?.dataset ?? {};
    if (name === undefined || line === undefined) return tensors.split(" ").filter(Boolean).map(Number);
    const [file, at] = line.split(":").map(Number) as [number, number];
    const tensor = this.#meanings.at(file, at, name, assigned === "true", this.#moment?.now ?? null);
    return tensor === null ? [] : [tensor];
  }

  /** The meaning of a name at a line; null if it is not a tensor. */
  #meant(file: number, at: number, line: string, name: string, from: number): Meant | null {
    if (!this.#named.has(name) && !this.#meanings.knows(file, name)) return null;
    if (new RegExp(`\\blambda\\b[^:]*\\b${name}\\b`).test(line)) return null;
    const use = this.#meanings.use(file, at, line, from, name);
    if (use === null || use === "argument") return null;
    if (!this.#meanings.has(file, at, name) && this.#meanings.isChanged(file, at, name)) return null;
    const path = this.#path(line.slice(from).replaceAll('"', "'"), name);
    if (!path && this.#meanings.has(file, at, name)) return { text: name, tensors: null };
    const tensors = path ? path.tensors : (this.#named.get(name) ?? []);
    const body = this.#meanings.owner(file, at, name);
    const found = body ? tensors.filter((id) => this.#lines().get(id)?.some(([of, row]) => of === file && body[0] <= row && row <= body[1])) : tensors;
    return found.length === 0 ? null : { text: path ? line.slice(from, from + path.length) : name, tensors: found };
  }

  /** The longest path to a tensor, such as `weights[0]`, that a text begins with; null if there is none. */
  #path(text: string, name: string): { length: number; tensors: number[] } | null {
    let longest = "";
    const paths = this.#paths.get(name);
    for (const path of paths?.keys() ?? []) if (path.length > longest.length && text.startsWith(path) && !/^\w/.test(text.slice(path.length))) longest = path;
    return longest === "" ? null : { length: longest.length, tensors: paths?.get(longest) ?? [] };
  }

  #nodeOf(tensor: number): Maybe {
    return this.#moment?.nodeOf?.(tensor) ?? this.trace.tensors[tensor]?.node ?? this.#leaves.get(tensor) ?? null;
  }

  /** The edges along which gradients reach a tensor. */
  #arriving(tensor: number): string[] {
    const node = this.#nodeOf(tensor);
    const nr = this.#leaves.get(tensor) === node ? 0 : (this.trace.tensors[tensor]?.output_nr ?? 0);
    if (this.#edges.size === 0) this.trace.nodes.forEach(({ next }, id) => next.forEach((edge, index) => edge && push(this.#edges, edge.join(":"), `${id}:${index}`)));
    return node === null ? [] : (this.#edges.get(`${node}:${nr}`) ?? []);
  }

  #draw(): void {
    const [moment, shown] = [this.#moment, this.#shown];
    this.card.hidden = shown.length === 0 || moment === null;
    this.light(shown.flatMap((id) => this.#nodeOf(id) ?? []), shown.flatMap((id) => this.#arriving(id)));
    if (this.card.hidden || moment === null) return;
    const more = shown.length > SHOWN ? [html("p", { class: "mg-quiet" }, `and ${shown.length - SHOWN} more`)] : [];
    this.card.replaceChildren(...shown.slice(0, SHOWN).map((id) => this.#facts(id, moment)), ...more);
  }

  #facts(id: number, moment: Moment): HTMLElement {
    const record = this.trace.tensors[id];
    const node = this.#nodeOf(id);
    const all = node === null ? null : this.arrived(node, this.#leaves.get(id) === node ? 0 : (record?.output_nr ?? 0), moment);
    const came = all === null ? this.#arriving(id).flatMap((key) => moment.edge(key) ?? []) : [all];
    const grad = moment.grad(id);
    const value = (of: Maybe | undefined): string => inline(valueOf(this.trace, of), 60);
    const facts: [string, string][] = [
      [tensorName(this.trace, id), `${shape(record?.shape ?? [])} ${value(moment.value(id))}`],
      ["node", node === null ? "none" : nodeName(this.trace, node)],
      ["gradient", came.length === 0 ? (node === null ? "none: it has no node" : "none so far") : came.map(value).join(" + ")],
      [".grad", grad === undefined ? unwritten(this.trace, id) : grad === null ? "a partial sum" : value(grad)],
    ];
    return html("dl", {}, ...facts.flatMap(([key, text]) => [html("dt", {}, key), html("dd", {}, text)]));
  }
}
