/** The `.grad` of a leaf, drawn under its box: it fills as gradients arrive, and then holds their sum. */
import { mark, svg, write } from "../page/dom";
import type { Tray } from "./look";

const [HIGH, LETTER, PAD] = [18, 6.4, 10];
const LEAST = 76;

export class TrayParts {
  readonly element: SVGGElement;
  private readonly frame = svg("rect", { class: "mg-tray", y: 0, height: HIGH, rx: 4 });
  private readonly level = svg("rect", { class: "mg-tray-level", y: 0, height: HIGH, rx: 4 });
  private readonly text = svg("text", { class: "mg-tray-text", y: 13, x: 0, "text-anchor": "middle" });
  private readonly title = svg("title", {});

  /** `y`: its upper edge, relative to the middle of its box. */
  constructor(y: number) {
    this.element = svg("g", { class: "mg-grad", transform: `translate(0, ${y})` }, this.title, this.frame, this.level, this.text);
  }

  paint(tray: Tray): void {
    const width = Math.max(LEAST, tray.text.length * LETTER + 2 * PAD);
    mark(this.element, "data-grad", tray.state);
    mark(this.element, "data-broken", tray.broken || null);
    for (const part of [this.frame, this.level]) mark(part, "x", -width / 2);
    mark(this.frame, "width", width);
    mark(this.level, "width", Number((width * tray.level).toFixed(1)));
    write(this.text, tray.text);
    write(this.title, tray.told);
  }
}
