/** The value, `.grad` and version of each leaf over time. The data comes from moments.py. */
import { html, mark, write } from "../page/dom";
import type { Link } from "../page/link";
import { Stepped } from "./stepped";

type New = "value" | "grad" | "cleared";

interface Row {
  tensor: number;
  name: string;
  shape: string;
  parameter: boolean;
  value: string;
  grad: string;
  version: number;
}

interface Change {
  row: number;
  value: string;
  grad: string;
  version: number;
  new: New[];
}

interface Moment {
  start: number;
  end: number;
  place: string;
  source: string;
  changes: Change[];
}

export interface Ledger {
  rows: Row[];
  moments: Moment[];
}

const MARKS: Record<New, string> = { grad: "●", cleared: "○", value: "▲" };
const WORDS: Record<New, string> = { grad: ".grad written", cleared: ".grad cleared", value: "changed in place" };
const SAYS: Record<New, string> = { grad: "writes the .grad of", cleared: "takes off the .grad of", value: "changes" };
const KINDS: New[] = ["grad", "cleared", "value"];

/** The marks: a row for each tensor, a column for each moment. A column is a button that leads there. */
class Roll {
  readonly element: HTMLElement;
  readonly #columns: HTMLButtonElement[];

  constructor(found: Ledger, go: (moment: number) => void) {
    this.#columns = found.moments.map((moment, at) => {
      const marks = found.rows.map((_, row) => this.#cell(moment.changes.find((change) => change.row === row)));
      const label = `${moment.place}: ${moment.source}`;
      const column = html("button", { type: "button", class: "mg-moment", tabindex: -1, title: label, "aria-label": label }, ...marks);
      column.addEventListener("click", () => go(at));
      return column;
    });
    const names = html("div", { class: "mg-roll-names", "aria-hidden": true }, ...found.rows.map((row) => html("b", {}, row.name)));
    const label = "what changed, one place for each moment";
    const strip = html("div", { class: "mg-roll-strip", role: "group", tabindex: 0, "aria-label": label }, ...this.#columns);
    const kinds = KINDS.map((kind) => html("span", { class: "mg-kind" }, this.#sign(kind), ` ${WORDS[kind]}`));
    const legend = html("div", { class: "mg-kinds", "aria-hidden": true }, ...kinds);
    this.element = html("div", { class: "mg-roll" }, names, strip, legend);
  }

  /** Marks the current moment, and keeps it in view; -1 is before the first one. */
  show(now: number): void {
    this.#columns.forEach((column, at) => {
      mark(column, "aria-current", at === now ? "step" : null);
      mark(column, "data-over", at <= now ? "true" : null);
    });
    const column = this.#columns[now];
    const strip = column?.parentElement;
    if (!column || !strip) return;
    const [left, right] = [column.offsetLeft - strip.offsetLeft, column.offsetLeft - strip.offsetLeft + column.offsetWidth];
    if (left < strip.scrollLeft || right > strip.scrollLeft + strip.clientWidth) strip.scrollLeft = left - strip.clientWidth / 2;
  }

  #cell(change: Change | undefined): HTMLElement {
    return html("span", { class: "mg-marks" }, ...(change?.new ?? []).map((kind) => this.#sign(kind)));
  }

  #sign(kind: New): HTMLElement {
    return html("i", { class: "mg-sign", "data-new": kind }, MARKS[kind]);
  }
}

/** The state of each tensor at a moment. */
class Table {
  readonly element: HTMLElement;
  readonly #cells: Record<"value" | "grad" | "version", HTMLElement>[];

  constructor(private readonly found: Ledger) {
    const head = html("tr", {}, ...["tensor", "value", ".grad", "version"].map((name) => html("th", { scope: "col" }, name)));
    this.#cells = found.rows.map(() => ({ value: html("td"), grad: html("td"), version: html("td") }));
    const rows = found.rows.map((row, at) => {
      const name = html("th", { scope: "row" }, html("b", {}, row.name), html("span", { class: "mg-quiet" }, ` ${row.shape}`));
      const cells = this.#cells[at];
      return html("tr", { "data-tensor": row.tensor }, name, ...(cells ? [cells.value, cells.grad, cells.version] : []));
    });
    const table = html("table", { class: "mg-table" }, html("thead", {}, head), html("tbody", {}, ...rows));
    const label = { class: "mg-scroll mg-ledger-table", tabindex: 0, role: "group", "aria-label": "values, gradients, versions" };
    this.element = html("div", label, table);
  }

  show(now: number): void {
    this.found.rows.forEach((row, at) => {
      const changes = this.found.moments.slice(0, now + 1).flatMap((moment) => moment.changes.filter((change) => change.row === at));
      const last = changes.at(-1) ?? row;
      const fresh = this.found.moments[now]?.changes.find((change) => change.row === at)?.new ?? [];
      const cells = this.#cells[at];
      if (!cells) return;
      const written = fresh.includes("value");
      this.#cell(cells.value, last.value, written ? "value" : null);
      this.#cell(cells.version, String(last.version), written ? "value" : null);
      this.#cell(cells.grad, last.grad, fresh.includes("grad") ? "grad" : fresh.includes("cleared") ? "cleared" : null);
    });
  }

  #cell(cell: HTMLElement, text: string, fresh: New | null): void {
    write(cell, text);
    mark(cell, "data-new", fresh);
  }
}

export function ledgerView(found: Ledger, link: Link): Stepped {
  const roll = new Roll(found, (moment) => view.visit(found.moments[moment]?.end ?? 0));
  const table = new Table(found);
  const body = html("div", { class: "mg-ledger" }, roll.element, table.element);
  const first = { step: 0, text: found.rows.length > 0 ? "before the first change" : "no leaf was recorded" };
  const stops = found.moments.map((moment, at) => {
    const says = KINDS.map((kind) => {
      const names = moment.changes.filter((change) => change.new.includes(kind)).map((change) => found.rows[change.row]?.name);
      return names.length > 0 ? `${SAYS[kind]} ${names.join(", ")}` : "";
    });
    return { step: moment.end, text: `${at + 1}. ${moment.source || moment.place} ${says.filter(Boolean).join("; ")}` };
  });
  const draw = (step: number): void => {
    const after = found.moments.findIndex((moment) => moment.end > step);
    const now = (after < 0 ? found.moments.length : after) - 1;
    roll.show(now);
    table.show(now);
  };
  const view = new Stepped("parameter ledger", [first, ...stops], link, body, draw);
  return view;
}
