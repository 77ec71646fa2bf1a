/** The events at one node, in order: it runs, its hooks run, it passes gradients on. The order is the trace's. */
import { html, mark } from "../page/dom";
import { brief, valueOf } from "../trace/format";
import { push } from "../trace/lists";
import { litNode } from "../trace/types";
import type { Maybe, Trace, TraceEvent } from "../trace/types";

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
  private readonly steps = new Map<number, number[]>();

  constructor(
    private readonly trace: Trace,
    private readonly go: (step: number) => void,
  ) {
    trace.events.forEach((event, step) => {
      const node = litNode(event);
      if (node === null || !KINDS.has(event.kind)) return;
      push(this.steps, node, step);
    });
  }

  /** The list of a node at a step; null if no hook runs there. */
  at(node: number, now: number): HTMLElement | null {
    const run = this.run(node, now);
    if (!run.some((step) => this.trace.events[step]?.kind === "hook")) return null;
    const items = run.map((step) => {
      const event = this.trace.events[step] as TraceEvent;
      const button = html("button", { type: "button", class: "mg-link" }, this.what(event));
      button.addEventListener("click", () => this.go(step));
      const item = html("li", { class: "mg-turn" }, button, step <= now ? ` ${this.gives(event)}` : "");
      mark(item, "aria-current", step === now ? "step" : null);
      mark(item, "data-turn", step === now ? "now" : step < now ? "over" : "ahead");
      return item;
    });
    return html("ol", { class: "mg-next-list mg-turns" }, ...items);
  }

  /** The steps of the current or last run of a node; else of its first. */
  private run(node: number, now: number): number[] {
    const runs: number[][] = [];
    for (const step of this.steps.get(node) ?? []) {
      if (this.trace.events[step]?.kind === "run" || runs.length === 0) runs.push([]);
      runs.at(-1)?.push(step);
    }
    return runs.filter(([first = 0]) => first <= now).at(-1) ?? runs[0] ?? [];
  }

  private what(event: TraceEvent): string {
    if (event.kind === "hook") return `${HOOKS[event.hook] ?? event.hook}${event.name && event.hook !== "retain_grad" ? ` ${event.name}` : ""}`;
    if (event.kind === "run") return "gradient taken";
    if (event.kind === "release") return "saved tensors released";
    return event.kind === "flow" ? `sent along edge ${event.index}` : "added to .grad";
  }

  private gives(event: TraceEvent): string {
    const ids = event.kind === "run" || event.kind === "hook" ? event.gradient : event.kind === "flow" ? [event.gradient] : [];
    const all: Maybe[] = event.kind === "accumulate" ? [event.grad] : ids;
    return all.length > 0 ? `→ ${all.map((id) => brief(valueOf(this.trace, id))).join(" | ")}` : "";
  }
}
