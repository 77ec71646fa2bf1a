/**
 * Names in the source: pointing at a name, or focusing it, lights its tensor's node, gradient and `.grad`.
 *
 * A name on a line means the tensor that it held when that line last ran; where it is assigned, the new one.
 */
import { html } from "../page/dom";
import { inline, nodeName, shape, tensorName, valueOf } from "../trace/format";
import { Meanings } from "../trace/meaning";
import { unwritten } from "./trays";
import type { Moment } from "./lens";
import type { Maybe, Trace } from "../trace/types";

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
  private readonly named = new Map<string, number[]>();
  private readonly leaves = new Map<number, number>();
  /** The edges to an output of a node, by `node:output_nr`. */
  private readonly edges = new Map<string, string[]>();
  /** The lines at which each tensor was created or used, by file. */
  private readonly lines = new Map<number, Set<string>>();
  private readonly meanings: Meanings;
  private name: HTMLElement | null = null;
  private moment: Moment | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly light: CallOut,
    private readonly arrived: (node: number, output_nr: number, moment: Moment) => Maybe,
    private readonly pick: (node: number) => void,
  ) {
    this.card.hidden = true;
    this.meanings = new Meanings(trace);
    const add = <K, V>(map: Map<K, V[]>, key: K, value: V): void => void map.set(key, [...(map.get(key) ?? []), value]);
    trace.tensors.forEach(({ name }, id) => name !== null && add(this.named, name.split(/[.[]/)[0] ?? name, id));
    trace.nodes.forEach((node, id) => {
      if (node.variable !== undefined) this.leaves.set(node.variable, id);
      node.next.forEach((edge, index) => edge && add(this.edges, edge.join(":"), `${id}:${index}`));
    });
    for (const event of trace.events) {
      if (event.kind !== "forward") continue;
      for (const tensor of [...event.inputs, ...event.outputs]) {
        if (tensor === null) continue;
        this.lines.set(tensor, (this.lines.get(tensor) ?? new Set()).add(`${event.file}:${event.line}`));
      }
    }
  }

  /** A line of a file (from 1) as text, in which the names of tensors can be pointed at. */
  pieces(file: number, at: number, line: string): (Node | string)[] {
    const pieces: (Node | string)[] = [];
    let done = 0;
    for (const found of line.matchAll(WORD)) {
      const name = found[2];
      const meant = name === undefined || found.index < done ? null : this.meant(file, at, line, name, found.index);
      if (name === undefined || meant === null) continue;
      const data = meant.tensors ? { "data-tensors": meant.tensors.join(" ") } : { "data-name": name, "data-line": `${file}:${at}`, "data-assigned": String(this.meanings.use(file, at, line, found.index, name) === "assigned") };
      pieces.push(line.slice(done, found.index), html("span", { class: "mg-called", role: "button", tabindex: -1, ...data }, meant.text));
      done = found.index + meant.text.length;
    }
    return [...pieces, line.slice(done)];
  }

  /** Listens to the lines: to the pointer, and to the focus, which stays while stepping. */
  listen(body: HTMLElement): void {
    const name = (target: EventTarget | null): HTMLElement | null => (target instanceof Element ? target.closest<HTMLElement>(".mg-called") : null);
    const focused = (): HTMLElement | null => body.querySelector<HTMLElement>(".mg-called:focus");
    body.addEventListener("pointerover", (event) => this.point(name(event.target) ?? focused()));
    body.addEventListener("pointerleave", () => this.point(focused()));
    body.addEventListener("focusin", (event) => this.point(name(event.target)));
    body.addEventListener("focusout", () => this.point(null));
    body.addEventListener("click", (event) => name(event.target)?.focus());
    body.addEventListener("keydown", (event) => {
      const from = name(event.target);
      if (!from) return;
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by !== undefined) this.walk(body, from, by);
      else if (event.key === "Enter" || event.key === " ") this.shown.slice(0, 1).forEach((id) => this.choose(this.nodeOf(id)));
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
    this.moment = moment;
    this.draw();
  }

  private choose(node: Maybe): void {
    if (node !== null) this.pick(node);
  }

  private walk(body: HTMLElement, from: HTMLElement, by: number): void {
    const all = [...body.querySelectorAll<HTMLElement>(".mg-called")];
    const to = all[all.indexOf(from) + by];
    if (!to) return;
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  }

  private point(name: HTMLElement | null): void {
    this.name = name;
    this.draw();
  }

  /** The tensors at this step of the name pointed at. */
  private get shown(): number[] {
    const { tensors = "", name, line, assigned } = this.name?.dataset ?? {};
    if (name === undefined || line === undefined) return tensors.split(" ").filter(Boolean).map(Number);
    const [file, at] = line.split(":").map(Number) as [number, number];
    const tensor = this.meanings.at(file, at, name, assigned === "true", this.moment?.now ?? null);
    return tensor === null ? [] : [tensor];
  }

  /** The meaning of a name at a line; null if it is not a tensor. */
  private meant(file: number, at: number, line: string, name: string, from: number): Meant | null {
    if (new RegExp(`\\blambda\\b[^:]*\\b${name}\\b`).test(line)) return null;
    const use = this.meanings.use(file, at, line, from, name);
    if (use === null || use === "argument") return null;
    if (!this.meanings.has(file, at, name) && this.meanings.isChanged(file, at, name)) return null;
    const path = this.path(line.slice(from).replaceAll('"', "'"), name);
    if (!path && this.meanings.has(file, at, name)) return { text: name, tensors: null };
    const tensors = path ? path.tensors : (this.named.get(name) ?? []);
    const body = this.meanings.owner(file, at, name);
    const within = (place: string): boolean => {
      const [of, row] = place.split(":").map(Number) as [number, number];
      return body === undefined || (of === file && body[0] <= row && row <= body[1]);
    };
    const found = body ? tensors.filter((id) => [...(this.lines.get(id) ?? [])].some(within)) : tensors;
    return found.length === 0 ? null : { text: path ? line.slice(from, from + path.length) : name, tensors: found };
  }

  /** The longest path to a tensor, such as `weights[0]`, that a text begins with; null if there is none. */
  private path(text: string, name: string): { length: number; tensors: number[] } | null {
    const paths = (this.named.get(name) ?? []).map((id) => this.trace.tensors[id]?.name ?? "");
    const fitting = paths.filter((path) => path !== name && text.startsWith(path) && !/^\w/.test(text.slice(path.length)));
    const longest = fitting.reduce((a, b) => (b.length > a.length ? b : a), "");
    if (longest === "") return null;
    return { length: longest.length, tensors: (this.named.get(name) ?? []).filter((id) => this.trace.tensors[id]?.name === longest) };
  }

  private nodeOf(tensor: number): Maybe {
    return this.moment?.nodeOf?.(tensor) ?? this.trace.tensors[tensor]?.node ?? this.leaves.get(tensor) ?? null;
  }

  /** The edges along which gradients reach a tensor. */
  private arriving(tensor: number): string[] {
    const node = this.nodeOf(tensor);
    const nr = this.leaves.get(tensor) === node ? 0 : (this.trace.tensors[tensor]?.output_nr ?? 0);
    return node === null ? [] : (this.edges.get(`${node}:${nr}`) ?? []);
  }

  private draw(): void {
    const [moment, shown] = [this.moment, this.shown];
    this.card.hidden = shown.length === 0 || moment === null;
    this.light(shown.flatMap((id) => this.nodeOf(id) ?? []), shown.flatMap((id) => this.arriving(id)));
    if (this.card.hidden || moment === null) return;
    const more = shown.length > SHOWN ? [html("p", { class: "mg-quiet" }, `and ${shown.length - SHOWN} more`)] : [];
    this.card.replaceChildren(...shown.slice(0, SHOWN).map((id) => this.facts(id, moment)), ...more);
  }

  private facts(id: number, moment: Moment): HTMLElement {
    const record = this.trace.tensors[id];
    const node = this.nodeOf(id);
    const all = node === null ? null : this.arrived(node, this.leaves.get(id) === node ? 0 : (record?.output_nr ?? 0), moment);
    const came = all === null ? this.arriving(id).flatMap((key) => moment.edge(key) ?? []) : [all];
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
