/** Several traces of one program on one axis of steps and one of bytes: what each holds, and what it recomputes. */
import { Chart, scaleOf, total } from "../page/chart";
import { KINDS, type Trace, type Maybe } from "../trace/types";
import { describe } from "../trace/describe";
import { html, mark, write } from "../page/dom";
import { bytes as amount } from "../trace/format";
import { listen } from "../page/keys";
import { SlideView } from "../page/slide";
import type { Link } from "../page/link";
import { Transport } from "../page/transport";
import { GraphPane } from "../graph/graph";
import { BackwardLens } from "../inspector/backward";
import { besideStep, counterparts, differences, type Counterparts, type Pair } from "../trace/differences";
import { Replay } from "../trace/frame";

interface Row {
  name: string;
  trace: Trace;
  chart: Chart;
  element: HTMLElement;
  now: HTMLElement;
  text: HTMLElement;
}

export class Comparison {
  readonly element: HTMLElement;
  readonly #rows: Row[];
  readonly #graphs: Graphs[];
  readonly #last: number;
  #step = 0;
  readonly #text = html("output", { class: "mg-text", "aria-live": "polite" });
  readonly #transport = new Transport({ go: (step) => this.#go(step) });
  readonly #slide: SlideView;
  readonly #undo: (() => void)[] = [];

  constructor(
    traces: readonly [name: string, trace: Trace][],
    private readonly link: Link,
  ) {
    const scale = scaleOf(traces.map(([, trace]) => trace));
    this.#last = scale.steps - 1;
    this.#rows = traces.map(([name, trace]) => this.#row(name, trace, new Chart(trace, scale, (step) => this.#go(step))));
    const [first, ...others] = traces;
    this.#graphs = first ? others.map((other) => new Graphs(first, other, others.length === 1)) : [];
    const label = "comparison of traces; left and right arrow step, space plays, s shows it to a class";
    this.element = html("div", { class: "mg-root mg-comparison", tabindex: 0, role: "region", "aria-label": label });
    const shown = KINDS.filter((_, kind) => kind < 4 || this.#rows.some((row) => row.chart.all.some((held) => held[kind])));
    const foot = html("div", { class: "mg-foot" }, legend(shown), this.#transport.element);
    this.#slide = new SlideView(this.element);
    const rows = this.#rows.map((row) => row.element);
    this.element.append(html("div", { class: "mg-head" }, this.#text, this.#slide.button), ...rows, foot, this.#table(), ...this.#graphs.map((each) => each.element), ...this.#differences());
    this.#undo.push(listen(this.element, this.#actions()), link.listen(() => this.#told()));
    this.#told();
  }

  dispose(): void {
    this.#transport.pause();
    this.#slide.dispose();
    this.link.flush();
    for (const each of this.#graphs) each.dispose();
    for (const undo of this.#undo) undo();
  }

  #actions() {
    return { ...this.#transport.keys, ...this.#slide.keys, choose: () => undefined, walk: () => undefined };
  }

  #row(name: string, trace: Trace, chart: Chart): Row {
    const now = html("span", { class: "mg-quiet" });
    const text = html("p", { class: "mg-quiet mg-event" });
    const head = html("div", { class: "mg-who" }, html("h3", { class: "mg-name" }, name), now);
    const element = html("section", { class: "mg-row", "aria-label": name }, head, chart.element, text);
    return { name, trace, chart, element, now, text };
  }

  /** The figures, as an alternative to the charts. */
  #table(): HTMLElement {
    const heads = ["trace", "most bytes", "held when backward begins", "ops", "of these again", "steps"];
    const head = html("tr", {}, ...heads.map((each) => html("th", { scope: "col" }, each)));
    const lines = this.#rows.map(({ name, trace }) => {
      const { peak, atBackward, ops, again, steps } = trace.figures ?? {};
      const cells = [peak, atBackward].map((held) => (held == null ? "–" : amount(held))).concat([ops, again, steps].map(String));
      return html("tr", {}, html("th", { scope: "row" }, name), ...cells.map((cell) => html("td", {}, cell)));
    });
    const table = html("table", { class: "mg-table" }, html("thead", {}, head), html("tbody", {}, ...lines));
    return html("div", { class: "mg-scroll", tabindex: 0, role: "group", "aria-label": "figures" }, table);
  }

  /** The first recording compared with each of the others, event by event. */
  #differences(): HTMLElement[] {
    const [first, ...others] = this.#rows.map(({ name, trace }) => [name, trace] as const);
    return first ? others.map((other) => differenceTable(first, other, (step) => this.#go(step))) : [];
  }

  #told(): void {
    this.#transport.pause();
    this.#step = Math.max(0, Math.min(this.link.step, this.#last));
    this.#show();
  }

  #go(step: number): void {
    this.#step = Math.max(0, Math.min(step, this.#last));
    this.link.say("step", this.#step);
    this.#show();
  }

  #show(): void {
    const parts = this.#rows.map((row) => this.#draw(row));
    const text = `step ${this.#step} of ${this.#last}: ${parts.join("; ")}`;
    write(this.#text, text);
    this.#transport.show(this.#step, this.#last, text, `${this.#step} / ${this.#last}`);
    mark(this.element, "data-step", this.#step);
    for (const each of this.#graphs) each.show(this.#step);
  }

  #draw(row: Row): string {
    const at = Math.min(this.#step, row.trace.events.length - 1);
    const event = row.trace.events[at];
    const held = amount(total(row.chart.all[at]));
    row.chart.show(this.#step);
    write(row.now, `holds ${held}`);
    const over = this.#step > at ? "over: " : "";
    write(row.text, event ? over + describe(row.trace, event) : "nothing was recorded");
    row.text.title = row.text.textContent ?? "";
    mark(row.element, "data-bytes", total(row.chart.all[at]));
    return `${row.name} holds ${held}`;
  }
}

function legend(shown: readonly string[]): HTMLElement {
  const kinds = shown.map((name) => html("span", { class: "mg-kind" }, html("i", { class: `mg-key mg-${name}` }), name));
  const runs = [
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-run" }), "first run"),
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-run", "data-again": true }), "↻ runs again"),
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-stop" }), "stops early"),
    html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-begins" }), "backward begins"),
  ];
  return html("div", { class: "mg-kinds", "aria-hidden": true }, ...kinds, ...runs);
}

// ---- The graphs of two recordings side by side, at the same event, with the differences marked.
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
  readonly #body = html("div", { class: "mg-graphs-body" });
  #sides: [Side, Side] | null = null;
  #pairs: readonly Pair[] = [];
  #found: Counterparts | null = null;
  #step = 0;

  constructor(
    private readonly first: Named,
    private readonly second: Named,
    open: boolean,
  ) {
    const title = `the graphs of ${first[0]} and ${second[0]}, side by side`;
    this.element = html("details", { class: "mg-graphs", "aria-label": title }, html("summary", {}, title), marks(first[0], second[0]), this.#body);
    this.element.open = open && first[1].nodes.length + second[1].nodes.length <= OPENS;
    this.element.addEventListener("toggle", () => this.#draw());
  }

  dispose(): void {
    for (const side of this.#sides ?? []) side.graph.viewport.dispose();
  }

  show(step: number): void {
    this.#step = step;
    this.#draw();
  }

  #side([name, trace]: Named, at: 0 | 1): Side {
    const graph = new GraphPane(trace, { pick: (node) => this.#pick(at, node), find: (node) => this.#pick(at, node), fold: () => undefined });
    const said = html("p", { class: "mg-quiet mg-event" });
    graph.element.setAttribute("aria-label", `graph of ${name}`);
    this.#body.append(html("div", { class: "mg-side", "data-side": at }, html("h3", { class: "mg-name" }, name), said, graph.element));
    const marks = this.#found?.marks[at];
    const signs = { other: "≠", only: at === 0 ? "−" : "+" };
    if (marks) graph.annotate("data-differs", { ...marks, signs });
    return { trace, lens: new BackwardLens(trace, "all", new Replay(trace)), graph, said, selected: null };
  }

  #build(): [Side, Side] {
    this.#pairs = differences(this.first[1], this.second[1]);
    this.#found = counterparts(this.first[1], this.second[1], this.#pairs);
    const sides: [Side, Side] = [this.#side(this.first, 0), this.#side(this.second, 1)];
    for (const { graph, lens } of sides) {
      graph.update(lens.scene(null), null, null);
      graph.open(lens.focus);
    }
    return sides;
  }

  /** Selects a node, and its counterpart on the other side. */
  #pick(at: 0 | 1, node: Maybe): void {
    if (!this.#sides) return;
    const other = node === null ? null : (this.#found?.nodes[at].get(node) ?? null);
    this.#sides[at].selected = node;
    (this.#sides[1 - at] as Side).selected = other;
    this.#draw();
    if (node !== null) this.#sides[at].graph.reveal(node);
    if (other !== null) (this.#sides[1 - at] as Side).graph.reveal(other);
  }

  #draw(): void {
    if (!this.element.open) return;
    const sides = (this.#sides ??= this.#build());
    const last = sides.map(({ trace }) => trace.events.length - 1) as [number, number];
    const steps = [Math.min(this.#step, last[0]), besideStep(this.#pairs, this.#step, last)];
    sides.forEach(({ lens, graph, said, selected }, at) => {
      const changed = lens.goTo(steps[at] ?? 0);
      graph.update(lens.scene(selected), changed.nodes, changed.edges);
      write(said, lens.text);
      said.title = lens.text;
      if (lens.focus !== null) graph.reveal(lens.focus);
    });
  }
}

function marks(first: string, second: string): HTMLElement {
  const entry = (mark: string, sign: string, text: string): HTMLElement =>
    html("span", { class: "mg-kind" }, html("i", { class: "mg-differs-key", "data-differs": mark }, sign), text);
  return html("p", { class: "mg-kinds mg-quiet" }, entry("other", "≠", "other numbers, or it ran or was checkpointed in one of the two only"), entry("only", "−", `only in ${first}`), entry("only", "+", `only in ${second}`));
}

// ---- The differences between two recordings as a table: rows of both, with equal ones folded into one line.
const SHOWN = 400;
const MARKS = { other: "≠", first: "−", second: "+" } as const;
const WORDS = { other: "differs", first: "only in the first", second: "only in the second" } as const;


export function differenceTable([name, first]: Named, [other, second]: Named, go: (step: number) => void): HTMLElement {
  const pairs = differences(first, second);
  const differing = pairs.filter(({ kind }) => kind !== "same").length;
  const rows: HTMLElement[] = [];
  let alike = 0;
  const fold = (): void => {
    if (alike > 0) rows.push(html("tr", { class: "mg-alike" }, html("td", { colspan: 3 }, alike === 1 ? "1 event alike" : `${alike} events alike`)));
    alike = 0;
  };
  for (const pair of pairs) {
    if (pair.kind === "same") alike += 1;
    else {
      fold();
      rows.push(row(pair, go));
    }
  }
  fold();
  const heads = ["≠", name, other].map((text) => html("th", { scope: "col" }, text));
  const summary = differing === 0 ? "nothing differs" : `${differing} of ${pairs.length} events differ`;
  const more = rows.length > SHOWN ? ` (the first ${SHOWN} rows)` : "";
  const caption = html("caption", { class: "mg-quiet" }, `${name} against ${other}: ${summary}${more}`);
  const table = html("table", { class: "mg-table mg-differences", "data-differing": differing }, caption, html("thead", {}, html("tr", {}, ...heads)));
  table.append(html("tbody", {}, ...rows.slice(0, SHOWN)));
  return html("div", { class: "mg-scroll mg-differ", tabindex: 0, role: "group", "aria-label": `${name} against ${other}` }, table);
}

function row({ steps, texts, kind }: Pair, go: (step: number) => void): HTMLElement {
  const of = kind as keyof typeof MARKS;
  const cell = (at: 0 | 1): HTMLElement => html("td", {}, ...(steps[at] === null ? [] : [button(texts[at], steps[at], go)]));
  const mark = html("td", { title: WORDS[of] }, html("span", { "aria-hidden": true }, MARKS[of]), html("span", { class: "mg-hidden" }, WORDS[of]));
  return html("tr", { "data-kind": kind }, mark, cell(0), cell(1));
}

function button(text: string, step: Maybe, go: (step: number) => void): HTMLElement {
  const made = html("button", { type: "button", class: "mg-said-step" }, text);
  made.addEventListener("click", () => go(step ?? 0));
  return made;
}
