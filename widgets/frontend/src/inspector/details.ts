/** The details pane: everything that the trace knows of one node. */
import { html, mark } from "../page/dom";
import { inline, nodeName, place, shape, tensor, tensorName, valueOf, brief } from "../trace/format";
import { Arithmetic, type Light } from "./arithmetic";
import { entryText } from "./entry";
import type { Moment } from "./lens";
import { overview } from "./overview";
import { products } from "./products";
import { unwritten } from "./trays";
import { Savings } from "../trace/holders";
import { litNode, type Maybe, type Trace, type TraceEvent } from "../trace/types";
import { push } from "../trace/lists";

type Child = Node | string;

const GOT = 12;
/** A longer name is above its value: beside it there would be no room for a number. */
const NARROW = 8;

function section(title: string, ...children: Child[]): HTMLElement {
  return html("section", { class: "mg-part" }, html("h4", {}, title), ...children);
}

function rows(pairs: readonly (readonly [string, Child])[]): HTMLElement {
  const cells = pairs.flatMap(([key, child]) => [html("dt", {}, key), html("dd", {}, child)]);
  return html("dl", {}, ...cells);
}

function value(text: string): HTMLElement {
  if (!text.includes("\n")) return html("pre", { class: "mg-value" }, text);
  return html("pre", { class: "mg-value mg-rows", tabindex: 0, role: "group", "aria-label": "value" }, text);
}

export class DetailsPane {
  readonly element: HTMLElement;
  readonly #body = html("div", { class: "mg-details-body", tabindex: 0, role: "group" });
  readonly #hooks: HookList;
  readonly arithmetic: Arithmetic;
  /** Made when it is first asked for. */
  #savings: Savings | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly pick: (node: Maybe) => void,
    go: (step: number) => void,
    private readonly light: Light,
  ) {
    this.#hooks = new HookList(trace, go);
    this.arithmetic = new Arithmetic(trace, light);
    this.element = html("section", { class: "mg-details", "aria-label": "details" }, this.#body);
  }

  /** Shows a node; `pinned`: the chosen one, which stays while others run. */
  show(id: Maybe, moment: Moment, note: string, pinned = false): void {
    const node = id === null ? undefined : this.trace.nodes[id];
    if (id === null || !node) {
      this.light([], null);
      const hint = moment.tensors.length > 0 || this.trace.nodes.length === 0 ? "No node was recorded." : "Choose a node to see what it holds.";
      const cards = moment.tensors.slice(0, 4).map((each) => this.#tensorCard(each, moment, "tensor"));
      const got = moment.got !== undefined && moment.got.of.length > 0;
      const model = cards.length > 0 || got || moment.asking ? [] : overview(this.trace, this.pick);
      this.#body.replaceChildren(...model, html("p", { class: "mg-quiet" }, hint), ...cards, ...this.#got(moment));
      return;
    }
    const look = moment.look(id);
    const title = html("h3", { class: "mg-name" }, this.trace.plain && node.variable !== undefined ? nodeName(this.trace, id) : node.name, html("span", { class: "mg-tag", "data-status": look.look }, look.word || look.look));
    const parts: (HTMLElement | null)[] = [
      pinned ? this.#pin() : null,
      title,
      html("p", { class: "mg-quiet" }, this.#origin(id, note)),
      this.#pending(id, moment),
      products(this.trace, id, moment, (nr) => this.arrived(id, nr, moment)),
      this.#computed(id, moment),
      this.#turns(id, moment),
      node.variable === undefined ? null : this.#tensorCard(node.variable, moment, "variable"),
      this.#formula(node.name),
      this.#next(id, moment),
      this.#saved(id, moment),
      ...node.outputs.slice(0, 4).map((output) => this.#tensorCard(output, moment, "output", id)),
    ];
    this.#body.replaceChildren(...parts.filter((part) => part !== null));
  }

  /** The gradient that has come back for an output of a node; null while it is unknown. */
  readonly arrived = (node: number, output_nr: number, moment: Moment): Maybe => this.arithmetic.arrived(node, output_nr, moment);

  /** The results of a pass, or of all of them. */
  #got({ got }: Moment): HTMLElement[] {
    if (!got || got.of.length === 0) return [];
    const pairs = got.of.slice(0, GOT).map(([id, gradient]) => {
      return [tensorName(this.trace, id), value(inline(valueOf(this.trace, gradient), 60))] as const;
    });
    const more = got.of.length > GOT ? [html("p", { class: "mg-quiet" }, `and ${got.of.length - GOT} more: open “heat”`)] : [];
    const list = rows(pairs);
    list.classList.toggle("mg-got", got.of.some(([id]) => tensorName(this.trace, id).length > NARROW));
    return [section(got.title, list, ...more)];
  }

  #pin(): HTMLElement {
    const button = html("button", { type: "button", class: "mg-unpin", title: "show each node as it runs" }, "unpin");
    button.addEventListener("click", () => this.pick(null));
    return html("p", { class: "mg-pin" }, html("span", {}, "pinned: it stays while you step"), button);
  }

  #origin(id: number, note: string): string {
    const node = this.trace.nodes[id];
    const made = place(this.trace, node?.file, node?.line);
    const number = node?.sequence_nr === null ? "runs before all others" : `sequence_nr ${node?.sequence_nr}`;
    return [note, number, made && `made in ${made}`].filter(Boolean).join(" · ");
  }

  #pending(id: number, moment: Moment): HTMLElement | null {
    const list = moment.pending(id);
    if (list.length === 0) return null;
    const texts = list.map((entry, nr) => {
      const text = entry === undefined ? "nothing yet" : entry === null ? moment.unknown : tensor(valueOf(this.trace, entry));
      return value(list.length > 1 ? `output ${nr}: ${text}` : text);
    });
    return section("pending gradient", ...texts);
  }

  #turns(id: number, moment: Moment): HTMLElement | null {
    const list = moment.now === null ? null : this.#hooks.at(id, moment.now);
    return list && section("what happens here, in order", list);
  }

  #computed(id: number, moment: Moment): HTMLElement | null {
    const lines = this.arithmetic.at(id, moment);
    return lines.length > 0 ? section("the arithmetic", ...lines) : null;
  }

  #formula(name: string): HTMLElement | null {
    const text = Object.hasOwn(this.trace.formulas, name) ? this.trace.formulas[name] : undefined;
    return text ? section("its derivative, as written", html("pre", { class: "mg-formula" }, dedent(text))) : null;
  }

  #next(id: number, moment: Moment): HTMLElement | null {
    const edges = this.trace.nodes[id]?.next ?? [];
    if (edges.length === 0) return null;
    const items = edges.slice(0, 24).map((edge, index) => html("li", {}, ...this.#edge(id, index, edge, moment)));
    if (edges.length > 24) items.push(html("li", { class: "mg-quiet" }, `and ${edges.length - 24} more`));
    return section("next_functions", html("ol", { class: "mg-next-list", start: 0 }, ...items));
  }

  #edge(id: number, index: number, edge: [number, number] | null, moment: Moment): Child[] {
    if (!edge) return [html("code", {}, "(None, 0)"), html("span", { class: "mg-quiet" }, " needs no gradient")];
    const [to, output] = edge;
    const button = this.#node(to);
    const flowed = moment.edge(`${id}:${index}`);
    const children: Child[] = ["(", button, `, ${output})`];
    if (flowed === undefined) return children;
    const text = flowed === null ? "a partial sum" : inline(valueOf(this.trace, flowed), 40);
    children.push(html("span", { class: "mg-sent" }, ` ← ${text}`));
    return children;
  }

  #saved(id: number, moment: Moment): HTMLElement | null {
    const list = this.trace.nodes[id]?.saved ?? [];
    if (list.length === 0) return null;
    const state = moment.saved(id);
    this.#savings ??= new Savings(this.trace);
    const later = moment.now !== null && this.#savings.later(id, moment.now);
    const pairs = list.map(([name, tensorId, valueId]) => {
      const whose = tensorId === null ? "" : `${tensorName(this.trace, tensorId)} = `;
      const code = html("code", {}, `${whose}${inline(valueOf(this.trace, valueId), 48)}`);
      const as = tensorId === null || state !== "held" ? "" : this.#countsAs(tensorId, moment.now);
      return [name, as === "" ? code : html("span", {}, code, html("span", { class: "mg-quiet" }, ` counts as ${as}`))] as const;
    });
    const names = list.map(([name]) => name).join(", ");
    const part = later
      ? section("saved tensors", html("p", { class: "mg-quiet" }, `none yet: this node is about to save ${names}`))
      : section(`saved tensors ${state ? `(${state})` : ""}`, rows(pairs));
    part.dataset["saved"] = state;
    return part;
  }

  #countsAs(tensor: number, step: Maybe): string {
    const storage = this.trace.tensors[tensor]?.storage;
    return storage === undefined ? "" : this.#savings?.countsAs(storage, step ?? this.trace.events.length) ?? "";
  }

  #node(id: number): HTMLElement {
    const button = html("button", { type: "button", class: "mg-link" }, nodeName(this.trace, id));
    button.addEventListener("click", () => this.pick(id));
    return button;
  }

  /** A tensor: its values and, for an output of a node, the gradient that came back for it. */
  #tensorCard(id: number, moment: Moment, role: string, of: Maybe = null): HTMLElement {
    const record = this.trace.tensors[id];
    if (!record) return section(role);
    const grad = moment.grad(id);
    const older = moment.version(id) > (record.version ?? 0) && moment.value(id) === record.value;
    const flags = [record.is_leaf ? "leaf" : "", record.requires_grad ? "requires grad" : "", record.parameter ? "parameter" : ""];
    const pairs: (readonly [string, Child])[] = [
      ["is", `${shape(record.shape)} ${record.dtype}`],
      ["flags", flags.filter(Boolean).join(", ") || "none"],
      [older ? "value at first" : "value", value(tensor(valueOf(this.trace, moment.value(id))))],
      [".grad", value(grad === undefined ? unwritten(this.trace, id) : grad === null ? "a partial sum" : tensor(valueOf(this.trace, grad)))],
    ];
    const entry = this.arithmetic.trail?.entry(id);
    const number = this.arithmetic.trail?.array(moment.value(id))?.data[entry?.at ?? -1];
    if (entry && number !== undefined) pairs.push([`entry ${entry.place}`, html("code", { class: "mg-entry-value" }, entryText(number))]);
    const came = of === null ? null : this.arithmetic.arrived(of, record.output_nr, moment);
    if (came !== null) pairs.splice(3, 0, ["gradient", value(tensor(valueOf(this.trace, came)))]);
    const moves = this.trace.tensors[record.tangent ?? -1];
    if (moves) pairs.splice(3, 0, ["tangent", value(tensor(valueOf(this.trace, moves.value)))]);
    if (record.output_nr > 0) pairs.splice(1, 0, ["output_nr", String(record.output_nr)]);
    if (record.base !== undefined) pairs.push(["view of", tensorName(this.trace, record.base)]);
    if (moment.version(id) > 0) pairs.push(["version", String(moment.version(id))]);
    const now = moment.nodeOf?.(id) ?? null;
    if (now !== null) pairs.push(["grad_fn", this.#node(now)]);
    const name = tensorName(this.trace, id);
    return section(role === "tensor" && record.name === null ? name : `${role} ${name}`, rows(pairs));
  }
}

function dedent(text: string): string {
  const lines = text.replace(/\s+$/, "").split("\n");
  const used = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const margin = Math.min(...used, 40);
  return lines.map((line) => line.slice(margin)).join("\n");
}

// ---- The events at one node, in order: it runs, its hooks run, it passes gradients on. The order is the trace's.
const KINDS: ReadonlySet<string> = new Set(["run", "hook", "release", "flow", "accumulate"]);
const HOOKS: Record<string, string> = {
  tensor: "tensor hook",
  retain_grad: "retain_grad",
  pre: "node pre-hook",
  post: "node hook",
  post_accumulate: "post-accumulate hook",
};

export class HookList {
  /** By node, the steps of its events. */
  readonly #steps = new Map<number, number[]>();

  constructor(
    private readonly trace: Trace,
    private readonly go: (step: number) => void,
  ) {
    trace.events.forEach((event, step) => {
      const node = litNode(event);
      if (node === null || !KINDS.has(event.kind)) return;
      push(this.#steps, node, step);
    });
  }

  /** The list of a node at a step; null if no hook runs there. */
  at(node: number, now: number): HTMLElement | null {
    const run = this.#run(node, now);
    if (!run.some((step) => this.trace.events[step]?.kind === "hook")) return null;
    const items = run.map((step) => {
      const event = this.trace.events[step] as TraceEvent;
      const button = html("button", { type: "button", class: "mg-link" }, this.#what(event));
      button.addEventListener("click", () => this.go(step));
      const item = html("li", { class: "mg-turn" }, button, step <= now ? ` ${this.#gives(event)}` : "");
      mark(item, "aria-current", step === now ? "step" : null);
      mark(item, "data-turn", step === now ? "now" : step < now ? "over" : "ahead");
      return item;
    });
    return html("ol", { class: "mg-next-list mg-turns" }, ...items);
  }

  /** The steps of the current or last run of a node; else of its first. */
  #run(node: number, now: number): number[] {
    const runs: number[][] = [];
    for (const step of this.#steps.get(node) ?? []) {
      if (this.trace.events[step]?.kind === "run" || runs.length === 0) runs.push([]);
      runs.at(-1)?.push(step);
    }
    return runs.filter(([first = 0]) => first <= now).at(-1) ?? runs[0] ?? [];
  }

  #what(event: TraceEvent): string {
    if (event.kind === "hook") return `${HOOKS[event.hook] ?? event.hook}${event.name && event.hook !== "retain_grad" ? ` ${event.name}` : ""}`;
    if (event.kind === "run") return "gradient taken";
    if (event.kind === "release") return "saved tensors released";
    return event.kind === "flow" ? `sent along edge ${event.index}` : "added to .grad";
  }

  #gives(event: TraceEvent): string {
    const ids = event.kind === "run" || event.kind === "hook" ? event.gradient : event.kind === "flow" ? [event.gradient] : [];
    const all: Maybe[] = event.kind === "accumulate" ? [event.grad] : ids;
    return all.length > 0 ? `→ ${all.map((id) => brief(valueOf(this.trace, id))).join(" | ")}` : "";
  }
}
