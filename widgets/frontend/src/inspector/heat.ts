/** Heat: edges coloured by the size of their gradients, and the gradients of all leaves in a list. */
import { html, mark } from "../page/dom";
import { broken, number, tensorName, valueOf } from "../trace/format";
import { rootMeanSquare, SIZES, sizeOf } from "../trace/size";
import { unwritten } from "./trays";
import type { Moment } from "./lens";
import type { Maybe, Trace } from "../trace/types";

/** A list of this length is enough to show where gradients vanish. */
const SHOWN = 400;
const [LEAST, MOST] = [-9, 4]; // the exponents at the two ends of a bar

export class Heat {
  readonly element: HTMLDetailsElement;
  private readonly rows = html("tbody", {});
  private readonly leaves: number[];
  private moment: Moment | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly pick: (node: Maybe) => void,
    colour: (on: boolean) => void,
  ) {
    this.leaves = trace.nodes.flatMap((node, id) => (node.variable === undefined ? [] : [id])).slice(0, SHOWN);
    const words = [["zero", "0"], ...SIZES.map(([name, , text]) => [name, text]), ["broken", "nan, inf"]];
    const legend = words.map(([name, text]) => html("span", { class: "mg-size" }, html("i", { "data-heat": name ?? "" }), text ?? ""));
    const caption = html("caption", { class: "mg-quiet" }, "root mean square of each leaf’s gradient");
    const body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "the size of gradients" });
    body.append(html("p", { class: "mg-sizes" }, ...legend), html("table", { class: "mg-table" }, caption, this.rows));
    this.element = html("details", { class: "mg-nodelist mg-heatlist" }, html("summary", {}, "heat"), body);
    this.element.addEventListener("toggle", () => {
      colour(this.element.open);
      this.draw();
    });
  }

  show(moment: Moment): void {
    this.moment = moment;
    this.draw();
  }

  private draw(): void {
    const moment = this.moment;
    if (!moment || !this.element.open) return;
    this.rows.replaceChildren(...this.leaves.map((id) => this.row(id, moment)));
  }

  private row(id: number, moment: Moment): HTMLElement {
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
