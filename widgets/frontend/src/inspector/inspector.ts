/** The inspector: panes around one lens. Stepping happens here, in the browser; Python is notified when it rests. */
import { Ask } from "./ask";
import type { Answer, Score } from "../trace/questions";
import { BackwardLens } from "./backward";
import { TraversalLens } from "./byhand";
import { Called, SourcePane } from "./source";
import { DetailsPane } from "./details";
import { html, mark, write } from "../page/dom";
import { Replay } from "../trace/frame";
import { GraphPane } from "../graph/graph";
import { listen } from "../page/keys";
import type { Changed, Lens } from "./lens";
import { Follow, Numbers } from "./numbers";
import { Live } from "../live/live";
import { Colour } from "./measures";
import { Memory } from "./memory";
import { ModuleTable } from "./table";
import type { Link } from "../page/link";
import { banner, noteLine, Panes, QueueStrip, Ribbon } from "./panes";
import { Share } from "../page/share";
import { SlideView, WholeWindow } from "../page/slide";
import { Transport } from "../page/transport";
import { Growing } from "./growing";
import { play, ValuesPane } from "./values";
import type { NodeRecord } from "../trace/events";
import { chain } from "../trace/groups";
import type { Maybe, Trace, TraceEvent } from "../trace/types";

const TITLES = { values: "values", forward: "forward", backward: "backward", traversal: "call by hand", checkpoint: "checkpoint", all: "every step" };
const LABEL = "minigrad inspector; left and right arrow step, space plays, f fills the window, s shows it to a class, digits fold the graph";
const ALL: Changed = { nodes: null, edges: null };

async function framesLater(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await new Promise((resolve) => requestAnimationFrame(resolve));
}

/** The rectangle on the screen of what each element draws first. */
function boxesOf<K>(elements: readonly (readonly [K, Element])[]): Map<K, DOMRect> {
  return new Map(elements.flatMap(([key, element]) => {
    const rect = element.querySelector("rect");
    return rect ? [[key, rect.getBoundingClientRect()] as const] : [];
  }));
}

export class Inspector {
  readonly element = html("div", { class: "mg-root", tabindex: 0, role: "region", "aria-label": LABEL });
  readonly #lenses = new Map<string, Lens>();
  #lens: Lens;
  readonly #replay: Replay;
  #selected: Maybe;
  readonly #text = html("output", { class: "mg-text", "aria-live": "polite" });
  readonly #graph: GraphPane;
  readonly #source: SourcePane;
  readonly #called: Called;
  readonly #details: DetailsPane;
  readonly #queue: QueueStrip;
  readonly #memory: Memory;
  readonly #table: ModuleTable;
  readonly #colour: Colour;
  readonly #follow: Follow | null;
  readonly #ask: Ask;
  readonly #transport: Transport;
  readonly #ribbon: Ribbon;
  readonly #whole = new WholeWindow(this.element);
  readonly #slide = new SlideView(this.element, this.#whole, (on) => this.#graph.viewport.readFrom(on ? "afar" : "near"));
  readonly #tabs: HTMLButtonElement[] = [];
  readonly #undo: (() => void)[] = [];

  readonly #trace: Trace;
  readonly #numbers: Numbers | null;
  readonly #live: Live | null;
  readonly #values: ValuesPane | null;
  readonly #growing: Growing;
  #panes: HTMLElement | null = null;

  constructor(
    given: Trace,
    private readonly link: Link,
  ) {
    const live = (this.#live = link.live === false ? null : Live.of(given));
    const trace = (this.#trace = live?.trace ?? given);
    this.#numbers = live && new Numbers(live, () => this.#moved(), link.live === true);
    this.#replay = new Replay(trace);
    this.#values = trace.calculation ? new ValuesPane(trace, trace.calculation, this.#numbers) : null;
    this.#lens = this.#lensOf(link.lens) ?? (this.#lensOf("backward") as Lens);
    this.#selected = link.selected;
    const pick = (node: Maybe): void => this.#select(node);
    const events = {
      pick: (node: Maybe) => this.#clicked(node),
      find: (node: number) => this.#find(node),
      fold: (folded: number[]) => this.link.say("collapsed", folded),
    };
    this.#graph = new GraphPane(trace, events, link.collapsed);
    this.#details = new DetailsPane(trace, pick, (step) => this.#goToStep(step), (edges, saved) => this.#graph.light(edges, saved));
    this.#called = new Called(trace, (nodes, edges) => this.#graph.call(nodes, edges), this.#details.arrived, pick);
    this.#source = new SourcePane(trace, this.#called);
    this.#queue = new QueueStrip(trace, pick);
    this.#table = new ModuleTable(trace, this.#graph, pick);
    const colour = (this.#colour = new Colour(trace, this.#graph));
    this.#follow = live && new Follow(live, this.#details.arrived, pick, (nodes) => this.#reached(nodes));
    const numbers = this.#numbers && this.#follow ? [this.#numbers.element, this.#follow.element] : [];
    if (live && this.#follow) this.#details.arithmetic.trail = { entry: this.#follow.entry, array: (value) => live.slots.array(value) };
    this.#graph.onBuild = () => {
      colour.draw();
      this.#table.refold();
    };
    colour.draw();
    this.#graph.tools.lastElementChild?.before(this.#table.element, colour.element, ...numbers);
    this.#memory = new Memory(trace, { go: (step) => this.#goToStep(step), pick });
    this.#ask = new Ask(trace, link.questions, (answers, score) => this.#answered(answers, score));
    this.#ask.load(link.answers);
    this.#transport = new Transport({ go: (position) => this.#go(position), positionOf: (step) => (this.#lens instanceof BackwardLens ? this.#lens.positionOf(step) : step) });
    this.#growing = new Growing(this.element, trace, link, this.#values?.result ?? null, { ...this.#transport.keys, turn: () => void this.#turn(), grown: () => this.#grown() });
    if (!this.#growing.has("norms")) colour.choose(null);
    this.#graph.norms(this.#growing.has("norms"));
    this.#ribbon = new Ribbon(trace);
    this.#transport.track.prepend(this.#ribbon.element);
    this.element.toggleAttribute("data-map", (trace.folded?.length ?? 0) > 0);
    this.#assemble();
    this.#undo.push(listen(this.element, this.#actions()), link.listen(() => this.#told()));
    this.#open();
    this.#graph.open(this.#focus ?? trace.failed?.node ?? null);
    this.#reveal();
  }

  /** More is shown of it, or less. */
  #grown(): void {
    const norms = this.#growing.has("norms");
    this.#graph.norms(norms);
    if (this.#colour.measure === (norms ? null : "gradient")) this.#colour.choose(norms ? this.#colour.usual : null);
    this.#show(ALL);
  }

  /** Another number is followed, or none: it reaches these nodes. */
  #reached(nodes: readonly number[]): void {
    this.#graph.annotate("data-followed", { nodes: new Map(nodes.map((id) => [id, "true"])) });
    this.#show({ nodes: [], edges: [] });
  }

  dispose(): void {
    this.#transport.pause();
    this.#graph.viewport.dispose();
    this.#source.dispose();
    this.#slide.dispose();
    this.link.flush();
    for (const undo of this.#undo) undo();
  }

  #assemble(): void {
    const head = html("div", { class: "mg-head" }, this.#text, this.#ribbon.tag, this.#tabList(), new Share(this.link).element, this.#slide.button, this.#whole.button);
    const panes = new Panes(this.#source.element, this.#graph.element, this.#details.element);
    if (this.#values) this.element.style.setProperty("--mg-values", `${this.#values.need}px`);
    panes.element.append(this.#called.card, ...(this.#values ? [this.#values.element] : []));
    this.#panes = panes.element;
    const foot = html("div", { class: "mg-foot" }, this.#queue.element, this.#memory.element, this.#transport.element, this.#growing.element, ...noteLine(this.#trace));
    this.element.append(head, ...banner(this.#trace), ...(this.#numbers ? [this.#numbers.bar] : []), this.#ask.element, panes.element, foot);
  }

  #tabList(): HTMLElement {
    const list = html("div", { class: "mg-tabs", role: "group", "aria-label": "lens" });
    const checkpoints = this.link.lens === "checkpoint" || this.#trace.events.some((event) => event.kind === "checkpoint_begin");
    for (const [name, title] of Object.entries(TITLES)) {
      if ((name === "checkpoint" && !checkpoints) || (name === "values" && !this.#values)) continue;
      const tab = html("button", { type: "button", class: "mg-tab", "data-lens": name }, title);
      tab.addEventListener("click", () => this.#switchTo(name));
      this.#tabs.push(tab);
      list.append(tab);
    }
    return list;
  }

  #actions() {
    return {
      ...this.#transport.keys,
      choose: () => this.#clicked(this.#selected ?? this.#lens.lit),
      walk: (direction: 1 | -1) => this.#walk(direction),
      fill: () => this.#whole.toggle(),
      level: (at: number) => this.#graph.levels.choose(at),
      ...this.#slide.keys,
      fold: (by: 1 | -1) => this.#graph.foldAround(this.#selected ?? this.#lens.lit ?? this.#lens.ready[0] ?? 0, by),
    };
  }

  /** Shows the state in the model: at the start, and when Python has changed it. */
  #open(): void {
    const lens = this.#lens;
    if (lens instanceof TraversalLens) lens.load(this.link.calls);
    else if (lens instanceof BackwardLens) lens.goTo(lens.positionOf(this.link.step));
    this.#show(ALL);
  }

  #told(): void {
    this.#transport.pause();
    this.#lens = this.#lensOf(this.link.lens) ?? this.#lens;
    this.#selected = this.link.selected;
    this.#ask.load(this.link.answers);
    if (this.link.collapsed) this.#graph.setFolded(new Set(this.link.collapsed));
    this.#open();
  }

  /** A lens, made when it is first looked through; undefined if there is none of this name. */
  #lensOf(name: string): Lens | undefined {
    if (!Object.hasOwn(TITLES, name) || (name === "values" && !this.#values)) return undefined;
    const lens = this.#lenses.get(name) ?? (name === "traversal" ? new TraversalLens(this.#trace) : new BackwardLens(this.#trace, name, this.#replay));
    this.#lenses.set(name, lens);
    return lens;
  }

  #switchTo(name: string): void {
    const next = this.#lensOf(name);
    if (!next || next === this.#lens) return;
    this.#transport.pause();
    if (next instanceof BackwardLens) next.goTo(next.positionOf(this.#lens.step));
    this.#lens = next;
    this.link.say("lens", name);
    this.#report();
    this.#show(ALL);
  }

  /** Turns the picture of the lens "values" into the graph or, at the graph, back, in one move. */
  async #turn(): Promise<void> {
    const [stage, { calculation }] = [this.#panes, this.#trace];
    if (!this.#values || !stage || !calculation || stage.hasAttribute("data-turning")) return;
    const back = this.#lens.name !== "values";
    const spots = (): Map<string, DOMRect> => boxesOf([...(this.#values as ValuesPane).spots()]);
    const nodes = (): Map<number, DOMRect> => boxesOf([...this.#graph.frame.querySelectorAll("[data-node]")].map((node) => [Number(node.getAttribute("data-node")), node]));
    const before = back ? nodes() : spots();
    this.#switchTo(back ? "values" : "backward");
    mark(stage, "data-turning", "");
    if (!back) await framesLater(2);  // the graph has its size after the first
    const after = back ? spots() : nodes();
    await play(stage, this.#trace, calculation, (back ? after : before) as Map<string, DOMRect>, (back ? before : after) as Map<number, DOMRect>, back);
    mark(stage, "data-turning", null);
  }

  #go(wanted: number): void {
    const position = this.#allowed(wanted);
    if (position < wanted) this.#transport.pause();
    if (position < wanted && position === this.#lens.position) {
      this.#ask.focus();
      this.#showPosition();
    }
    if (position === this.#lens.position && this.#lens.last > 0) return;
    const changed = this.#lens.goTo(position);
    this.#report();
    this.#show(changed);
  }

  /** As far as the open questions allow. */
  #allowed(position: number): number {
    const lens = this.#lens;
    if (!(lens instanceof BackwardLens)) return position;
    const barrier = this.#ask.barrier(lens.step, lens.stepAt(position) ?? lens.step);
    return barrier === null ? position : lens.positionOf(barrier - 1);
  }

  #answered(answers: Answer[], score: Score): void {
    this.link.say("answers", answers);
    this.link.say("score", score);
    this.#show({ nodes: [], edges: [] });
    this.element.focus();
  }

  /** All numbers have changed, at the same step. */
  #moved(): void {
    this.#graph.forget();
    this.#follow?.changed();
    this.#show(ALL);
  }

  #goToStep(step: number): void {
    this.#transport.pause();
    if (this.#lens instanceof BackwardLens) this.#go(this.#lens.positionOf(step));
  }

  #report(): void {
    if (this.#lens instanceof TraversalLens) this.link.say("calls", this.#lens.made);
    else this.link.say("step", this.#lens.step);
  }

  #clicked(node: Maybe): void {
    if (node === null || !(this.#lens instanceof TraversalLens)) return this.#select(node === this.#selected ? null : node);
    this.#selected = node;
    if (this.#lens.call(node)) this.#report();
    this.#show(ALL);
  }

  #select(node: Maybe): void {
    this.#selected = node;
    this.link.say("selected", node);
    this.#show({ nodes: [], edges: [] });
    if (node !== null) this.#graph.reveal(node);
  }

  /** Selects a node found by the search, unfolded; one that is drawn later, e.g. of another graph, at the step that draws it. */
  #find(node: number): void {
    const later = this.#lens instanceof BackwardLens && !this.#lens.moment.look(node).known ? this.#lens.appears(node) : null;
    if (later !== null) {
      this.#transport.pause();
      this.#go(later);
    }
    this.#graph.uncover(node);
    this.#select(node);
  }

  /** Moves the selection along the graph: down to the first next node, up to a node that leads here. */
  #walk(direction: 1 | -1): void {
    const from = this.#selected ?? this.#lens.lit ?? this.#lens.ready[0] ?? 0;
    const down = this.#trace.nodes[from]?.next.find((edge) => edge !== null)?.[0];
    const up = this.#trace.nodes.findIndex((node) => node.next.some((edge) => edge?.[0] === from));
    const to = direction > 0 ? down : up;
    if (to !== undefined && to >= 0) this.#select(to);
  }

  #show(changed: Changed): void {
    const lens = this.#lens;
    const scene = lens.scene(this.#selected);
    this.#graph.update(scene, changed.nodes, changed.edges);
    this.#table.show(scene);
    this.#follow?.show(lens.moment);
    this.#called.show(lens.moment);
    if (lens instanceof BackwardLens) this.#ask.show(lens.step, lens.stepAt(lens.position + 1));
    const secret = this.#ask.asking === "next" && lens instanceof BackwardLens;
    const shown = this.#selected ?? lens.lit ?? (secret ? null : lens.ready[0]) ?? null;
    const byHand = lens instanceof TraversalLens;
    const note = this.#selected !== null ? "selected" : lens.lit !== null ? "in this step" : byHand ? "complete" : "runs next";
    this.#details.show(shown, this.#ask.asking ? { ...lens.moment, now: null, asking: true } : lens.moment, note, this.#selected !== null && !byHand);
    this.#queue.element.hidden = lens.name === "forward" || secret;
    if (!(lens instanceof BackwardLens)) this.#ask.element.hidden = true;
    else this.#ask.element.hidden = this.link.questions.length === 0;
    this.#queue.show(byHand ? "complete" : "ready queue", lens.ready);
    this.#showSource(shown);
    const told = this.#growing.plain(lens.text);
    write(this.#text, told);
    mark(this.#text, "title", told);
    const timed = lens instanceof BackwardLens && (lens.name === "forward" || lens.name === "all");
    this.#ribbon.show(timed ? lens.steps : null, lens.step);
    if (lens.name === "values") this.#values?.show(lens.step, lens.lit);
    this.#growing.show(lens.name, lens.position, lens.last);
    this.#showPosition();
    this.#memory.show(byHand ? null : lens.step, lens.name === "checkpoint", lens instanceof BackwardLens ? (lens.steps.at(-1) ?? 0) : 0);
    for (const tab of this.#tabs) mark(tab, "aria-pressed", String(tab.dataset["lens"] === lens.name));
    this.#mark();
    this.#reveal();
  }

  /** The node that the step is about, unless a question asks for it. */
  get #focus(): Maybe {
    return this.#ask.asking === "next" ? this.#lens.lit : this.#lens.focus;
  }

  #reveal(): void {
    if (this.#focus !== null) this.#graph.reveal(this.#focus);
  }

  #showPosition(): void {
    const steps = this.#lens instanceof BackwardLens && this.#lens.name !== "values" && this.#growing.has("memory") ? this.#lens.steps : null;
    this.#transport.show(this.#lens.position, this.#lens.last, this.#growing.plain(this.#lens.text), this.#lens.counter, steps);
  }

  #showSource(shown: Maybe): void {
    const lens = this.#lens;
    if (lens instanceof TraversalLens) return this.#source.write("the same calls in Python", lens.python);
    const event = this.#trace.events[lens.step];
    const node = shown === null ? undefined : this.#trace.nodes[shown];
    const at = this.#selected !== null && node?.line != null ? node : (this.#modelLine(event) ?? event);
    this.#source.show(at?.file ?? null, at?.line ?? null);
  }

  /** Where a pass of a map begins: the line with which the model ends, which says more of it than that of its caller. */
  #modelLine(event: TraceEvent | undefined): NodeRecord | undefined {
    const { nodes, scopes, folded } = this.#trace;
    if (event?.kind !== "backward_start" || !folded?.length) return undefined;
    const elsewhere = ({ file, line, scope }: NodeRecord): boolean => line != null && (file !== event.file || line !== event.line) && scope !== undefined;
    const ofModel = (node: NodeRecord): boolean => elsewhere(node) && chain(this.#trace, node.scope).every((scope) => scopes?.[scope]?.name !== "loss");
    const last = event.needs.reduce((most, [node]) => (node > most && ofModel(nodes[node] as NodeRecord) ? node : most), -1);
    return nodes[last]; // of those that this pass reaches: the recording may hold other models
  }

  /** What tests read, so that they need no pixels. */
  #mark(): void {
    const lens = this.#lens;
    mark(this.element, "data-lens", lens.name);
    mark(this.element, "data-step", lens.step);
    mark(this.element, "data-position", lens.position);
    mark(this.element, "data-lit", lens.lit ?? "");
    mark(this.element, "data-ready", lens.ready.join(" "));
    mark(this.element, "data-score", this.link.questions.length > 0 ? `${this.#ask.score.right}/${this.#ask.score.answered}` : null);
    const { gradient } = lens;
    mark(this.element, "data-gradient", gradient == null ? "" : (this.#live?.recordedIndex(gradient) ?? gradient));
  }
}
