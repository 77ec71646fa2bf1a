/** The states of a tensor: a graph of them, the effect of each call in the current one, and the lines that lead there. */
import { html, mark, svg, write } from "../page/dom";
import { listen } from "../page/keys";
import { SlideView } from "../page/slide";
import type { Link } from "../page/link";

interface Move {
  from: number;
  call: number;
  to: number | null;
  error: string | null;
}

interface Arrow {
  from: number;
  to: number;
  calls: number[];
  points: [number, number][];
  /** The position of the letters of its calls. */
  letters: [number, number];
}

/** The result of `minigrad_widgets.lenses.state_explorer.explore`, and the positions of the states. */
export interface Exploration {
  attributes: string[];
  starts: string[];
  calls: string[];
  states: { values: boolean[]; recipe: string[] }[];
  moves: Move[];
  drawing: { words: [string, string][]; size: [number, number]; places: [number, number][]; arrows: Arrow[] };
}

const RADIUS = 22;
const ALPHABET = 26;
function letter(call: number): string {
  return String.fromCharCode(97 + (call % ALPHABET)).repeat(1 + Math.floor(call / ALPHABET));
}

export class Explorer {
  readonly element: HTMLElement;
  readonly #text = html("output", { class: "mg-text", "aria-live": "polite" });
  readonly #nodes: SVGElement[] = [];
  readonly #arrows: [Arrow, line: SVGElement, letters: SVGElement][] = [];
  readonly #rows: HTMLElement[] = [];
  readonly #calls: HTMLButtonElement[] = [];
  readonly #lines = html("pre", { class: "mg-lines" });
  readonly #back = this.#button("undo the last call", () => this.#undo());
  readonly #restart = this.#button("start over", () => this.#go([this.#walk[0] ?? 0]));
  readonly #slide: SlideView;
  readonly #undoing: (() => void)[] = [];
  /** The number of a start, and the calls since then. */
  #walk: number[] = [0];
  #undone: number[] = [];

  constructor(
    private readonly found: Exploration,
    private readonly link: Link,
  ) {
    const label = "state explorer; up and down arrow choose a call, Enter makes it, left arrow takes it back, s shows it to a class";
    this.element = html("div", { class: "mg-root mg-explorer", tabindex: 0, role: "region", "aria-label": label });
    this.#slide = new SlideView(this.element);
    const panes = html("div", { class: "mg-explore" }, this.#graph(), this.#list());
    const buttons = html("div", { class: "mg-buttons" }, this.#back, this.#restart);
    const foot = html("div", { class: "mg-foot mg-program" }, this.#lines, buttons);
    this.element.append(html("div", { class: "mg-head" }, this.#text, this.#slide.button), panes, this.#table(), foot);
    this.#undoing.push(listen(this.element, this.#actions()), link.listen(() => this.#told()));
    this.#told();
  }

  dispose(): void {
    this.#slide.dispose();
    this.link.flush();
    for (const undo of this.#undoing) undo();
  }

  #actions() {
    return {
      ...this.#slide.keys,
      back: () => this.#undo(),
      forward: () => this.#redo(),
      first: () => this.#go([this.#walk[0] ?? 0]),
      last: () => this.#go([...this.#walk, ...this.#undone.reverse()]),
      toggle: () => undefined,
      choose: () => this.#calls[0]?.focus(),
      walk: (direction: 1 | -1) => this.#focus(direction),
    };
  }

  /** Moves the focus along the calls; from outside the list, to its first or last. */
  #focus(direction: 1 | -1): void {
    const at = this.#calls.findIndex((call) => call === this.element.ownerDocument.activeElement);
    const next = at < 0 && direction < 0 ? -1 : at + direction;
    this.#calls.at(next % this.#calls.length)?.focus();
  }

  #move(from: number, call: number): Move | undefined {
    return this.found.moves.find((move) => move.from === from && move.call === call);
  }

  #startOf(start: number): number {
    const at = this.found.states.findIndex(({ recipe }) => recipe.length === 1 && recipe[0] === this.found.starts[start]);
    return Math.max(0, at);
  }

  /** The state that a sequence of calls leads to. */
  #end(walk: readonly number[]): number {
    const [start = 0, ...calls] = walk;
    return calls.reduce((state, call) => this.#move(state, call)?.to ?? state, this.#startOf(start));
  }

  #told(): void {
    this.#walk = this.link.calls.length > 0 ? [...this.link.calls] : [0];
    this.#undone = [];
    this.#show();
  }

  #go(walk: number[]): void {
    this.#walk = walk;
    this.#undone = [];
    this.link.say("calls", walk);
    this.#show();
  }

  #make(call: number): void {
    const state = this.#end(this.#walk);
    const move = this.#move(state, call);
    if (!move) return;
    if (move.to !== null) return this.#go([...this.#walk, call]);
    write(this.#text, `in state ${state + 1}, ${this.found.calls[call]} raises ${move.error}`);
  }

  #undo(): void {
    if (this.#walk.length < 2) return;
    const undone = [...this.#undone, this.#walk.at(-1) ?? 0];
    this.#go(this.#walk.slice(0, -1));
    this.#undone = undone;
  }

  #redo(): void {
    const [call] = this.#undone.slice(-1);
    if (call === undefined) return;
    const undone = this.#undone.slice(0, -1);
    this.#go([...this.#walk, call]);
    this.#undone = undone;
  }

  /** Goes to a state by the shortest lines that lead to it. */
  #visit(state: number): void {
    const [start = "", ...lines] = this.found.states[state]?.recipe ?? [];
    this.#go([this.found.starts.indexOf(start), ...lines.map((line) => this.found.calls.indexOf(line))]);
  }

  #graph(): HTMLElement {
    const { size, places, arrows } = this.found.drawing;
    const picture = svg("svg", { class: "mg-states", viewBox: `0 0 ${size[0]} ${size[1]}`, role: "group", "aria-label": "states" });
    for (const arrow of arrows) this.#arrows.push([arrow, ...this.#arrow(arrow)]);
    picture.append(...this.#arrows.map(([, line]) => line), ...this.#arrows.map(([, , letters]) => letters));
    places.forEach(([x, y], at) => picture.append(this.#node(x, y, at)));
    const name = this.found.attributes[0] ?? "";
    const key = html("p", { class: "mg-quiet" }, `round: ${name} · square: not ${name} · letters: the calls that lead along an arrow`);
    return html("section", { class: "mg-state-graph", "aria-label": "graph of states" }, picture, key);
  }

  /** An arrow, and its letters, which no other arrow may cross. */
  #arrow(arrow: Arrow): [SVGElement, SVGElement] {
    const [a, b, c] = arrow.points as [[number, number], [number, number], [number, number]];
    const angle = (Math.atan2(c[1] - b[1], c[0] - b[0]) * 180) / Math.PI;
    const head = svg("path", { class: "mg-tip", d: "M0,0L-9,-4.5L-9,4.5Z", transform: `translate(${c[0]},${c[1]}) rotate(${angle.toFixed(1)})` });
    const line = svg("path", { class: "mg-way", d: `M${a.join()}Q${b.join()} ${c.join()}` });
    const [x, y] = arrow.letters;
    const text = svg("text", { class: "mg-letters", "aria-hidden": true, x, y }, arrow.calls.map(letter).join(" "));
    return [svg("g", { class: "mg-arrow", "aria-hidden": true }, line, head), text];
  }

  #node(x: number, y: number, at: number): SVGElement {
    const round = this.found.states[at]?.values[0] ? RADIUS : 6;
    const box = { x: x - RADIUS, y: y - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS, rx: round };
    const text = svg("text", { x, y }, String(at + 1));
    const node = svg("g", { class: "mg-state", role: "button", tabindex: -1 }, svg("rect", box), text);
    mark(node, "aria-label", this.#saidOf(at));
    mark(node, "data-state", at);
    node.addEventListener("click", () => this.#visit(at));
    this.#nodes.push(node);
    return node;
  }

  /** A state in words. */
  #saidOf(at: number): string {
    const { attributes, drawing, states } = this.found;
    const says = attributes.map((name, i) => `${name} ${drawing.words[i]?.[states[at]?.values[i] ? 1 : 0] ?? ""}`);
    return `state ${at + 1}: ${says.join(", ")}`;
  }

  #list(): HTMLElement {
    const items = this.found.calls.map((line, call) => {
      const button = html("button", { type: "button", class: "mg-call", "data-call": call });
      const code = html("code", {}, line);
      button.append(html("b", { class: "mg-letter", "aria-hidden": true }, letter(call)), code, html("span", { class: "mg-gives" }));
      button.addEventListener("click", () => this.#make(call));
      this.#calls.push(button);
      return html("li", {}, button);
    });
    const list = html("ul", { class: "mg-calls" }, ...items);
    return html("section", { class: "mg-call-list", "aria-label": "calls" }, html("h3", { class: "mg-heading" }, "what each call does here"), list);
  }

  #table(): HTMLElement {
    const { attributes, calls, states, drawing } = this.found;
    const heads = [...attributes, ...calls.map((_, call) => letter(call))];
    const head = html("tr", {}, ...["state", ...heads].map((each) => html("th", { scope: "col" }, each)));
    calls.forEach((line, call) => head.children[1 + attributes.length + call]?.setAttribute("title", line));
    states.forEach((state, at) => {
      const name = html("button", { type: "button", class: "mg-link", "aria-label": `go to state ${at + 1}` }, String(at + 1));
      name.addEventListener("click", () => this.#visit(at));
      const values = state.values.map((value, i) => {
        return html("td", { class: value ? "mg-yes" : "mg-no" }, `${value ? "✓ " : ""}${drawing.words[i]?.[value ? 1 : 0] ?? ""}`);
      });
      const moves = calls.map((_, call) => this.#cell(at, this.#move(at, call)));
      this.#rows.push(html("tr", {}, html("th", { scope: "row" }, name), ...values, ...moves));
    });
    const table = html("table", { class: "mg-table" }, html("thead", {}, head), html("tbody", {}, ...this.#rows));
    return html("div", { class: "mg-scroll mg-all-states", tabindex: 0, role: "group", "aria-label": "all states" }, table);
  }

  #cell(at: number, move: Move | undefined): HTMLElement {
    const to = move?.to ?? null;
    const text = to === null ? "✗" : to === at ? "=" : String(to + 1);
    const says = to === null ? (move?.error ?? "") : to === at ? "stays as it is" : `leads to state ${to + 1}`;
    return html("td", { class: to === null ? "mg-raises" : to === at ? "mg-no" : "mg-leads", title: says }, text);
  }

  #show(): void {
    const state = this.#end(this.#walk);
    const [start = 0, ...calls] = this.#walk;
    write(this.#text, this.#saidOf(state));
    this.#nodes.forEach((node, at) => mark(node, "aria-current", at === state ? "true" : null));
    this.#rows.forEach((row, at) => mark(row, "aria-current", at === state ? "true" : null));
    for (const [arrow, ...drawn] of this.#arrows) for (const part of drawn) mark(part, "data-here", arrow.from === state ? "true" : null);
    this.#calls.forEach((button, call) => this.#dress(button, state, this.#move(state, call)));
    write(this.#lines, [this.found.starts[start] ?? "", ...calls.map((call) => this.found.calls[call] ?? "")].join("\n"));
    for (const button of [this.#back, this.#restart]) mark(button, "aria-disabled", String(calls.length === 0));
    mark(this.element, "data-state", state);
    mark(this.element, "data-calls", this.#walk.join(" "));
  }

  #dress(button: HTMLElement, state: number, move: Move | undefined): void {
    const to = move?.to ?? null;
    const gives = button.lastElementChild as HTMLElement;
    write(gives, to === null ? `✗ ${move?.error ?? ""}` : to === state ? "= stays as it is" : `→ state ${to + 1}`);
    mark(button, "data-gives", to === null ? "error" : to === state ? "same" : "state");
  }

  #button(text: string, act: () => void): HTMLButtonElement {
    const button = html("button", { type: "button", class: "mg-plain" }, text);
    button.addEventListener("click", act);
    return button;
  }
}
