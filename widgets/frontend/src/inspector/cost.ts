/** The lens "cost": boxes shaded by time, saved bytes or FLOPs, with a legend, and the same as a table. */
import { labels } from "../layout/geometry";
import { html, mark, write } from "../page/dom";
import { COSTS, Costs, costText } from "../trace/cost";
import type { Cost } from "../trace/cost";
import type { GraphPane } from "../graph/graph";
import type { Trace } from "../trace/types";

const SHOWN = 60;

export class CostLens {
  readonly element: HTMLDetailsElement;
  private readonly costs: Costs;
  private readonly rows = html("tbody", {});
  private readonly caption = html("caption", { class: "mg-quiet" });
  private readonly most = html("span", {});
  private readonly buttons = new Map<Cost, HTMLButtonElement>();
  private cost: Cost;

  constructor(
    trace: Trace,
    private readonly graph: GraphPane,
    private readonly pick: (node: number) => void,
  ) {
    this.costs = new Costs(trace);
    this.cost = this.costs.known[0] ?? "saved";
    const known = COSTS.filter(([name]) => this.costs.known.includes(name));
    const choice = html("div", { class: "mg-costs-of", role: "group", "aria-label": "which cost" }, ...known.map(([name, title]) => this.button(name, title)));
    const legend = html("p", { class: "mg-sizes" }, "0", html("i", { class: "mg-scale", "aria-hidden": true }), this.most);
    const head = html("thead", {}, html("tr", {}, ...["node or module", "cost", "share"].map((name) => html("th", { scope: "col" }, name))));
    const body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "costs" }, choice, legend);
    body.append(html("table", { class: "mg-table" }, this.caption, head, this.rows));
    if (!this.costs.known.includes("forward")) body.append(html("p", { class: "mg-quiet mg-note" }, "This recording has no times: record(times=True) takes them."));
    this.element = html("details", { class: "mg-nodelist mg-costlist" }, html("summary", {}, "cost"), body);
    this.element.addEventListener("toggle", () => this.draw());
    graph.onBuild = () => this.draw();
  }

  private button(name: Cost, title: string): HTMLButtonElement {
    const button = html("button", { type: "button", class: "mg-tab", "data-cost": name }, title);
    button.addEventListener("click", () => {
      this.cost = name;
      this.draw();
    });
    this.buttons.set(name, button);
    return button;
  }

  private draw(): void {
    for (const [name, button] of this.buttons) mark(button, "aria-pressed", String(name === this.cost));
    if (!this.element.open) return this.graph.shade(null);
    const groups = this.graph.groups;
    const all = [...groups.members].map(([box, nodes]) => ({ box, nodes, cost: this.costs.of(this.cost, nodes) }));
    const most = all.reduce((largest, { cost }) => Math.max(largest, cost), 0);
    const total = this.costs.of(this.cost, all.flatMap(({ nodes }) => nodes));
    this.graph.shade(new Map(all.map(({ box, cost }) => [box, most > 0 ? cost / most : 0])));
    write(this.most, costText(this.cost, most));
    write(this.caption, `${costText(this.cost, total)} in all${this.cost === "saved" ? "; what several nodes hold stands at each" : ""}`);
    const dear = all.filter(({ cost }) => cost > 0).sort((a, b) => b.cost - a.cost).slice(0, SHOWN);
    this.rows.replaceChildren(
      ...dear.map(({ box, nodes, cost }) => {
        const [title, caption] = labels(groups, box);
        const button = html("button", { type: "button", class: "mg-link" }, title);
        button.addEventListener("click", () => this.pick(nodes[0] ?? 0));
        const name = html("th", { scope: "row" }, button, html("small", { class: "mg-quiet" }, ` ${caption}`));
        return html("tr", {}, name, html("td", {}, costText(this.cost, cost)), html("td", {}, `${Math.round((100 * cost) / total)} %`));
      }),
    );
  }
}
