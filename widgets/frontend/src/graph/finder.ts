/** The search field of the graph: Enter goes from one match to the next. */
import { html, write } from "../page/dom";
import { chain, scopeTitle } from "../trace/groups";
import { broken, valueOf } from "../trace/format";
import type { Maybe, Trace } from "../trace/types";

export class Finder {
  readonly element: HTMLElement;
  private readonly field = html("input", { type: "search", class: "mg-find", placeholder: "find", "aria-label": "find a node" });
  private readonly count = html("output", { class: "mg-found", "aria-live": "polite" });
  private readonly words: string[];
  private found: number[] = [];
  private at = -1;

  constructor(
    trace: Trace,
    private readonly go: (node: number) => void,
  ) {
    const unusual = this.unusual(trace);
    this.words = trace.nodes.map((node, id) => {
      const tensors = [node.variable ?? null, ...node.outputs].map((at) => (at === null ? "" : (trace.tensors[at]?.name ?? "")));
      const path = chain(trace, node.scope).reverse().map((scope) => scopeTitle(trace, scope)).join(".");
      return [node.name, ...tensors, path, `#${id}`, ...(unusual.get(id) ?? [])].join(" ").toLowerCase();
    });
    this.field.addEventListener("input", () => this.look());
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.step(event.shiftKey ? -1 : 1);
    });
    this.element = html("div", { class: "mg-finder" }, this.count, this.field);
  }

  /** By node: "nan" and "inf", where a gradient that it received or passed on, its result, or its leaf’s `.grad` holds one. */
  private unusual(trace: Trace): Map<number, Set<string>> {
    const found = new Map<number, Set<string>>();
    const note = (node: number, value: Maybe | undefined): void => {
      const kind = broken(valueOf(trace, value));
      if (kind) found.set(node, (found.get(node) ?? new Set()).add(kind));
    };
    const leaves = new Map(trace.nodes.flatMap(({ variable }, id) => (variable === undefined ? [] : [[variable, id] as const])));
    for (const event of trace.events) {
      if (event.kind === "flow") note(event.node, event.gradient);
      if (event.kind === "flow") note(event.to, event.sum);
      if (event.kind === "accumulate" || event.kind === "hook") note(event.node, event.grad);
      if (event.kind === "backward_start") for (const [node, , value] of event.roots) note(node, value);
      const leaf = event.kind === "grad" ? leaves.get(event.tensor) : undefined;
      if (event.kind === "grad" && leaf !== undefined) note(leaf, event.grad);
    }
    trace.nodes.forEach((node, id) => {
      for (const tensor of node.outputs) note(id, trace.tensors[tensor]?.value);
    });
    return found;
  }

  private look(): void {
    const wanted = this.field.value.trim().toLowerCase().split(/\s+/).filter((word) => word !== "");
    const fits = (text: string): boolean => wanted.every((word) => text.includes(word));
    this.found = wanted.length === 0 ? [] : this.words.flatMap((text, id) => (fits(text) ? [id] : []));
    this.at = -1;
    write(this.count, wanted.length === 0 ? "" : `${this.found.length} found`);
  }

  private step(by: 1 | -1): void {
    if (this.found.length === 0) return;
    this.at = (Math.max(this.at, by > 0 ? -1 : 0) + by + this.found.length) % this.found.length;
    write(this.count, `${this.at + 1} of ${this.found.length}`);
    this.go(this.found[this.at] as number);
  }
}
