/**
 * An overview of a large graph in a corner, with a frame around what is in view. A click or a drag moves there. It is
 * at the right, or at the left while the lit node is in the right corner.
 */
import { mark, svg } from "../page/dom";
import { HEIGHT } from "../layout/geometry";
import type { Box, Point, Region } from "../layout/geometry";

const WIDE = 150;
const HIGH = 110;
const LEAST = 4;
const [BESIDE, BELOW] = [16, 50]; // the margins beside the map and below it, in pixels
const FEW = 40; // so few boxes need no map: it would cover them

export class Minimap {
  readonly element = svg("svg", { class: "mg-map", "aria-hidden": true, width: WIDE, height: HIGH });
  private readonly boxes = svg("path", { class: "mg-map-boxes" });
  private readonly view = svg("rect", { class: "mg-map-view" });
  private readonly lit = svg("circle", { class: "mg-map-lit", r: 3 });
  private count = 0;
  private scale = 1;
  private size: Point = [1, 1];
  private shift: Point = [0, 0];
  private seen: Region | null = null;
  private seenScale = 1;
  private box: Box | undefined;

  constructor(private readonly go: (to: Point) => void) {
    this.element.append(this.boxes, this.lit, this.view);
    this.element.addEventListener("pointerdown", (event) => this.drag(event));
  }

  /** Draws all boxes; there is no map of a small graph, nor of one that is legible as a whole. */
  show(boxes: Iterable<Box>, size: Point): void {
    this.size = size;
    this.scale = Math.min((WIDE - 8) / size[0], (HIGH - 8) / size[1]);
    this.shift = [(WIDE - size[0] * this.scale) / 2, (HIGH - size[1] * this.scale) / 2];
    const parts: string[] = [];
    this.count = 0;
    const [high, s] = [Math.max(1, HEIGHT * this.scale), this.scale];
    for (const box of boxes) {
      this.count += 1;
      const [x, y] = this.at([box.x, box.y]);
      const wide = Math.max(1.5, box.width * s);
      parts.push(`M${(x - wide / 2).toFixed(1)},${(y - high / 2).toFixed(1)}h${wide.toFixed(1)}v${high.toFixed(1)}h-${wide.toFixed(1)}Z`);
    }
    mark(this.boxes, "d", parts.join(""));
  }

  /** The part in view, and its scale. */
  look(region: Region, scale: number): void {
    [this.seen, this.seenScale] = [region, scale];
    this.stepAside();
    const [left, top] = this.at([Math.max(0, region.left), Math.max(0, region.top)]);
    const [right, bottom] = this.at([Math.min(this.size[0], region.right), Math.min(this.size[1], region.bottom)]);
    const whole = right - left >= this.size[0] * this.scale - 1 && bottom - top >= this.size[1] * this.scale - 1;
    this.element.classList.toggle("mg-hidden", whole || this.count <= FEW);
    const sides = { x: left, y: top, width: Math.max(LEAST, right - left), height: Math.max(LEAST, bottom - top) };
    for (const [name, value] of Object.entries(sides)) mark(this.view, name, value.toFixed(1));
  }

  point(box: Box | undefined): void {
    this.box = box;
    this.stepAside();
    const [x, y] = box ? this.at([box.x, box.y]) : [-9, -9];
    mark(this.lit, "cx", x.toFixed(1));
    mark(this.lit, "cy", y.toFixed(1));
  }

  private stepAside(): void {
    const { box, seen, seenScale } = this;
    const right = box && seen ? (seen.right - box.x - box.width / 2) * seenScale : Infinity;
    const below = box && seen ? (seen.bottom - box.y - HEIGHT / 2) * seenScale : Infinity;
    this.element.classList.toggle("mg-map-left", right < WIDE + BESIDE && below < HIGH + BELOW);
  }

  private at([x, y]: Point): Point {
    return [this.shift[0] + x * this.scale, this.shift[1] + y * this.scale];
  }

  private drag(event: PointerEvent): void {
    event.stopPropagation();
    const bounds = this.element.getBoundingClientRect();
    const move = (next: PointerEvent): void => {
      const [x, y] = [next.clientX - bounds.left - this.shift[0], next.clientY - bounds.top - this.shift[1]];
      this.go([x / this.scale, y / this.scale]);
    };
    const stop = (): void => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", stop);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", stop);
    move(event);
  }
}
