/** One choice of what the boxes are coloured by, and a legend. */
import { html } from "../page/dom";
import { SIZES, sizeClass } from "../trace/format";
import { COLOURS, gradientSize, isTime, measureText, Rows, sizeIn, VARIES, type Measure, type Row } from "../trace/rows";
import { timeTells } from "./overview";
import type { GraphPane } from "../graph/graph";
import type { Trace } from "../trace/types";

/** What gradients are coloured by, and the length of their bars: a large tensor has a large norm even of small entries. */
export const PER_ENTRY = "gradient per entry";
const NO_TIMES = "time: not recorded, record(times=True) takes it";

/** How much of its colour a box has. Times have few shades, since one run cannot tell times apart that are within a factor of 2. */
const shaded = (measure: Measure, share: number): number => (isTime(measure) && share > 0 ? VARIES ** Math.ceil(Math.log2(share) / Math.log2(VARIES)) : share);

/** The choice of a measure: boxes are shaded by it, for gradients edges too; a legend says what the colours mean. */
export class Colour {
  readonly element = html("label", { class: "mg-colour" }, "colour ");
  readonly legend = html("div", { class: "mg-scales", "aria-live": "polite" });
  readonly #choice = html("select", {});
  readonly #rows: Rows;
  /** The measure with which a map begins. */
  readonly usual: Measure | null;
  /** Called after another choice. */
  onChoice: (measure: Measure | null) => void = () => undefined;

  constructor(
    trace: Trace,
    private readonly graph: GraphPane,
  ) {
    this.#rows = new Rows(trace);
    const known = this.#rows.known;
    const options = COLOURS.filter(([name]) => known.includes(name)).map(([name, , told]) => html("option", { value: name }, name === "gradient" ? PER_ENTRY : told));
    if (known.length > 0 && !known.includes("forward")) options.push(html("option", { value: "", disabled: true }, NO_TIMES));
    this.#choice.append(html("option", { value: "" }, "none"), ...options);
    this.element.append(this.#choice);
    this.element.hidden = known.length === 0;
    const first = known[0] === "time" && known.includes("flops") && !timeTells(trace) ? "flops" : known[0];
    this.usual = ((trace.folded?.length ?? 0) > 0 && first) || null;
    this.#choice.value = this.usual ?? "";
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
    graph.shade(measure === null || byGradient ? null : new Map(all.map(([box, row]) => [box, most > 0 ? shaded(measure, (sizeIn(row, measure) ?? 0) / most) : 0])), measure);
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
    const largest: Row = { output: null, parameters: most, forward: most, backward: measure === "time" ? null : most, saved: most, flops: most, gradient: null };
    const scale = html("i", { class: "mg-scale", "data-steps": isTime(measure), "aria-hidden": true });
    const name = html("span", {}, COLOURS.find(([name]) => name === measure)?.[2] ?? "", isTime(measure) ? `, each shade ${VARIES}×` : measure === "saved" ? " (what two boxes share counts in both)" : "");
    this.legend.replaceChildren(name, html("span", { class: "mg-together" }, "0 ", scale, ` ${measureText(largest, measure) || "0"}`));
  }
}
