/** The numbers of the leaves, to be typed or dragged: everything that follows from them is recomputed in the browser. */
import { html, mark, write } from "../page/dom";
import type { Live } from "../live/live";
import { inline, place, shape, tensorName } from "../trace/format";
import type { Trace, Maybe } from "../trace/types";
import { reached, type Reached } from "../live/follow";
import type { Moment } from "./lens";
import { entryText, indexOf } from "./entry";

/** A leaf with more entries shows one of them, which the user can choose. */
const FEW = 12;
const LEAVES = 40;
const SENTENCES = 3;

/** The index of an entry in row-major order, as Python writes it. */
const entryPlace = (sizes: readonly number[], at: number): string => (sizes.length === 0 ? "" : `[${indexOf(sizes, at).join(", ")}]`);

/** The name of a tensor; without one, the op and the line that created it. */
function nameOrLine(trace: Trace, tensor: number): string {
  const made = trace.tensors[tensor]?.name ? undefined : trace.events.find((event) => event.kind === "forward" && event.outputs.includes(tensor));
  if (made?.kind !== "forward") return tensorName(trace, tensor);
  return `the result of ${made.op} in ${place(trace, made.file, made.line)}`;
}

const written = (x: number): string => String(Number(x.toPrecision(6)));

export class Numbers {
  /** The list of leaves, over the drawing. */
  readonly element: HTMLDetailsElement;
  /** What was changed, and what could not be recomputed. */
  readonly bar = html("div", { class: "mg-livebar", role: "status" });
  readonly #said = html("span", { class: "mg-livesaid" });
  readonly #notes = html("span", { class: "mg-livenotes" });
  readonly #changes = new Map<number, number[]>();
  /** By leaf, the entry shown if there are many. */
  readonly #chosen = new Map<number, number>();
  readonly #fields: [leaf: number, at: () => number, field: HTMLInputElement][] = [];
  #waiting = false;

  constructor(
    private readonly live: Live,
    private readonly changed: () => void,
    open: boolean,
  ) {
    const rows = live.leaves.slice(0, LEAVES).map((leaf) => this.#row(leaf));
    const hint = html("p", { class: "mg-quiet" }, "Type a number, or drag its name sideways: every value and gradient follows.");
    const body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "numbers to change" }, hint, ...this.#limits(), ...rows);
    this.element = html("details", { class: "mg-nodelist mg-numbers" }, html("summary", {}, "numbers"), body);
    this.element.open = open;
    const reset = html("button", { type: "button", class: "mg-reset", title: "put all numbers back" }, "reset");
    reset.addEventListener("click", () => this.reset());
    this.bar.append(this.#said, this.#notes, reset);
    this.bar.hidden = true;
  }

  /** Before any change: what will keep its recorded numbers. */
  #limits(): HTMLElement[] {
    const found = this.live.limits.slice(0, SENTENCES).map(({ what, why }) => html("li", {}, `${what}: ${why}`));
    if (found.length === 0) return [];
    const more = this.live.limits.length - found.length;
    if (more > 0) found.push(html("li", {}, `and ${more} more`));
    return [html("div", { class: "mg-limits" }, "These keep their recorded numbers, and so does what follows from them:", html("ul", {}, ...found))];
  }

  #row(leaf: number): HTMLElement {
    const record = this.live.trace.tensors[leaf];
    const sizes = record?.shape ?? [];
    const name = tensorName(this.live.trace, leaf);
    const count = this.live.numbers(leaf).length;
    const title = html("div", { class: "mg-leafname" }, html("code", {}, name), html("span", { class: "mg-quiet" }, ` ${shape(sizes)}`));
    if (count > FEW) return html("div", { class: "mg-leaf" }, title, this.#follow(leaf, name, sizes, count));
    const cells = Array.from({ length: count }, (_, at) => this.#entry(leaf, `${name}${entryPlace(sizes, at)}`, () => at));
    const grid = html("div", { class: "mg-entries" }, ...cells);
    if (sizes.length > 1) grid.style.gridTemplateColumns = `repeat(${sizes.at(-1) ?? 1}, max-content)`;
    return html("div", { class: "mg-leaf" }, title, grid);
  }

  /** One entry of many, with a field that chooses it. */
  #follow(leaf: number, name: string, sizes: readonly number[], count: number): HTMLElement {
    const at = (): number => this.#chosen.get(leaf) ?? 0;
    const label = (): string => `${name}${entryPlace(sizes, at())}`;
    const which = html("input", { type: "number", class: "mg-entry", min: 0, max: count - 1, step: 1, value: 0, "aria-label": `which entry of ${name}, counted row by row` });
    const cell = this.#entry(leaf, label(), at);
    which.addEventListener("input", () => {
      this.#chosen.set(leaf, Math.max(0, Math.min(count - 1, Math.trunc(Number(which.value)) || 0)));
      write(cell.firstElementChild as Element, label());
      mark(cell.lastElementChild as Element, "aria-label", label());
      this.#refill();
    });
    return html("div", { class: "mg-entries" }, html("label", { class: "mg-quiet" }, "entry ", which), cell);
  }

  #entry(leaf: number, name: string, at: () => number): HTMLElement {
    const field = html("input", { type: "number", class: "mg-entry", step: 0.1, value: written(this.#numbersOf(leaf)[at()] as number), "aria-label": name });
    const handle = html("span", { class: "mg-handle", title: "drag sideways" }, name);
    field.addEventListener("input", () => {
      if (field.value.trim() !== "" && Number.isFinite(Number(field.value))) this.#set(leaf, at(), Number(field.value));
    });
    field.addEventListener("change", () => this.#refill());
    handle.addEventListener("pointerdown", (event) => this.drag(event, handle, leaf, at()));
    this.#fields.push([leaf, at, field]);
    return html("div", { class: "mg-number" }, handle, field);
  }

  /** Whether the numbers of a tensor can be changed. */
  has(tensor: number): boolean {
    return this.live.leaves.includes(tensor);
  }

  /** Changes a number by tenths. */
  nudge(leaf: number, at: number, tenths: number): void {
    this.#set(leaf, at, Number(((this.#numbersOf(leaf)[at] as number) + tenths / 10).toPrecision(6)));
    this.#refill();
  }

  /** Changes a number as its handle is dragged sideways. */
  drag(start: PointerEvent, handle: HTMLElement | SVGElement, leaf: number, at: number): void {
    if (start.button !== 0) return;
    start.preventDefault();
    handle.setPointerCapture(start.pointerId);
    const from = this.#numbersOf(leaf)[at] as number;
    const step = Math.max(0.01, 10 ** Math.floor(Math.log10(Math.max(Math.abs(from), 1e-3)) - 1) / 2);
    const move = (event: Event): void => {
      this.#set(leaf, at, Number((from + Math.round((event as PointerEvent).clientX - start.clientX) * step).toPrecision(6)));
      this.#refill();
    };
    const stop = (): void => {
      for (const name of ["pointerup", "pointercancel"]) handle.removeEventListener(name, stop);
      handle.removeEventListener("pointermove", move);
    };
    handle.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) handle.addEventListener(name, stop);
  }

  #numbersOf(leaf: number): number[] {
    return this.#changes.get(leaf) ?? this.live.numbers(leaf);
  }

  #set(leaf: number, at: number, to: number): void {
    const numbers = this.#numbersOf(leaf).map((each, i) => (i === at ? to : each));
    const recorded = this.live.numbers(leaf);
    if (numbers.every((each, i) => Object.is(each, recorded[i]))) this.#changes.delete(leaf);
    else this.#changes.set(leaf, numbers);
    this.#soon();
  }

  reset(): void {
    this.#changes.clear();
    this.#refill();
    this.#soon();
  }

  #refill(): void {
    for (const [leaf, at, field] of this.#fields) {
      const text = written(this.#numbersOf(leaf)[at()] as number);
      if (Number(field.value) !== Number(text)) field.value = text;
    }
  }

  /** Computes before the next frame, however many changes have arrived by then. */
  #soon(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    requestAnimationFrame(() => {
      this.#waiting = false;
      this.live.run(new Map(this.#changes));
      this.#say();
      this.changed();
    });
  }

  #say(): void {
    this.bar.hidden = !this.live.changed;
    const told = [...this.#changes.keys()].flatMap((leaf) => this.#told(leaf));
    const more = told.length > SENTENCES ? ` and ${told.length - SENTENCES} more` : "";
    write(this.#said, this.live.changed ? `Changed: ${told.slice(0, SENTENCES).join("; ")}${more}.` : "");
    const kept = this.live.kept.slice(0, 2).map(({ what, why }) => `${what} keeps its recorded numbers: ${why}.`);
    const names = this.live.read.map((tensor) => nameOrLine(this.live.trace, tensor));
    const read = names.length > 0 ? [`The program has read ${names.slice(0, 2).join(" and ")}, by “if”, item() or numpy(): what it did then stays as recorded.`] : [];
    write(this.#notes, [...kept, ...read].join(" "));
  }

  /** Each changed entry, with its recorded value. */
  #told(leaf: number): string[] {
    const { trace } = this.live;
    const [record, before] = [trace.tensors[leaf], this.live.numbers(leaf)];
    const name = tensorName(trace, leaf);
    const now = this.#changes.get(leaf) ?? before;
    const others = now.flatMap((each, at) => (Object.is(each, before[at]) ? [] : [at]));
    if (others.length > 2) return [`${name} = ${inline(trace.values[record?.value ?? -1], 40)}`];
    return others.map((at) => `${name}${entryPlace(record?.shape ?? [], at)} = ${written(now[at] as number)} (it was ${written(before[at] as number)})`);
  }
}

// ---- "Follow": one number of a leaf, and the value and the gradient at its position in each tensor that it reaches.
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
  readonly #rows = html("tbody", {});
  readonly #places = html("span", { class: "mg-places" });
  readonly #caption = html("caption", { class: "mg-quiet" });
  readonly #trace: Trace;
  #leaf: number;
  #at = 0;
  #found = new Map<number, Reached>();
  #moment: Moment | null = null;

  constructor(
    private readonly live: Live,
    private readonly arrived: (node: number, output_nr: number, moment: Moment) => Maybe,
    private readonly pick: (node: Maybe) => void,
    /** Called with the nodes that the number reaches whenever another one is followed; `show` follows. */
    private readonly reach: (nodes: readonly number[]) => void,
  ) {
    this.#trace = live.trace;
    this.#leaf = live.leaves.find((id) => this.#trace.tensors[id]?.requires_grad) ?? (live.leaves[0] as number);
    const choice = html("select", { "aria-label": "the tensor whose number is followed" });
    for (const id of live.leaves) choice.append(html("option", { value: id }, tensorName(this.#trace, id)));
    choice.value = String(this.#leaf);
    choice.addEventListener("change", () => {
      [this.#leaf, this.#at] = [Number(choice.value), 0];
      this.#ask();
      this.changed();
    });
    const head = html("thead", {}, html("tr", {}, ...["tensor", "entry", "value", "gradient"].map((name) => html("th", { scope: "col" }, name))));
    const body = html("div", { class: "mg-nodelist-body", tabindex: 0, role: "group", "aria-label": "one number, followed" });
    body.append(html("p", { class: "mg-followed" }, choice, this.#places), html("table", { class: "mg-table" }, this.#caption, head, this.#rows), ...this.#without());
    this.element = html("details", { class: "mg-nodelist mg-follow" }, html("summary", {}, "follow"), body);
    this.element.addEventListener("toggle", () => this.changed());
    this.#ask();
  }

  /** The leaves whose numbers are not in the recording. */
  #without(): HTMLElement[] {
    const leaves = this.#trace.nodes.flatMap((node) => (node.variable === undefined || this.live.leaves.includes(node.variable) ? [] : [node.variable]));
    if (leaves.length === 0) return [];
    const names = leaves.slice(0, 3).map((id) => `${tensorName(this.#trace, id)} ${(this.#trace.tensors[id]?.shape ?? []).join("×")}`);
    const more = leaves.length > 3 ? ` and ${leaves.length - 3} more` : "";
    return [html("p", { class: "mg-quiet mg-note" }, `${names.join(", ")}${more} cannot be followed: a recording has the numbers of tensors with up to 10,000 entries, 40,000 in all, and those of a long program are not computed again.`)];
  }

  /** One field for each dimension of the leaf. */
  #ask(): void {
    const sizes = this.#trace.tensors[this.#leaf]?.shape ?? [];
    const name = tensorName(this.#trace, this.#leaf);
    const fields = sizes.map((size, dim) => html("input", { type: "number", class: "mg-entry", min: 0, max: size - 1, step: 1, value: 0, "aria-label": `index of ${name} along dimension ${dim}` }));
    const read = (): void => {
      this.#at = fields.reduce((at, field, dim) => at * (sizes[dim] as number) + Math.max(0, Math.min((sizes[dim] as number) - 1, Math.trunc(Number(field.value)) || 0)), 0);
      this.changed();
    };
    for (const field of fields) field.addEventListener("input", read);
    this.#places.replaceChildren(...fields);
  }

  /** The entry of a tensor that corresponds to the number; undefined if it does not reach the tensor, or none is followed. */
  readonly entry = (tensor: number): Followed | undefined => {
    const found = this.element.open ? this.#found.get(tensor) : undefined;
    const sizes = this.#trace.tensors[tensor]?.shape ?? [];
    return found && { at: found.at, count: found.count, place: entryPlace(sizes, found.at) };
  };

  /** The numbers of the tensors may have changed, or another number is followed. */
  changed(): void {
    const all = this.element.open ? reached(this.live, this.#leaf, this.#at) : [];
    this.#found = new Map(all.map((each) => [each.tensor, each]));
    this.reach(all.flatMap(({ tensor }) => this.#nodeOf(tensor) ?? []));
  }

  show(moment: Moment): void {
    this.#moment = moment;
    this.#draw();
  }

  #nodeOf(tensor: number): Maybe {
    const leaf = this.#trace.nodes.findIndex((node) => node.variable === tensor);
    return this.#trace.tensors[tensor]?.node ?? (leaf < 0 ? null : leaf);
  }

  #draw(): void {
    const moment = this.#moment;
    if (!moment || !this.element.open) return;
    const all = [...this.#found.values()];
    const own = this.entry(this.#leaf);
    write(this.#caption, `${tensorName(this.#trace, this.#leaf)}${own?.place ?? ""} reaches ${all.length === 2 ? "one tensor" : `${all.length - 1} tensors`}; of each the first entry that it reaches`);
    this.#rows.replaceChildren(...all.slice(0, SHOWN).map((each) => this.#row(each, moment)));
  }

  #row({ tensor, count, at }: Reached, moment: Moment): HTMLElement {
    const record = this.#trace.tensors[tensor];
    const node = this.#nodeOf(tensor);
    const made = this.#trace.nodes[node ?? -1]?.name.replace(/Backward\d+$/, "") ?? "";
    const name = record?.name ?? (node === null ? tensorName(this.#trace, tensor) : made);
    const button = html("button", { type: "button", class: "mg-link" }, name);
    button.addEventListener("click", () => this.pick(node));
    const place = this.entry(tensor)?.place ?? "";
    const more = count > 1 ? html("small", { class: "mg-quiet" }, ` of ${count}`) : "";
    const [value, gradient] = [moment.value(tensor), this.#gradient(tensor, moment)].map((id) => text(this.live.slots.array(id)?.data[at]));
    const row = html("tr", {}, html("th", { scope: "row" }, node === null ? name : button), html("td", {}, place, more), html("td", {}, value ?? ""), html("td", {}, gradient ?? ""));
    mark(row, "data-tensor", tensor);
    return row;
  }

  /** What has come back for a tensor: for a leaf, its `.grad`. */
  #gradient(tensor: number, moment: Moment): Maybe {
    const record = this.#trace.tensors[tensor];
    if (moment.asking || !record) return null;
    if (record.node === null) return moment.grad(tensor) ?? null;
    return this.arrived(record.node, record.output_nr, moment);
  }
}
