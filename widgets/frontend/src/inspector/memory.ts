/** The memory pane: bytes over time with the playhead; opened, it lists the holders of each storage at this step. */
import { Chart, scaleOf, total } from "../page/chart";
import { KINDS, STACKED, type Trace } from "../trace/types";
import { html, mark, write } from "../page/dom";
import { bytes as amount } from "../trace/format";
import { middle } from "../trace/rows";
import { Holders, Makers, type Held, type Named } from "../trace/holders";

/** So many rows of a kind are shown at first, and so many more at each click: thousands at once would make steps slow. */
const [SHOWN, MORE] = [8, 100];
/** The longest name that is written whole. */
const LONGEST = 44;

export interface MemoryEvents {
  go(step: number): void;
  pick(node: number): void;
}

export class Memory {
  readonly element: HTMLElement;
  readonly #chart: Chart;
  readonly #legend = html("div", { class: "mg-kinds" });
  readonly #button = html("button", { type: "button", class: "mg-heading mg-toggle", "aria-expanded": false }, "bytes held");
  readonly #list = html("div", { class: "mg-holders", tabindex: 0, role: "group", "aria-label": "who holds what" });
  readonly #counts: HTMLElement[];
  readonly #empty: boolean;
  readonly #holders: Holders;
  readonly #makers: Makers;
  /** By kind, and by storage for its holders: how many are shown, where somebody asked for more. */
  readonly #asked = new Map<string | number, number>();
  #latest: [step: number, tall: boolean, last: number] | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly events: MemoryEvents,
  ) {
    this.#holders = new Holders(trace);
    this.#makers = new Makers(trace);
    this.#chart = new Chart(trace, scaleOf([trace]), (step) => events.go(step));
    this.#empty = !this.#chart.all.some((held) => total(held) > 0);
    this.#counts = KINDS.map(() => html("b", {}));
    STACKED.forEach((kind) => {
      const name = KINDS[kind];
      if (!this.#chart.all.some((held) => (held[kind] ?? 0) > 0)) return;
      const key = html("i", { class: `mg-key mg-${name}` });
      this.#legend.append(html("span", { class: "mg-kind" }, key, `${name} `, this.#counts[kind] as HTMLElement));
    });
    this.#list.hidden = true;
    this.#button.addEventListener("click", () => this.#toggle());
    const parts = [this.#button, this.#chart.element, this.#legend, this.#list];
    this.element = html("section", { class: "mg-memory", "aria-label": "bytes held over time" }, ...parts);
  }

  /** Moves the playhead; `null` hides the pane, if time does not follow the events. The slider below it ends at `last`. */
  show(step: number | null, tall: boolean, last: number): void {
    const now = step === null ? undefined : this.#chart.all[step];
    this.element.hidden = !now || this.#empty;
    if (step === null || !now) return;
    this.#latest = [step, tall, last];
    this.#chart.along(last);
    this.#chart.show(step);
    mark(this.element, "data-tall", String(tall || !this.#list.hidden));
    this.#counts.forEach((count, kind) => write(count, amount(now[kind] ?? 0)));
    if (!this.#list.hidden) this.#open(step);
  }

  #toggle(): void {
    this.#list.hidden = !this.#list.hidden;
    mark(this.#button, "aria-expanded", String(!this.#list.hidden));
    if (this.#latest) this.show(...this.#latest);
  }

  #open(step: number): void {
    this.#holders.goTo(step);
    const held = this.#holders.held();
    const tables = STACKED.flatMap((at) => {
      const kind = KINDS[at];
      const parts = held.filter((each) => each.kind === kind && each.bytes > 0);
      return parts.length > 0 ? [this.#kind(kind, parts)] : [];
    });
    const older = html("p", { class: "mg-quiet" }, "This trace does not say who holds what: record it anew.");
    this.#list.replaceChildren(...(tables.length > 0 || this.trace.storages ? tables : [older]));
  }

  /** All of one kind, the largest first. */
  #kind(kind: string, parts: Held[]): HTMLElement {
    const sum = (list: Held[]): number => list.reduce((total, each) => total + each.bytes, 0);
    const rows = parts.sort((a, b) => b.bytes - a.bytes).slice(0, this.#most(kind)).map((each) => this.#row(each));
    const more = parts.slice(this.#most(kind));
    if (more.length > 0) rows.push(html("tr", {}, html("th", { scope: "row" }, this.#more(kind, `${more.length} more`)), html("td", {}), html("td", {}), html("td", {}, amount(sum(more)))));
    const caption = html("caption", {}, html("i", { class: `mg-key mg-${kind}` }), `${kind} ${amount(sum(parts))}`);
    const names = ["what", "made by", "held by", "bytes"].map((name) => html("th", { scope: "col" }, name));
    const head = html("thead", {}, html("tr", {}, ...names));
    return html("table", { class: "mg-table", "data-kind": kind, "data-bytes": sum(parts) }, caption, head, html("tbody", {}, ...rows));
  }

  #row(held: Held): HTMLElement {
    const [maker, what] = [this.#makers.maker(held), this.#makers.what(held)];
    const origin = this.#makers.isTensor(held) ? "the program" : held.kind === "gradients" ? "the pass" : "an op";
    const who = held.holders.slice(0, this.#most(held.storage)).map((each) => html("div", {}, this.#named(this.#makers.holder(each))));
    const rest = held.holders.length - who.length;
    if (rest > 0) who.push(html("div", {}, this.#more(held.storage, `and ${rest} more`)));
    const cells = [html("td", {}, maker ? this.#named(maker) : origin), html("td", {}, ...who), html("td", {}, amount(held.bytes))];
    return html("tr", { "data-storage": held.storage }, html("th", { scope: "row", title: what }, middle(what, LONGEST)), ...cells);
  }

  #most(of: string | number): number {
    return this.#asked.get(of) ?? SHOWN;
  }

  /** A button that shows more rows of a kind, or more holders of a storage. */
  #more(of: string | number, text: string): HTMLElement {
    const button = html("button", { type: "button", class: "mg-link", "data-more": of }, text);
    button.addEventListener("click", () => {
      this.#asked.set(of, this.#most(of) + MORE);
      if (this.#latest) this.#open(this.#latest[0]);
      (this.#list.querySelector<HTMLElement>(`[data-more="${of}"]`) ?? this.#list).focus();
    });
    return button;
  }

  #named({ text, node }: Named): Node | string {
    if (node === null) return text;
    const button = html("button", { type: "button", class: "mg-link", title: text }, middle(text, LONGEST));
    button.addEventListener("click", () => this.events.pick(node));
    return button;
  }
}
