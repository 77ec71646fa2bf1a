/**
 * Names in the source: pointed at, or reached with the keyboard, a name lights its tensor's node, gradient and `.grad`.
 *
 * A name inside of a function is the tensor's only where the function does not use that name for something of its own.
 */
import { html } from "../page/dom";
import { inline, nodeName, shape, tensorName, valueOf } from "../trace/format";
import { unwritten } from "./trays";
import type { Moment } from "./details";
import type { Maybe, Trace } from "../trace/types";

/** Lights nodes and the edges that lead to them. */
export type CallOut = (nodes: readonly number[], edges: readonly string[]) => void;

type Range = [from: number, to: number];

const WORD = /("""|'''|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|#.*)|(?<![\w.])([A-Za-z_]\w*)/g;
const SHOWN = 3;

/** The bodies of functions in a file, by their lines from 1 on, outer ones first. */
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

export class Called {
  /** Under the lines: what the name stands for at this step. */
  readonly card = html("output", { class: "mg-card", "aria-live": "polite" });
  private readonly named = new Map<string, number[]>();
  private readonly leaves = new Map<number, number>();
  /** The edges to an output of a node, by `node:output_nr`. */
  private readonly edges = new Map<string, string[]>();
  /** The lines at which each tensor was made or used, by file. */
  private readonly lines = new Map<number, Set<string>>();
  private readonly bodies = new Map<number, Range[]>();
  private shown: number[] = [];
  private moment: Moment | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly light: CallOut,
    private readonly arrived: (node: number, output_nr: number, moment: Moment) => Maybe,
    private readonly pick: (node: number) => void,
  ) {
    this.card.hidden = true;
    const add = <K, V>(map: Map<K, V[]>, key: K, value: V): void => void map.set(key, [...(map.get(key) ?? []), value]);
    trace.tensors.forEach(({ name }, id) => name !== null && add(this.named, name.split(".")[0] ?? name, id));
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
      const tensors = name === undefined ? [] : this.meant(file, at, line, name);
      if (name === undefined || tensors.length === 0) continue;
      pieces.push(line.slice(done, found.index), html("span", { class: "mg-called", role: "button", tabindex: -1, "data-tensors": tensors.join(" ") }, name));
      done = found.index + name.length;
    }
    return [...pieces, line.slice(done)];
  }

  /** Listens to the lines: to the pointer and to the focus, which stays while one steps. */
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

  /** One name of a file can be reached with Tab; the arrows lead on from there. */
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
    this.shown = (name?.dataset["tensors"] ?? "").split(" ").filter(Boolean).map(Number);
    this.draw();
  }

  /** The tensors that a name means at a line. */
  private meant(file: number, at: number, line: string, name: string): number[] {
    const tensors = this.named.get(name) ?? [];
    if (tensors.length === 0 || new RegExp(`\\blambda\\b[^:]*\\b${name}\\b`).test(line)) return [];
    const lines = this.trace.files[file]?.lines ?? [];
    const bodies = this.bodies.get(file) ?? functions(lines);
    this.bodies.set(file, bodies);
    const body = bodies.filter(([from, to]) => from <= at && at <= to && isLocal(lines, [from, to], name)).at(-1);
    if (!body) return tensors;
    const within = (place: string): boolean => {
      const [of, row] = place.split(":").map(Number) as [number, number];
      return of === file && body[0] <= row && row <= body[1];
    };
    return tensors.filter((id) => [...(this.lines.get(id) ?? [])].some(within));
  }

  private nodeOf(tensor: number): Maybe {
    return this.moment?.nodeOf?.(tensor) ?? this.trace.tensors[tensor]?.node ?? this.leaves.get(tensor) ?? null;
  }

  /** The edges along which gradients come to a tensor. */
  private arriving(tensor: number): string[] {
    const node = this.nodeOf(tensor);
    const nr = this.leaves.get(tensor) === node ? 0 : (this.trace.tensors[tensor]?.output_nr ?? 0);
    return node === null ? [] : (this.edges.get(`${node}:${nr}`) ?? []);
  }

  private draw(): void {
    const moment = this.moment;
    this.card.hidden = this.shown.length === 0 || moment === null;
    const nodes = this.shown.flatMap((id) => this.nodeOf(id) ?? []);
    this.light(nodes, this.shown.flatMap((id) => this.arriving(id)));
    if (this.card.hidden || moment === null) return;
    const more = this.shown.length > SHOWN ? [html("p", { class: "mg-quiet" }, `and ${this.shown.length - SHOWN} more`)] : [];
    this.card.replaceChildren(...this.shown.slice(0, SHOWN).map((id) => this.facts(id, moment)), ...more);
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
      ["gradient", came.length === 0 ? "none yet" : came.map(value).join(" + ")],
      [".grad", grad === undefined ? unwritten(this.trace, id) : grad === null ? "a partial sum" : value(grad)],
    ];
    return html("dl", {}, ...facts.flatMap(([key, text]) => [html("dt", {}, key), html("dd", {}, text)]));
  }
}
