/** The graph as a table, as an alternative to the drawing: the same nodes, states, gradients and edges. */
import { html } from "../page/dom";
import { brief, nodeName, valueOf } from "../trace/format";
import type { Scene } from "../graph/look";
import type { Edge, Maybe, Trace } from "../trace/types";

/** For a larger graph the table has the nodes around the current one. */
const SHOWN = 200;
const HEADS = ["node", "state", "pending", "saved", "leads to"];

export class NodeList {
  readonly element: HTMLDetailsElement;
  readonly #rows = html("tbody", {});
  readonly #body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "the graph as a table" });
  readonly #caption = html("caption", { class: "mg-quiet" });
  #scene: Scene | null = null;
  /** The first of the rows shown, and the table's last subject: it moves only when that changes. */
  #from = 0;
  #about: { lit: Maybe; selected: Maybe } = { lit: null, selected: null };

  constructor(
    private readonly trace: Trace,
    private readonly pick: (node: number) => void,
  ) {
    const heads = HEADS.map((each) => html("th", { scope: "col" }, each));
    const table = html("table", { class: "mg-table" }, this.#caption, html("thead", {}, html("tr", {}, ...heads)), this.#rows);
    this.#body.append(table);
    this.element = html("details", { class: "mg-nodelist mg-nodetable" }, html("summary", {}, "table"), this.#body);
    this.element.addEventListener("toggle", () => this.#draw());
  }

  show(scene: Scene): void {
    this.#scene = scene;
    this.#draw();
  }

  #draw(): void {
    const scene = this.#scene;
    if (!scene || !this.element.open) return;
    const known = this.trace.nodes.map((_, id) => id).filter((id) => scene.node(id).known).reverse();
    const focus = this.#focus(scene);
    const middle = known.indexOf(focus ?? -1);
    if (middle >= 0 && (middle < this.#from || middle >= this.#from + SHOWN)) this.#from = middle - SHOWN / 2;
    this.#from = Math.max(0, Math.min(this.#from, known.length - SHOWN));
    const shown = known.slice(this.#from, this.#from + SHOWN);
    const scrolled = this.#body.scrollTop;
    this.#caption.textContent = shown.length < known.length ? `${shown.length} of ${known.length} nodes, around the current one` : `${known.length} nodes`;
    const focused = this.#rows.querySelector(":focus")?.getAttribute("data-of");
    this.#rows.replaceChildren(...shown.map((id) => this.#row(id, scene)));
    if (focused) this.#rows.querySelector<HTMLElement>(`[data-of="${focused}"]`)?.focus();
    this.#body.scrollTop = scrolled;
    if (focus !== null) this.#reveal(this.#rows.querySelector(`[data-row="${focus}"]`));
  }

  /** The node that the step is about now, or that was just chosen; null if neither has changed. */
  #focus({ lit, selected }: Scene): Maybe {
    const about = this.#about;
    this.#about = { lit, selected };
    if (selected !== about.selected && selected !== null) return selected;
    return lit === about.lit ? null : lit;
  }

  /** Scrolls the table, not the page. */
  #reveal(row: HTMLElement | null): void {
    if (!row) return;
    const { scrollTop, clientHeight } = this.#body;
    const out = row.offsetTop < scrollTop + row.offsetHeight || row.offsetTop + row.offsetHeight > scrollTop + clientHeight;
    if (out) this.#body.scrollTop = row.offsetTop - clientHeight / 2;
  }

  #row(id: number, scene: Scene): HTMLElement {
    const { word, look, badge, saved, broken } = scene.node(id);
    const number = this.trace.nodes[id]?.sequence_nr ?? null;
    const button = html("button", { type: "button", class: "mg-link", "data-of": id }, nodeName(this.trace, id));
    button.addEventListener("click", () => this.pick(id));
    const name = html("th", { scope: "row" }, button, html("small", { class: "mg-quiet" }, number === null ? "" : ` nr ${number}`));
    const next = (this.trace.nodes[id]?.next ?? []).map((edge, index) => this.#edge(id, index, edge, scene)).join(", ");
    const cells = [[word || look, broken ?? ""].filter(Boolean).join(", "), badge.replace("Σ ", ""), saved, next].map((text) => html("td", {}, text || "–"));
    const row = html("tr", { "data-row": id }, name, ...cells);
    if (id === scene.lit) row.setAttribute("aria-current", "step");
    if (id === scene.selected) row.classList.add("mg-chosen");
    return row;
  }

  #edge(id: number, index: number, edge: Edge, scene: Scene): string {
    if (!edge) return "(None, 0)";
    const flowed = scene.edge(`${id}:${index}`);
    const text = flowed === undefined ? "" : ` ← ${flowed === null ? "?" : brief(valueOf(this.trace, flowed))}`;
    return `(${nodeName(this.trace, edge[0])}, ${edge[1]})${text}`;
  }
}
