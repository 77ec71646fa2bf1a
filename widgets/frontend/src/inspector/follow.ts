/** "Follow": one number of a leaf, and the value and the gradient at its position in each tensor that it reaches. */
import { html, mark, write } from "../page/dom";
import { reached } from "../live/follow";
import type { Reached } from "../live/follow";
import type { Live } from "../live/live";
import { tensorName } from "../trace/format";
import type { Moment } from "./lens";
import { entryText, indexOf } from "./entry";
import type { Maybe, Trace } from "../trace/types";

/** An entry of a tensor: its index as Python writes it, and the numbers there. */
export interface Followed {
  at: number;
  place: string;
  count: number;
}

const SHOWN = 200;

const text = (x: number | undefined): string => (x === undefined ? "–" : entryText(x));

export class Follow {
  readonly element: HTMLDetailsElement;
  private readonly rows = html("tbody", {});
  private readonly places = html("span", { class: "mg-places" });
  private readonly caption = html("caption", { class: "mg-quiet" });
  private readonly trace: Trace;
  private leaf: number;
  private at = 0;
  private found = new Map<number, Reached>();
  private moment: Moment | null = null;

  constructor(
    private readonly live: Live,
    private readonly arrived: (node: number, output_nr: number, moment: Moment) => Maybe,
    private readonly pick: (node: Maybe) => void,
    /** Called with the nodes that the number reaches whenever another one is followed; `show` follows. */
    private readonly reach: (nodes: readonly number[]) => void,
  ) {
    this.trace = live.trace;
    this.leaf = live.leaves.find((id) => this.trace.tensors[id]?.requires_grad) ?? (live.leaves[0] as number);
    const choice = html("select", { "aria-label": "the tensor whose number is followed" });
    for (const id of live.leaves) choice.append(html("option", { value: id }, tensorName(this.trace, id)));
    choice.value = String(this.leaf);
    choice.addEventListener("change", () => {
      [this.leaf, this.at] = [Number(choice.value), 0];
      this.ask();
      this.changed();
    });
    const head = html("thead", {}, html("tr", {}, ...["tensor", "entry", "value", "gradient"].map((name) => html("th", { scope: "col" }, name))));
    const body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "one number, followed" });
    body.append(html("p", { class: "mg-followed" }, choice, this.places), html("table", { class: "mg-table" }, this.caption, head, this.rows), ...this.without());
    this.element = html("details", { class: "mg-nodelist mg-follow" }, html("summary", {}, "follow"), body);
    this.element.addEventListener("toggle", () => this.changed());
    this.ask();
  }

  /** The leaves whose numbers are not in the recording. */
  private without(): HTMLElement[] {
    const leaves = this.trace.nodes.flatMap((node) => (node.variable === undefined || this.live.leaves.includes(node.variable) ? [] : [node.variable]));
    if (leaves.length === 0) return [];
    const names = leaves.slice(0, 3).map((id) => `${tensorName(this.trace, id)} ${(this.trace.tensors[id]?.shape ?? []).join("×")}`);
    const more = leaves.length > 3 ? ` and ${leaves.length - 3} more` : "";
    return [html("p", { class: "mg-quiet mg-note" }, `${names.join(", ")}${more} cannot be followed: a recording has the numbers of tensors with up to 10,000 entries, 40,000 in all, and those of a long program are not computed again.`)];
  }

  /** One field for each dimension of the leaf. */
  private ask(): void {
    const sizes = this.trace.tensors[this.leaf]?.shape ?? [];
    const name = tensorName(this.trace, this.leaf);
    const fields = sizes.map((size, dim) => html("input", { type: "number", class: "mg-entry", min: 0, max: size - 1, step: 1, value: 0, "aria-label": `index of ${name} along dimension ${dim}` }));
    const read = (): void => {
      this.at = fields.reduce((at, field, dim) => at * (sizes[dim] as number) + Math.max(0, Math.min((sizes[dim] as number) - 1, Math.trunc(Number(field.value)) || 0)), 0);
      this.changed();
    };
    for (const field of fields) field.addEventListener("input", read);
    this.places.replaceChildren(...fields);
  }

  /** The entry of a tensor that corresponds to the number; undefined if it does not reach the tensor, or none is followed. */
  readonly entry = (tensor: number): Followed | undefined => {
    const found = this.element.open ? this.found.get(tensor) : undefined;
    const sizes = this.trace.tensors[tensor]?.shape ?? [];
    return found && { at: found.at, count: found.count, place: sizes.length > 0 ? `[${indexOf(sizes, found.at).join(", ")}]` : "" };
  };

  /** The numbers of the tensors may have changed, or another number is followed. */
  changed(): void {
    const all = this.element.open ? reached(this.live, this.leaf, this.at) : [];
    this.found = new Map(all.map((each) => [each.tensor, each]));
    this.reach(all.flatMap(({ tensor }) => this.nodeOf(tensor) ?? []));
  }

  show(moment: Moment): void {
    this.moment = moment;
    this.draw();
  }

  private nodeOf(tensor: number): Maybe {
    const leaf = this.trace.nodes.findIndex((node) => node.variable === tensor);
    return this.trace.tensors[tensor]?.node ?? (leaf < 0 ? null : leaf);
  }

  private draw(): void {
    const moment = this.moment;
    if (!moment || !this.element.open) return;
    const all = [...this.found.values()];
    const own = this.entry(this.leaf);
    write(this.caption, `${tensorName(this.trace, this.leaf)}${own?.place ?? ""} reaches ${all.length === 2 ? "one tensor" : `${all.length - 1} tensors`}; of each the first entry that it reaches`);
    this.rows.replaceChildren(...all.slice(0, SHOWN).map((each) => this.row(each, moment)));
  }

  private row({ tensor, count, at }: Reached, moment: Moment): HTMLElement {
    const record = this.trace.tensors[tensor];
    const node = this.nodeOf(tensor);
    const made = this.trace.nodes[node ?? -1]?.name.replace(/Backward\d+$/, "") ?? "";
    const name = record?.name ?? (node === null ? tensorName(this.trace, tensor) : made);
    const button = html("button", { type: "button", class: "mg-link" }, name);
    button.addEventListener("click", () => this.pick(node));
    const place = this.entry(tensor)?.place ?? "";
    const more = count > 1 ? html("small", { class: "mg-quiet" }, ` of ${count}`) : "";
    const [value, gradient] = [moment.value(tensor), this.gradient(tensor, moment)].map((id) => text(this.live.slots.array(id)?.data[at]));
    const row = html("tr", {}, html("th", { scope: "row" }, node === null ? name : button), html("td", {}, place, more), html("td", {}, value ?? ""), html("td", {}, gradient ?? ""));
    mark(row, "data-tensor", tensor);
    return row;
  }

  /** What has come back for a tensor: for a leaf, its `.grad`. */
  private gradient(tensor: number, moment: Moment): Maybe {
    const record = this.trace.tensors[tensor];
    if (moment.asking || !record) return null;
    if (record.node === null) return moment.grad(tensor) ?? null;
    return this.arrived(record.node, record.output_nr, moment);
  }
}
