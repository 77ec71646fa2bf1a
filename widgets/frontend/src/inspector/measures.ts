/** What each box did: one choice of what the boxes are coloured by, and a tree of all modules and ops with every number. */
import { html, mark, write } from "../page/dom";
import { number, SIZES, shape, sizeClass, tensorName } from "../trace/format";
import { boxOf, chain, parentsFirst, scopeTitle, type BoxId } from "../trace/groups";
import { gradientSize, MEASURES, measureText, middle, Rows, sizeIn, type Measure, type Row } from "../trace/rows";
import type { GraphPane } from "../graph/graph";
import type { Scene } from "../graph/look";
import type { Maybe, Trace } from "../trace/types";

/** What gradients are coloured by, and the length of their bars: a large tensor has a large norm even of small entries. */
const PER_ENTRY = "gradient per entry";
const NO_TIMES = "time: not recorded, record(times=True) takes it";

/** The choice of a measure: boxes are shaded by it, for gradients edges too; a legend says what the colours mean. */
export class Colour {
  readonly element = html("label", { class: "mg-colour" }, "colour ");
  readonly legend = html("div", { class: "mg-scales", "aria-live": "polite" });
  readonly #choice = html("select", {});
  readonly #rows: Rows;
  /** Called after another choice. */
  onChoice: (measure: Measure | null) => void = () => undefined;

  constructor(
    trace: Trace,
    private readonly graph: GraphPane,
  ) {
    this.#rows = new Rows(trace);
    const known = this.#rows.known;
    const options = MEASURES.filter(([name]) => known.includes(name)).map(([name, , told]) => html("option", { value: name }, name === "gradient" ? PER_ENTRY : told));
    if (known.length > 0 && !known.includes("forward")) options.push(html("option", { value: "", disabled: true }, NO_TIMES));
    this.#choice.append(html("option", { value: "" }, "none"), ...options);
    this.element.append(this.#choice);
    this.element.hidden = known.length === 0;
    if ((trace.folded?.length ?? 0) > 0 && known[0]) this.#choice.value = known[0];
    this.#choice.addEventListener("change", () => this.choose(this.measure));
    graph.strip.prepend(this.legend);
  }

  get measure(): Measure | null {
    return (this.#choice.value || null) as Measure | null;
  }

  choose(measure: Measure | null): void {
    this.#choice.value = measure ?? "";
    this.draw();
    this.onChoice(measure);
  }

  /** Colours the boxes that stand in the graph now. */
  draw(): void {
    const { measure, graph } = this;
    const all = [...graph.groups.members.keys()].flatMap((box) => {
      const row = this.#rows.of(box);
      return row ? [[box, row] as const] : [];
    });
    const byGradient = measure === "gradient";
    const most = measure === null || byGradient ? 0 : Math.max(0, ...all.map(([, row]) => sizeIn(row, measure) ?? 0));
    graph.element.classList.toggle("mg-heat", byGradient);
    graph.sizes(byGradient ? new Map(all.map(([box, row]) => [box, sizeClass(gradientSize(row))])) : null);
    graph.shade(measure === null || byGradient ? null : new Map(all.map(([box, row]) => [box, most > 0 ? (sizeIn(row, measure) ?? 0) / most : 0])), measure);
    this.#explain(most);
  }

  #explain(most: number): void {
    const { measure } = this;
    this.legend.hidden = measure === null;
    this.graph.element.classList.toggle("mg-coloured", measure !== null);
    if (measure === null) return;
    if (measure === "gradient") {
      const words = [["zero", "0"], ...SIZES.map(([name, , text]) => [name, text]), ["broken", "nan, inf"]];
      const sizes = words.map(([name, text]) => html("span", { class: "mg-size" }, html("i", { "data-heat": name ?? "" }), text ?? ""));
      return this.legend.replaceChildren(html("span", {}, `${PER_ENTRY} (norm / √entries):`), ...sizes);
    }
    const largest: Row = { output: null, parameters: most, forward: most, backward: most, saved: most, flops: most, gradient: null };
    this.legend.replaceChildren(MEASURES.find(([name]) => name === measure)?.[2] ?? "", " 0", html("i", { class: "mg-scale", "aria-hidden": true }), measureText(largest, measure) || "0");
  }
}

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
  row: Row | null;
}

/** Rows are drawn as they come into view: each is so high, and so many more are drawn above and below. */
const [HIGH, MORE] = [25, 20];
const LONGEST = 34;
const [LEAST, MOST, LONG] = [-9, 4, 44]; // the exponents at the two ends of a bar, and its length in pixels

/** The table that `trace.summary()` prints, with the ops in it: sorted by a click, searched, in step with the graph. */
export class SummaryTable {
  readonly element: HTMLDetailsElement;
  readonly #body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "what each module and op did" });
  readonly #rows = html("tbody", {});
  readonly #caption = html("output", { class: "mg-quiet", "aria-live": "polite" });
  readonly #field = html("input", { type: "search", class: "mg-filter", placeholder: "filter", "aria-label": "filter by name or class" });
  readonly #heads = new Map<Measure | "name", HTMLElement>();
  readonly #open = new Set<BoxId>();
  #top: Entry[] | null = null;
  #all: Entry[] = [];
  #shown: Entry[] = [];
  #sorted: { by: Measure; down: boolean } | null = null;
  #chosen: BoxId | null = null;
  #selected: Maybe = null;
  #from = -1;

  constructor(
    private readonly trace: Trace,
    private readonly graph: GraphPane,
    private readonly pick: (node: Maybe) => void,
  ) {
    const known = new Rows(trace).known;
    const names = [html("th", { scope: "col" }, this.#head("name", "module or op")), html("th", { scope: "col" }, "output")];
    const heads = MEASURES.filter(([name]) => known.includes(name)).map(([name, short, told]) => html("th", { scope: "col", ...(name === "gradient" ? { class: "mg-gradients", title: `${told}; the bar shows the ${PER_ENTRY} (norm / √entries)` } : { title: told }) }, this.#head(name, short)));
    const table = html("table", { class: "mg-table" }, html("thead", {}, html("tr", {}, ...names, ...heads)), this.#rows);
    this.#body.append(html("p", { class: "mg-summary-bar" }, this.#field, this.#caption), table);
    this.element = html("details", { class: "mg-nodelist mg-summary" }, html("summary", {}, "summary"), this.#body);
    this.element.hidden = known.length === 0;
    this.element.addEventListener("toggle", () => {
      graph.element.classList.toggle("mg-docked", this.element.open);
      this.#arrange();
    });
    this.#field.addEventListener("input", () => this.#arrange());
    this.#body.addEventListener("scroll", () => this.#draw(false));
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

  /** Another step, or another selection. */
  show({ selected }: Scene): void {
    if (selected === this.#selected) return;
    this.#selected = selected;
    const covering = selected === null ? null : (this.graph.groups.owner[selected] ?? selected);
    const clicked = this.#all.find(({ box }) => box === this.#chosen);
    if (selected === null || clicked?.first !== selected) this.#chosen = covering;
    if (this.element.open) this.#reveal();
  }

  /** The graph was folded in another way: what stands in it can be seen here. */
  refold(): void {
    this.#follow();
    if (this.element.open) this.#arrange();
  }

  #follow(): void {
    for (const box of this.graph.groups.members.keys()) this.#openAround(box);
  }

  #openAround(box: BoxId): void {
    const scopes = chain(this.trace, box < 0 ? (this.trace.scopes?.[-1 - box]?.parent ?? undefined) : this.trace.nodes[box]?.scope);
    for (const scope of scopes) this.#open.add(boxOf(scope));
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
      const entry: Entry = { box: boxOf(id), name, path: name, kind: trace.scopes?.[id]?.module ?? "", depth: 0, inside: [], first: Infinity, row: rows.of(boxOf(id)) };
      put(entry, trace.scopes?.[id]?.parent ?? null);
      scopes.set(id, entry);
    }
    trace.nodes.forEach((node, id) => {
      const leaf = node.variable !== undefined;
      const name = leaf ? tensorName(trace, node.variable).split(".").at(-1) ?? "" : node.name;
      put({ box: id, name, path: name, kind: leaf ? "leaf" : `#${id}`, depth: 0, inside: [], first: id, row: rows.of(id) }, node.scope ?? null);
      if (leaf) this.#lastPut(top, scopes, node.scope).path = tensorName(trace, node.variable);
      for (const scope of chain(trace, node.scope)) {
        const entry = scopes.get(scope) as Entry;
        if (!leaf || entry.first === Infinity) entry.first = Math.min(entry.first, id);
      }
    });
    const used = (list: Entry[]): Entry[] => list.filter((entry) => entry.first !== Infinity).sort((a, b) => a.first - b.first);
    for (const entry of scopes.values()) entry.inside = used(entry.inside);
    this.#top = used(top);
    this.#all = this.#walk(this.#top, () => true);
    this.#follow();
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

  get #words(): string[] {
    return this.#field.value.trim().toLowerCase().split(/\s+/).filter((word) => word !== "");
  }

  /** Decides which entries there are now, and in which order. */
  #arrange(): void {
    if (!this.element.open) return;
    const [top, words] = [this.#tree(), this.#words];
    const fits = ({ path, kind }: Entry): boolean => words.every((word) => `${path} ${kind}`.toLowerCase().includes(word));
    this.#shown = words.length > 0 ? [...this.#ordered(this.#all.filter(fits))] : this.#walk(top, ({ box }) => this.#open.has(box));
    write(this.#caption, words.length > 0 ? `${this.#shown.length} of ${this.#all.length}` : `${this.#all.length} modules and ops`);
    for (const [name, button] of this.#heads) {
      const down = this.#sorted?.by === name ? this.#sorted.down : null;
      mark(button.parentElement as HTMLElement, "aria-sort", down === null ? null : down ? "descending" : "ascending");
    }
    this.#draw(true);
  }

  /** Draws the rows that are in view. */
  #draw(always: boolean): void {
    const count = Math.ceil(this.#body.clientHeight / HIGH) + 2 * MORE;
    const wanted = Math.max(0, Math.floor(this.#body.scrollTop / HIGH) - MORE);
    const from = Math.min(wanted - (wanted % (MORE / 2)), Math.max(0, this.#shown.length - count));
    if (!this.element.open || (!always && from === this.#from)) return;
    this.#from = from;
    const focused = this.#rows.querySelector(":focus")?.getAttribute("data-of");
    const space = (rows: number): HTMLElement => {
      const gap = html("tr", { class: "mg-gap", "aria-hidden": true });
      gap.style.height = `${rows * HIGH}px`;
      return gap;
    };
    const shown = this.#shown.slice(from, from + count);
    const rest = this.#shown.length - from - shown.length;
    this.#rows.replaceChildren(...(from > 0 ? [space(from)] : []), ...shown.map((entry) => this.#row(entry)), ...(rest > 0 ? [space(rest)] : []));
    if (focused) this.#rows.querySelector<HTMLElement>(`[data-of="${focused}"]`)?.focus({ preventScroll: true });
  }

  /** Opens what is around the chosen entry, and scrolls the table to it, not the page. */
  #reveal(): void {
    const entry = this.#all.find(({ box }) => box === this.#chosen);
    if (entry) this.#openAround(entry.box);
    this.#arrange();
    const at = this.#shown.findIndex(({ box }) => box === this.#chosen);
    const { scrollTop, clientHeight } = this.#body;
    if (at >= 0 && (at * HIGH < scrollTop || (at + 3) * HIGH > scrollTop + clientHeight)) this.#body.scrollTop = Math.max(0, at * HIGH - clientHeight / 2);
    this.#draw(false);
  }

  #row(entry: Entry): HTMLElement {
    const [flat, { row }] = [this.#words.length > 0, entry];
    const depth = flat ? 0 : entry.depth;
    const name = html("button", { type: "button", class: "mg-link", "data-of": entry.box }, middle(flat ? entry.path : entry.name, LONGEST - 2 * depth));
    name.addEventListener("click", () => {
      this.#chosen = entry.box;
      this.pick(entry.first);
      this.#draw(true);
    });
    const kind = html("small", { class: "mg-quiet" }, ` ${entry.kind}`);
    const head = html("th", { scope: "row", title: `${entry.path} ${entry.kind}` }, ...(flat ? [] : [this.#fold(entry)]), name, kind);
    head.style.paddingLeft = `${8 + 14 * depth}px`;
    const cells = [...this.#heads.keys()].filter((each): each is Measure => each !== "name").map((measure) => this.#cell(row, measure));
    const drawn = html("tr", { "data-box": entry.box }, head, html("td", {}, row?.output ? shape(row.output) : ""), ...cells);
    drawn.classList.toggle("mg-chosen", entry.box === this.#chosen);
    return drawn;
  }

  #fold(entry: Entry): HTMLElement {
    if (entry.inside.length === 0) return html("span", { class: "mg-unfold" });
    const open = this.#open.has(entry.box);
    const button = html("button", { type: "button", class: "mg-unfold", "data-of": `${entry.box} inside`, "aria-expanded": open, "aria-label": `what is in ${entry.name}` }, open ? "▾" : "▸");
    button.addEventListener("click", () => {
      if (open) this.#open.delete(entry.box);
      else this.#open.add(entry.box);
      this.#arrange();
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
    const width = Math.max(2, Math.round(LONG * Math.max(0, Math.min(1, (exponent - LEAST) / (MOST - LEAST)))));
    bar.style.cssText = `width: ${width}px; margin-right: ${LONG - width}px`;
    cell.prepend(bar);
    return cell;
  }
}
