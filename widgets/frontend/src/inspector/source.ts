/** The source pane: the program's lines, the current one lit. In the traversal lens: the same calls in Python. */
import { html, write } from "../page/dom";
import type { Called } from "./called";
import type { Maybe, Trace } from "../trace/types";

export class SourcePane {
  readonly element: HTMLElement;
  private readonly heading = html("h3", { class: "mg-heading" });
  private readonly body = html("div", { class: "mg-code", tabindex: 0, role: "group" });
  private readonly pages = new Map<number, HTMLElement[]>();
  private readonly observer: ResizeObserver | null = null;
  private file: Maybe = null;
  private lit: HTMLElement | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly called: Called,
  ) {
    this.element = html("section", { class: "mg-source", "aria-label": "source" }, this.heading, this.body);
    called.listen(this.body);
    // A pane has no height and cannot be scrolled before it is in a page.
    if (typeof ResizeObserver !== "undefined") {
      this.observer = new ResizeObserver(() => this.lit && this.scrollTo(this.lit));
      this.observer.observe(this.body);
    }
    this.show(trace.events.find((event) => event.file !== undefined)?.file ?? 0, null);
  }

  dispose(): void {
    this.observer?.disconnect();
  }

  /** Lights a line; for an event without one, the last one stays in view, unlit. */
  show(file: Maybe, line: Maybe): void {
    if (file !== null && file !== this.file && this.trace.files[file]) this.open(file);
    const rows = this.pages.get(this.file ?? -1) ?? [];
    const row = file === null || line === null ? null : (rows[line - 1] ?? null);
    if (row === this.lit) return;
    this.lit?.classList.remove("mg-current");
    this.lit?.removeAttribute("aria-current");
    this.lit = row;
    if (!row) return;
    row.classList.add("mg-current");
    row.setAttribute("aria-current", "step");
    this.scrollTo(row);
  }

  /** Shows lines of Python that correspond to the student's clicks. */
  write(heading: string, lines: readonly string[]): void {
    write(this.heading, heading);
    this.file = null;
    this.lit = null;
    const rows = lines.map((line, at) => this.row(at, line));
    this.body.replaceChildren(...rows);
    const last = rows.at(-1);
    if (last) this.scrollTo(last);
  }

  private open(file: number): void {
    const source = this.trace.files[file];
    if (!source) return;
    const rows = this.pages.get(file) ?? source.lines.map((line, at) => this.row(at, ...this.called.pieces(file, at + 1, line)));
    this.pages.set(file, rows);
    this.file = file;
    this.lit?.classList.remove("mg-current");
    this.lit = null;
    write(this.heading, source.name);
    this.body.replaceChildren(...rows);
    this.called.enter(this.body);
  }

  private row(at: number, ...line: (Node | string)[]): HTMLElement {
    const number = html("span", { class: "mg-number", "aria-hidden": true }, String(at + 1));
    return html("div", { class: "mg-line" }, number, html("code", {}, ...line, line.join("") === "" ? " " : ""));
  }

  /** Scrolls the pane, not the page: scrollIntoView would move the notebook under the student's hands. */
  private scrollTo(row: HTMLElement): void {
    const above = row.offsetTop < this.body.scrollTop;
    const below = row.offsetTop + row.offsetHeight > this.body.scrollTop + this.body.clientHeight;
    if (above || below) this.body.scrollTop = row.offsetTop - this.body.clientHeight / 2;
  }
}
