/** The memory of a program's temporaries: its statements horizontally, bytes vertically. */
import { mark, svg } from "../page/dom";
import { bytes } from "../trace/format";
import { stays } from "./compiled";
import type { Compiled } from "./compiled";

export const HUES = 8;

export class MemoryMap {
  readonly element = svg("svg", { class: "mg-room", role: "img", preserveAspectRatio: "none" });
  private readonly cursor = svg("rect", { class: "mg-room-at", y: 0, width: 1 });
  private rects: SVGElement[] = [];

  constructor(private readonly found: Compiled) {}

  show(step: number): void {
    const pass = this.found.steps[step];
    const [length, size] = [Math.max(1, pass?.statements.length ?? 0), Math.max(1, pass?.bytes ?? 0)];
    this.element.setAttribute("viewBox", `0 0 ${length} ${size}`);
    mark(this.element, "aria-label", `memory of the temporaries, statement by statement: ${bytes(pass?.bytes ?? 0)}`);
    this.rects = stays(this.found, step).map((stay) => {
      const place = stay.place === null ? {} : { "data-hue": stay.place % HUES };
      return svg("rect", { x: stay.first, y: stay.offset, width: stay.last - stay.first + 1, height: stay.bytes, "data-buffer": stay.buffer, ...place });
    });
    this.cursor.setAttribute("height", String(size));
    this.element.replaceChildren(...this.rects, this.cursor);
  }

  /** Marks a statement by its index in the program, and a buffer; null and -1 for none. */
  light(at: number, buffer: string | null): void {
    mark(this.cursor, "x", at);
    mark(this.cursor, "data-off", at < 0 ? "" : null);
    for (const rect of this.rects) mark(rect, "data-look", buffer !== null && rect.getAttribute("data-buffer") === buffer ? "here" : null);
  }
}
