/** The graphs of two recordings side by side, at the same event, with the differences marked. */
import { html, write } from "../page/dom";
import { GraphPane } from "../graph/graph";
import { BackwardLens } from "../inspector/backward";
import { besideStep, counterparts } from "../trace/counterparts";
import { differences } from "../trace/differences";
import type { Counterparts } from "../trace/counterparts";
import type { Pair } from "../trace/differences";
import { Replay } from "../trace/frame";
import type { Maybe, Trace } from "../trace/types";

type Named = readonly [name: string, trace: Trace];

interface Side {
  trace: Trace;
  lens: BackwardLens;
  graph: GraphPane;
  said: HTMLElement;
  selected: Maybe;
}

/** Graphs of more nodes are drawn on request. */
const OPENS = 300;

export class Graphs {
  readonly element: HTMLDetailsElement;
  private readonly body = html("div", { class: "mg-graphs-body" });
  private sides: [Side, Side] | null = null;
  private pairs: readonly Pair[] = [];
  private found: Counterparts | null = null;
  private step = 0;

  constructor(
    private readonly first: Named,
    private readonly second: Named,
    open: boolean,
  ) {
    const title = `the graphs of ${first[0]} and ${second[0]}, side by side`;
    this.element = html("details", { class: "mg-graphs", "aria-label": title }, html("summary", {}, title), legend(first[0], second[0]), this.body);
    this.element.open = open && first[1].nodes.length + second[1].nodes.length <= OPENS;
    this.element.addEventListener("toggle", () => this.draw());
  }

  dispose(): void {
    for (const side of this.sides ?? []) side.graph.viewport.dispose();
  }

  show(step: number): void {
    this.step = step;
    this.draw();
  }

  private side([name, trace]: Named, at: 0 | 1): Side {
    const graph = new GraphPane(trace, { pick: (node) => this.pick(at, node), find: (node) => this.pick(at, node), fold: () => undefined });
    const said = html("p", { class: "mg-quiet mg-event" });
    graph.element.setAttribute("aria-label", `graph of ${name}`);
    this.body.append(html("div", { class: "mg-side", "data-side": at }, html("h3", { class: "mg-name" }, name), said, graph.element));
    const marks = this.found?.marks[at];
    const signs = { other: "≠", only: at === 0 ? "−" : "+" };
    if (marks) graph.annotate("data-differs", { ...marks, signs });
    return { trace, lens: new BackwardLens(trace, "all", new Replay(trace)), graph, said, selected: null };
  }

  private build(): [Side, Side] {
    this.pairs = differences(this.first[1], this.second[1]);
    this.found = counterparts(this.first[1], this.second[1], this.pairs);
    const sides: [Side, Side] = [this.side(this.first, 0), this.side(this.second, 1)];
    for (const { graph, lens } of sides) {
      graph.update(lens.scene(null), null, null);
      graph.open(lens.focus);
    }
    return sides;
  }

  /** Selects a node, and its counterpart on the other side. */
  private pick(at: 0 | 1, node: Maybe): void {
    if (!this.sides) return;
    const other = node === null ? null : (this.found?.nodes[at].get(node) ?? null);
    this.sides[at].selected = node;
    (this.sides[1 - at] as Side).selected = other;
    this.draw();
    if (node !== null) this.sides[at].graph.reveal(node);
    if (other !== null) (this.sides[1 - at] as Side).graph.reveal(other);
  }

  private draw(): void {
    if (!this.element.open) return;
    const sides = (this.sides ??= this.build());
    const last = sides.map(({ trace }) => trace.events.length - 1) as [number, number];
    const steps = [Math.min(this.step, last[0]), besideStep(this.pairs, this.step, last)];
    sides.forEach(({ lens, graph, said, selected }, at) => {
      const changed = lens.goTo(steps[at] ?? 0);
      graph.update(lens.scene(selected), changed.nodes, changed.edges);
      write(said, lens.text);
      said.title = lens.text;
      if (lens.focus !== null) graph.reveal(lens.focus);
    });
  }
}

function legend(first: string, second: string): HTMLElement {
  const entry = (mark: string, sign: string, text: string): HTMLElement =>
    html("span", { class: "mg-kind" }, html("i", { class: "mg-differs-key", "data-differs": mark }, sign), text);
  return html("p", { class: "mg-kinds mg-quiet" }, entry("other", "≠", "other numbers, or it ran or was checkpointed in one of the two only"), entry("only", "−", `only in ${first}`), entry("only", "+", `only in ${second}`));
}
