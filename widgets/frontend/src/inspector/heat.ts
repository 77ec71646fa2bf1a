/** Heat: edges coloured by the size of their gradients, and the gradients of all leaves in a list. */
import { html, mark, write } from "../page/dom";
import { broken, number, tensorName, valueOf, rootMeanSquare, SIZES, sizeOf } from "../trace/format";
import { unwritten } from "./trays";
import type { Moment } from "./lens";
import type { Maybe, Trace } from "../trace/types";
import { labels } from "../layout/geometry";
import { COSTS, Costs, costText, type Cost } from "../trace/cost";
import type { GraphPane } from "../graph/graph";

/** A list of this length is enough to show where gradients vanish. */
const LEAVES = 400;
const [LEAST, MOST] = [-9, 4]; // the exponents at the two ends of a bar

export class Heat {
  readonly element: HTMLDetailsElement;
  readonly #rows = html("tbody", {});
  readonly #leaves: number[];
  #moment: Moment | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly pick: (node: Maybe) => void,
    colour: (on: boolean) => void,
  ) {
    this.#leaves = trace.nodes.flatMap((node, id) => (node.variable === undefined ? [] : [id])).slice(0, LEAVES);
    const words = [["zero", "0"], ...SIZES.map(([name, , text]) => [name, text]), ["broken", "nan, inf"]];
    const legend = words.map(([name, text]) => html("span", { class: "mg-size" }, html("i", { "data-heat": name ?? "" }), text ?? ""));
    const caption = html("caption", { class: "mg-quiet" }, "root mean square of each leaf’s gradient");
    const body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "the size of gradients" });
    body.append(html("p", { class: "mg-sizes" }, ...legend), html("table", { class: "mg-table" }, caption, this.#rows));
    this.element = html("details", { class: "mg-nodelist mg-heatlist" }, html("summary", {}, "heat"), body);
    this.element.addEventListener("toggle", () => {
      colour(this.element.open);
      this.#draw();
    });
  }

  show(moment: Moment): void {
    this.#moment = moment;
    this.#draw();
  }

  #draw(): void {
    const moment = this.#moment;
    if (!moment || !this.element.open) return;
    this.#rows.replaceChildren(...this.#leaves.map((id) => this.#row(id, moment)));
  }

  #row(id: number, moment: Moment): HTMLElement {
    const leaf = this.trace.nodes[id]?.variable ?? null;
    const value = valueOf(this.trace, leaf === null ? null : moment.grad(leaf));
    const size = value ? rootMeanSquare(value) : null;
    const button = html("button", { type: "button", class: "mg-link" }, html("bdi", {}, tensorName(this.trace, leaf)));
    button.addEventListener("click", () => this.pick(id));
    const bar = html("span", { class: "mg-heatbar" });
    const exponent = size === null || size === 0 ? LEAST : Math.log10(size);
    const share = Math.max(0, Math.min(1, (exponent - LEAST) / (MOST - LEAST)));
    bar.style.width = `${Math.round(share * 100)}%`;
    mark(bar, "data-heat", sizeOf(value) || null);
    const text = value === undefined ? unwritten(this.trace, leaf) : broken(value) || (size === null ? (value.shape.includes(0) ? "empty" : "not kept") : number(Number(size.toPrecision(3))));
    button.title = tensorName(this.trace, leaf);
    return html("tr", {}, html("td", { class: "mg-heatname" }, button), html("td", { class: "mg-heatcell" }, bar), html("td", { class: "mg-heatsize" }, text));
  }
}

// ---- The lens "cost": boxes shaded by time, saved bytes or FLOPs, with a legend, and the same as a table.
const SHOWN = 60;

export class CostLens {
  readonly element: HTMLDetailsElement;
  readonly #costs: Costs;
  readonly #rows = html("tbody", {});
  readonly #caption = html("caption", { class: "mg-quiet" });
  readonly #most = html("span", {});
  readonly #buttons = new Map<Cost, HTMLButtonElement>();
  #cost: Cost;

  constructor(
    trace: Trace,
    private readonly graph: GraphPane,
    private readonly pick: (node: number) => void,
  ) {
    this.#costs = new Costs(trace);
    this.#cost = this.#costs.known[0] ?? "saved";
    const known = COSTS.filter(([name]) => this.#costs.known.includes(name));
    const choice = html("div", { class: "mg-costs-of", role: "group", "aria-label": "which cost" }, ...known.map(([name, title]) => this.#button(name, title)));
    const legend = html("p", { class: "mg-sizes" }, "0", html("i", { class: "mg-scale", "aria-hidden": true }), this.#most);
    const head = html("thead", {}, html("tr", {}, ...["node or module", "cost", "share"].map((name) => html("th", { scope: "col" }, name))));
    const body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "costs" }, choice, legend);
    body.append(html("table", { class: "mg-table" }, this.#caption, head, this.#rows));
    if (!this.#costs.known.includes("forward")) body.append(html("p", { class: "mg-quiet mg-note" }, "This recording has no times: record(times=True) takes them."));
    this.element = html("details", { class: "mg-nodelist mg-costlist" }, html("summary", {}, "cost"), body);
    this.element.addEventListener("toggle", () => this.#draw());
    graph.onBuild = () => this.#draw();
  }

  #button(name: Cost, title: string): HTMLButtonElement {
    const button = html("button", { type: "button", class: "mg-tab", "data-cost": name }, title);
    button.addEventListener("click", () => {
      this.#cost = name;
      this.#draw();
    });
    this.#buttons.set(name, button);
    return button;
  }

  #draw(): void {
    for (const [name, button] of this.#buttons) mark(button, "aria-pressed", String(name === this.#cost));
    if (!this.element.open) return this.graph.shade(null);
    const groups = this.graph.groups;
    const all = [...groups.members].map(([box, nodes]) => ({ box, nodes, cost: this.#costs.of(this.#cost, nodes) }));
    const most = all.reduce((largest, { cost }) => Math.max(largest, cost), 0);
    const total = this.#costs.of(this.#cost, all.flatMap(({ nodes }) => nodes));
    this.graph.shade(new Map(all.map(({ box, cost }) => [box, most > 0 ? cost / most : 0])));
    write(this.#most, costText(this.#cost, most));
    write(this.#caption, `${costText(this.#cost, total)} in all${this.#cost === "saved" ? "; what several nodes hold stands at each" : ""}`);
    const dear = all.filter(({ cost }) => cost > 0).sort((a, b) => b.cost - a.cost).slice(0, SHOWN);
    this.#rows.replaceChildren(
      ...dear.map(({ box, nodes, cost }) => {
        const [title, caption] = labels(groups, box);
        const button = html("button", { type: "button", class: "mg-link" }, title);
        button.addEventListener("click", () => this.pick(nodes[0] ?? 0));
        const name = html("th", { scope: "row" }, button, html("small", { class: "mg-quiet" }, ` ${caption}`));
        return html("tr", {}, name, html("td", {}, costText(this.#cost, cost)), html("td", {}, `${Math.round((100 * cost) / total)} %`));
      }),
    );
  }
}
