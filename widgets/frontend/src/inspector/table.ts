/**
 * All modules and ops as one tree: their state in this step, what each did, and where its gradients go. It is sorted by
 * a click and searched; a module is folded and unfolded here and in the drawing at once. It says all that the drawing says.
 */
import { html, mark, write } from "../page/dom";
import { brief, nodeName, number, shape, sizeClass, tensorName, valueOf } from "../trace/format";
import { boxOf, chain, parentsFirst, scopeOf, scopeTitle, unfolded, type BoxId } from "../trace/groups";
import { gradientSize, MEASURES, measureText, middle, Rows, shortened, sizeIn, type Measure, type Row } from "../trace/rows";
import type { GraphPane } from "../graph/graph";
import { MOST } from "../graph/controls";
import { together, type NodeLook, type Scene } from "../graph/look";
import { PER_ENTRY } from "./measures";
import type { Edge, Maybe, Trace } from "../trace/types";

interface Entry {
  box: BoxId;
  name: string;
  /** The name with those of the modules around it. */
  path: string;
  kind: string;
  depth: number;
  inside: Entry[];
  /** The first node in it, to be selected. */
  first: number;
  /** The nodes in it. */
  nodes: number[];
  row: Row | null;
}

/** The elements of an entry, of which a step changes three cells and two marks. */
interface Drawn {
  entry: Entry;
  element: HTMLElement;
  state: HTMLElement;
  pending: HTMLElement;
  leads: HTMLElement;
}

/** Rows are drawn as they come into view: each is so high, and so many more are drawn above and below. */
const [HIGH, MORE] = [25, 20];
/** The width of a letter of a name, and of what is beside it in its cell. */
const [LETTER, BESIDE] = [7.6, 14];
/** The state of a module is that of its nodes; of more nodes than this it would be slow to ask at each step. */
const MEMBERS = 2_000;
const [LEAST, GREATEST, LONG] = [-9, 4, 44]; // the exponents at the two ends of a bar, and its length in pixels

export class ModuleTable {
  readonly element: HTMLDetailsElement;
  readonly #body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "all modules and ops" });
  readonly #rows = html("tbody", {});
  readonly #table = html("table", { class: "mg-table" });
  readonly #caption = html("output", { class: "mg-quiet", "aria-live": "polite" });
  readonly #field = html("input", { type: "search", class: "mg-filter", placeholder: "filter", "aria-label": "filter by name or class" });
  readonly #heads = new Map<Measure | "name", HTMLElement>();
  readonly #measures: Measure[];
  #top: Entry[] | null = null;
  #all: Entry[] = [];
  #shown: Entry[] = [];
  #drawn: Drawn[] = [];
  #sorted: { by: Measure; down: boolean } | null = null;
  #chosen: BoxId | null = null;
  #selected: Maybe = null;
  #scene: Scene | null = null;
  #from = -1;
  /** How far it is scrolled, and how high it is: a step that asked the browser would have it lay the page out once more. */
  #view: [top: number, height: number] = [0, 0];

  constructor(
    private readonly trace: Trace,
    private readonly graph: GraphPane,
    private readonly pick: (node: Maybe) => void,
  ) {
    const known = new Rows(trace).known;
    this.#measures = MEASURES.map(([name]) => name).filter((name) => known.includes(name));
    const plain = (title: string): HTMLElement => html("th", { scope: "col" }, title);
    const heads = MEASURES.filter(([name]) => known.includes(name)).map(([name, short, told]) => html("th", { scope: "col", ...(name === "gradient" ? { class: "mg-gradients", title: `${told}; the bar shows the ${PER_ENTRY} (norm / √entries)` } : { title: told }) }, this.#head(name, short)));
    const gradients = known.includes("gradient") ? heads.splice(-1) : [html("td", { class: "mg-gradients mg-rim" })];
    const row = html("tr", {}, html("th", { scope: "col" }, this.#head("name", "module or op")), plain("state"), plain("output"), ...heads, plain("pending"), plain("leads to"), ...gradients);
    this.#body.append(html("p", { class: "mg-summary-bar" }, this.#field, this.#caption, ...this.#folds()), this.#table);
    this.#table.append(html("thead", {}, row), this.#rows);
    this.element = html("details", { class: "mg-nodelist mg-summary" }, html("summary", {}, "table"), this.#body);
    this.element.addEventListener("toggle", () => {
      for (const each of [graph.element, graph.element.closest(".mg-panes")]) each?.classList.toggle("mg-docked", this.element.open);
      this.#seen();
      this.#arrange();
      this.#reveal(this.#chosen ?? this.#covering(this.#scene?.lit ?? null));
    });
    this.#field.addEventListener("input", () => this.#arrange());
    this.#body.addEventListener("scroll", () => {
      this.#seen();
      this.#draw(false);
      this.#cover();
    });
    const sized = (): void => (this.#seen(), this.#draw(true));
    if (typeof ResizeObserver !== "undefined") new ResizeObserver(sized).observe(this.#body);
  }

  #seen(): void {
    this.#view = [this.#body.scrollTop, this.#body.clientHeight];
  }

  #head(name: Measure | "name", told: string): HTMLElement {
    const button = html("button", { type: "button", class: "mg-sort" }, told);
    button.addEventListener("click", () => {
      const again = name !== "name" && this.#sorted?.by === name;
      this.#sorted = name === "name" || (again && !this.#sorted?.down) ? null : { by: name, down: !again };
      this.#arrange();
    });
    this.#heads.set(name, button);
    return button;
  }

  /** Fold and unfold all modules: not those that hold more than half of all nodes, which would hide the program. */
  #folds(): HTMLElement[] {
    if (!this.trace.nodes.some(({ scope }) => scope !== undefined)) return [];
    const button = (text: string, folded: () => Set<number>): HTMLElement => {
      const made = html("button", { type: "button", class: "mg-tab" }, text);
      made.addEventListener("click", () => this.graph.fold(folded()));
      return made;
    };
    const around = ({ inside }: Entry): boolean => 2 * inside.reduce((sum, each) => sum + (each.box < 0 ? each.nodes.length : 0), 0) > this.trace.nodes.length;
    const all = (): Set<number> => (this.#tree(), new Set(this.#all.filter((entry) => entry.box < 0 && !around(entry)).map(({ box }) => scopeOf(box))));
    const none = this.trace.nodes.length > MOST ? [] : [button("unfold all", () => new Set())];
    return [html("span", { class: "mg-folds" }, button("fold all", all), ...none)];
  }

  /** Another step, or another selection. */
  show(scene: Scene): void {
    const { selected, lit } = scene;
    const [chosen, moved] = [selected !== this.#selected, lit !== null && lit !== this.#scene?.lit];
    [this.#selected, this.#scene] = [selected, scene];
    if (chosen) {
      const clicked = this.#all.find(({ box }) => box === this.#chosen);
      if (selected === null || clicked?.first !== selected) this.#chosen = this.#covering(selected);
    }
    if (!this.element.open) return;
    for (const each of this.#drawn) this.#paint(each);
    if (chosen || moved) this.#reveal(chosen ? this.#chosen : this.#covering(lit));
    this.#cover();
  }

  /** The box of a node in the drawing. */
  #covering(node: Maybe): BoxId | null {
    return node === null ? null : (this.graph.groups.owner[node] ?? node);
  }

  /** The graph was folded in another way. */
  refold(): void {
    this.#arrange();
  }

  /** All modules and ops as a tree, made when it is first looked at. */
  #tree(): Entry[] {
    if (this.#top) return this.#top;
    const { trace } = this;
    const rows = new Rows(trace);
    const scopes = new Map<number, Entry>();
    const top: Entry[] = [];
    const put = (entry: Entry, parent: Maybe): void => {
      const around = parent === null ? undefined : scopes.get(parent);
      entry.depth = around ? around.depth + 1 : 0;
      if (around) entry.path = `${around.path}.${entry.name}`;
      (around?.inside ?? top).push(entry);
    };
    for (const id of parentsFirst(trace)) {
      const name = scopeTitle(trace, id);
      const entry: Entry = { box: boxOf(id), name, path: name, kind: trace.scopes?.[id]?.module ?? "", depth: 0, inside: [], first: Infinity, nodes: [], row: rows.of(boxOf(id)) };
      put(entry, trace.scopes?.[id]?.parent ?? null);
      scopes.set(id, entry);
    }
    trace.nodes.forEach((node, id) => {
      const leaf = node.variable !== undefined;
      const name = leaf ? tensorName(trace, node.variable).split(".").at(-1) ?? "" : node.name;
      put({ box: id, name, path: name, kind: leaf ? "leaf" : `#${id}`, depth: 0, inside: [], first: id, nodes: [id], row: rows.of(id) }, node.scope ?? null);
      if (leaf) this.#lastPut(top, scopes, node.scope).path = tensorName(trace, node.variable);
      for (const scope of chain(trace, node.scope)) {
        const entry = scopes.get(scope) as Entry;
        entry.nodes.push(id);
        if (!leaf || entry.first === Infinity) entry.first = Math.min(entry.first, id);
      }
    });
    const used = (list: Entry[]): Entry[] => list.filter((entry) => entry.first !== Infinity).sort((a, b) => a.first - b.first);
    for (const entry of scopes.values()) entry.inside = used(entry.inside);
    this.#top = used(top);
    this.#all = this.#walk(this.#top, () => true);
    return this.#top;
  }

  #lastPut(top: Entry[], scopes: ReadonlyMap<number, Entry>, scope: number | undefined): Entry {
    return ((scope === undefined ? undefined : scopes.get(scope)?.inside) ?? top).at(-1) as Entry;
  }

  /** The entries of a tree from above, with what is in those that are open. */
  #walk(list: readonly Entry[], open: (entry: Entry) => boolean): Entry[] {
    const found: Entry[] = [];
    const stack = [...this.#ordered(list)].reverse();
    while (stack.length > 0) {
      const entry = stack.pop() as Entry;
      found.push(entry);
      if (open(entry)) stack.push(...[...this.#ordered(entry.inside)].reverse());
    }
    return found;
  }

  #ordered(list: readonly Entry[]): readonly Entry[] {
    const sorted = this.#sorted;
    if (!sorted) return list;
    const size = ({ row }: Entry): number => sizeIn(row, sorted.by) ?? -Infinity;
    return [...list].sort((a, b) => (size(a) === size(b) ? 0 : size(a) < size(b) === sorted.down ? 1 : -1));
  }

  #isOpen(box: BoxId): boolean {
    return box < 0 && !this.graph.groups.folded.has(scopeOf(box));
  }

  get #words(): string[] {
    return this.#field.value.trim().toLowerCase().split(/\s+/).filter((word) => word !== "");
  }

  /** Decides which entries there are now, and in which order. */
  #arrange(): void {
    if (!this.element.open) return;
    const [top, words] = [this.#tree(), this.#words];
    const fits = ({ path, kind }: Entry): boolean => words.every((word) => `${path} ${kind}`.toLowerCase().includes(word));
    this.#shown = words.length > 0 ? [...this.#ordered(this.#all.filter(fits))] : this.#walk(top, ({ box }) => this.#isOpen(box));
    write(this.#caption, words.length > 0 ? `${this.#shown.length} of ${this.#all.length}` : `${this.#all.length} modules and ops`);
    for (const [name, button] of this.#heads) {
      const down = this.#sorted?.by === name ? this.#sorted.down : null;
      mark(button.parentElement as HTMLElement, "aria-sort", down === null ? null : down ? "descending" : "ascending");
    }
    this.#draw(true);
  }

  /** Draws the rows that are in view. */
  #draw(always: boolean): void {
    const [top, height] = this.#view;
    const count = Math.ceil(height / HIGH) + 2 * MORE;
    const wanted = Math.max(0, Math.floor(top / HIGH) - MORE);
    const from = Math.min(wanted - (wanted % (MORE / 2)), Math.max(0, this.#shown.length - count));
    if (!this.element.open || (!always && from === this.#from)) return;
    this.#from = from;
    const focused = this.#rows.querySelector(":focus")?.getAttribute("data-of");
    const space = (rows: number): HTMLElement => {
      const gap = html("tr", { class: "mg-gap", "aria-hidden": true });
      gap.style.height = `${rows * HIGH}px`;
      return gap;
    };
    const letters = this.#measure();
    this.#drawn = this.#shown.slice(from, from + count).map((entry) => this.#row(entry, letters));
    for (const each of this.#drawn) this.#paint(each);
    const rest = this.#shown.length - from - this.#drawn.length;
    this.#rows.replaceChildren(...(from > 0 ? [space(from)] : []), ...this.#drawn.map(({ element }) => element), ...(rest > 0 ? [space(rest)] : []));
    if (focused) this.#rows.querySelector<HTMLElement>(`[data-of="${focused}"]`)?.focus({ preventScroll: true });
    this.#cover();
  }

  /** Gives the column of names its width; returns the letters for which it has room. */
  #measure(): number {
    const { clientWidth } = this.#body;
    const width = this.#words.length > 0 ? Math.max(216, Math.min(440, 0.48 * clientWidth)) : Math.max(150, Math.min(280, 0.34 * clientWidth));
    this.#table.style.setProperty("--mg-names", `${width}px`);
    return Math.floor((width - BESIDE) / LETTER);
  }

  /** Hides the columns that would be seen in part at the two that stay in sight: half a number is another number. */
  #cover(): void {
    const heads = [...(this.#table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.getBoundingClientRect());
    const [left, right] = [heads[0]?.right ?? 0, heads.at(-1)?.left ?? 0];
    const columns = heads.slice(1, -2); // not the last, of words
    const cut = (edge: number): DOMRect | undefined => columns.find((each) => each.left < edge - 1 && each.right > edge + 1);
    const widths = { "--mg-cut-left": (cut(left)?.right ?? left) - left, "--mg-cut-right": right - (cut(right)?.left ?? right) };
    for (const [name, width] of Object.entries(widths)) {
      if (this.#table.style.getPropertyValue(name) !== `${width}px`) this.#table.style.setProperty(name, `${width}px`); // every cell is styled anew by it
    }
  }

  /** Scrolls the table, not the page, to an entry. */
  #reveal(box: BoxId | null): void {
    const at = this.#shown.findIndex((entry) => entry.box === box);
    const [top, height] = this.#view;
    if (at < 0 || (at * HIGH >= top && (at + 3) * HIGH <= top + height)) return;
    this.#body.scrollTop = Math.max(0, at * HIGH - height / 2);
    this.#seen();
    this.#draw(false);
  }

  /** A row in which a name has room for so many letters. */
  #row(entry: Entry, letters: number): Drawn {
    const [flat, { row }] = [this.#words.length > 0, entry];
    const depth = flat ? 0 : entry.depth;
    const name = html("button", { type: "button", class: "mg-link", "data-of": entry.box }, flat ? shortened(entry.path, letters) : middle(entry.name, letters - 2 * depth - 3));
    name.addEventListener("click", () => {
      this.#chosen = entry.box;
      this.pick(entry.first);
      for (const each of this.#drawn) this.#paint(each);
    });
    const kind = html("small", { class: "mg-quiet" }, ` ${entry.kind}`);
    const head = html("th", { scope: "row", title: `${entry.path} ${entry.kind}` }, ...(flat ? [] : [this.#fold(entry)]), name, kind);
    head.style.paddingLeft = `${8 + 14 * depth}px`;
    const cells = this.#measures.map((measure) => this.#cell(row, measure));
    const gradients = this.#measures.includes("gradient") ? cells.splice(-1) : [html("td", { class: "mg-gradients mg-rim" })];
    const [state, pending, leads] = [html("td"), html("td", { class: "mg-pending" }), html("td", { class: "mg-leads" })];
    const output = html("td", {}, row?.output ? shape(row.output) : "");
    const element = html("tr", { "data-box": entry.box }, head, state, output, ...cells, pending, leads, ...gradients);
    return { entry, element, state, pending, leads };
  }

  /** Writes what a row says of the step, where it differs. */
  #paint({ entry, element, state, pending, leads }: Drawn): void {
    const look = this.#look(entry);
    const [text, held] = look?.known ? [[look.word || look.look, look.broken ?? ""].filter(Boolean).join(", "), look.saved] : ["", ""];
    const sign = held === "" ? "" : held === "held" ? " ■" : " □";
    if (state.textContent !== text + sign) {
      const saved = { class: "mg-quiet", role: "img", "aria-label": `saved tensors ${held}`, title: `saved tensors ${held}` };
      state.replaceChildren(text, ...(sign === "" ? [] : [html("span", saved, sign)]));
    }
    mark(state, "title", text);
    write(pending, look?.badge.replace("Σ ", "") ?? "");
    const next = entry.box < 0 ? "" : (this.trace.nodes[entry.box]?.next ?? []).map((edge, index) => this.#edge(entry.box, index, edge)).join(", ");
    write(leads, next);
    mark(leads, "title", next);
    mark(element, "data-state", look?.known ? look.look : "unknown");
    element.classList.toggle("mg-chosen", entry.box === this.#chosen);
    mark(element, "aria-current", entry.box === this.#covering(this.#scene?.lit ?? null) ? "step" : null);
  }

  #look({ box, nodes }: Entry): NodeLook | null {
    const scene = this.#scene;
    if (!scene || nodes.length > MEMBERS) return null;
    return box >= 0 ? scene.node(box) : together(nodes, scene);
  }

  #edge(id: number, index: number, edge: Edge): string {
    if (!edge) return "(None, 0)";
    const flowed = this.#scene?.edge(`${id}:${index}`);
    const text = flowed === undefined ? "" : ` ← ${flowed === null ? "?" : brief(valueOf(this.trace, flowed))}`;
    return `(${nodeName(this.trace, edge[0])}, ${edge[1]})${text}`;
  }

  #fold(entry: Entry): HTMLElement {
    if (entry.inside.length === 0) return html("span", { class: "mg-unfold" });
    const open = this.#isOpen(entry.box);
    const button = html("button", { type: "button", class: "mg-unfold", "data-of": `${entry.box} inside`, "aria-expanded": open, "aria-label": `what is in ${entry.name}`, title: `${entry.nodes.length} nodes` }, open ? "▾" : "▸");
    button.addEventListener("click", () => {
      const { folded } = this.graph.groups;
      this.graph.fold(open ? new Set([...folded, scopeOf(entry.box)]) : unfolded(this.trace, folded, scopeOf(entry.box)));
    });
    return button;
  }

  #cell(row: Row | null, measure: Measure): HTMLElement {
    const text = row ? measureText(row, measure) : "";
    if (measure !== "gradient") return html("td", { "data-measure": measure }, text);
    const cell = html("td", { "data-measure": measure, class: "mg-gradients" }, html("span", { class: "mg-amount" }, text));
    const size = row ? gradientSize(row) : null;
    if (size === null || typeof size === "string") return cell;
    const bar = html("i", { class: "mg-heatbar", "data-heat": sizeClass(size), title: `${PER_ENTRY}: ${number(Number(size.toPrecision(3)))}` });
    const exponent = size === 0 ? LEAST : Math.log10(size);
    const width = Math.max(2, Math.round(LONG * Math.max(0, Math.min(1, (exponent - LEAST) / (GREATEST - LEAST)))));
    bar.style.cssText = `width: ${width}px; margin-right: ${LONG - width}px`;
    cell.prepend(bar);
    return cell;
  }
}
