/** Panning and zooming of the graph pane: one transform on one group. */
import { HEIGHT } from "../layout/geometry";
import type { Point, Region } from "../layout/geometry";
import type { Outlook } from "../layout/outlook";

const FAR = 0.42;
const SMALLEST = 0.04;
const LARGEST = 2.5;
const SIDE = 28;
/**
 * How large a graph is drawn. One that would be smaller than `readable` is shown in part, at `comfortable`; `edge` is
 * left free above and below it, for the tools and the legend, and `margin` above and below an important box.
 */
const READERS = {
  near: { readable: 0.55, comfortable: 0.8, largest: 1.1, edge: 44, margin: 38 },
  afar: { readable: 1.4, comfortable: 2, largest: 2.4, edge: 18, margin: 54 },
};

export class Viewport {
  scale = 1;
  private x = 0;
  private y = 0;
  private view: Point = [640, 420];
  private touched = false;
  private reader = READERS.near;
  private covered = 0;
  /** The region that was last to be in view: a pane that gets its size later moves there. */
  private wanted: [Point, number] | null = null;
  /** Called with what is in view whenever that changes. */
  onMove: (region: Region, far: boolean) => void = () => undefined;
  /** The width of the pane that open panels cover, from the left, in pixels: the drawing uses the rest. */
  coveredBy: () => number = () => 0;
  /** Called before the wheel or a button zooms around a point of the pane; returns whether it folded or unfolded instead. */
  onZoom: (factor: number, at: Point, time: number) => boolean = () => false;
  private readonly observer: ResizeObserver | null = null;

  constructor(
    private readonly frame: SVGSVGElement,
    private readonly group: SVGGElement,
    private outlook: Outlook,
  ) {
    frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.drag(event));
    if (typeof ResizeObserver !== "undefined") {
      this.observer = new ResizeObserver(() => this.resized());
      this.observer.observe(frame);
    }
    this.fit();
  }

  /** Keeps this in view from now on, until the student moves the drawing. */
  show(outlook: Outlook): void {
    this.outlook = outlook;
    this.wanted = null;
    this.fit();
  }

  /** Draws for readers at a desk, or for those in the last row. */
  readFrom(where: keyof typeof READERS): void {
    this.reader = READERS[where];
    this.settle();
  }

  /** Brings a point into the middle. */
  look(at: Point): void {
    this.touched = true;
    this.center(at);
  }

  /** What is in view. */
  get region(): Region {
    const [left, top] = [-this.x / this.scale, -this.y / this.scale];
    return { left, top, right: left + this.view[0] / this.scale, bottom: top + this.view[1] / this.scale };
  }

  dispose(): void {
    this.observer?.disconnect();
  }

  /** Shows the whole graph or, if that would be too small to read, the part that matters now. */
  fit(): void {
    this.touched = false;
    const { part, point } = this.outlook;
    const region = [this.all, part].find((each) => !(this.fitting(each) < this.reader.readable)) ?? part;
    const scale = this.fitting(region);
    this.scale = scale < this.reader.readable ? this.reader.comfortable : Math.max(scale, SMALLEST);
    this.centerWithin(region, point);
  }

  /** Shows the whole graph, however small; if it still does not fit, the part around a point. */
  overview(around: Point): void {
    this.scale = Math.max(this.fitting(this.all), SMALLEST);
    this.touched = true;
    this.centerWithin(this.all, around);
  }

  /** The uncovered width of the pane. */
  private get free(): number {
    return this.view[0] - this.covered;
  }

  private get all(): Region {
    const [right, bottom] = this.outlook.size;
    return { left: 0, top: 0, right, bottom };
  }

  /** The scale at which all of a region is in view. */
  private fitting({ left, top, right, bottom }: Region): number {
    return Math.min((this.free - 2 * SIDE) / (right - left), (this.view[1] - 2 * this.reader.edge) / (bottom - top), this.reader.largest);
  }

  /** Brings a point into the middle; if the region fills the view, nothing above or below it is left empty. */
  private centerWithin({ left, top, right, bottom }: Region, [x, y]: Point): void {
    // For a region that fits exactly, rounding of the last digit may say that it does not.
    const [wide, high] = [this.free - 2 * SIDE, this.view[1] - 2 * this.reader.edge].map((free) => free / this.scale + 1e-6) as [number, number];
    const middle = bottom - top <= high ? (top + bottom) / 2 : Math.min(bottom - high / 2, Math.max(top + high / 2, y));
    this.center([right - left <= wide ? (left + right) / 2 : x, middle]);
  }

  zoom(factor: number, at: Point = [this.view[0] / 2, this.view[1] / 2]): void {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    this.x = at[0] - ((at[0] - this.x) * scale) / this.scale;
    this.y = at[1] - ((at[1] - this.y) * scale) / this.scale;
    this.scale = scale;
    this.touched = true;
    this.apply();
  }

  /** Zooms, unless that folds or unfolds modules. */
  zoomOrFold(factor: number, time: number, at: Point = [this.view[0] / 2, this.view[1] / 2]): void {
    if (!this.onZoom(factor, at, time)) this.zoom(factor, at);
  }

  /** The point of the drawing at a point of the pane. */
  pointAt([x, y]: Point): Point {
    return [(x - this.x) / this.scale, (y - this.y) / this.scale];
  }

  /** Moves only as far as needed to bring a box into view. */
  reveal([x, y]: Point, width: number): void {
    this.wanted = [[x, y], width];
    const left = this.x + (x - width / 2) * this.scale;
    const right = this.x + (x + width / 2) * this.scale;
    const middle = this.y + y * this.scale;
    const margin = this.reader.margin + (HEIGHT / 2) * this.scale;
    const out = left < this.covered + 8 || right > this.view[0] - 8 || middle < margin || middle > this.view[1] - margin;
    if (out) this.centerWithin(this.all, [x, y]);
  }

  private center([x, y]: Point): void {
    this.x = this.covered + this.free / 2 - x * this.scale;
    this.y = this.view[1] / 2 - y * this.scale;
    this.apply();
  }

  private apply(): void {
    this.group.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.frame.classList.toggle("mg-far", this.scale < FAR);
    this.onMove(this.region, this.scale < FAR);
  }

  private resized(): void {
    const { clientWidth, clientHeight } = this.frame;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.view = [clientWidth, clientHeight];
    this.makeRoom();
  }

  /** Moves the drawing next to the open panels, unless the student has moved it. */
  makeRoom(): void {
    this.covered = this.coveredBy();
    if (!this.touched) this.settle();
  }

  /** Fits the drawing into the pane's present size, with what was last to be in view. */
  private settle(): void {
    this.fit();
    if (this.wanted) this.reveal(...this.wanted);
  }

  /** The wheel zooms only where the student is working; elsewhere it scrolls the notebook as usual. */
  private wheel(event: WheelEvent): void {
    const root = this.frame.getRootNode() as Document | ShadowRoot;
    const working = this.frame.parentElement?.contains(root.activeElement) ?? false;
    if (!event.ctrlKey && !working) return;
    event.preventDefault();
    event.stopPropagation();
    const bounds = this.frame.getBoundingClientRect();
    this.zoomOrFold(Math.exp(-event.deltaY / 400), event.timeStamp, [event.clientX - bounds.left, event.clientY - bounds.top]);
  }

  private drag(event: PointerEvent): void {
    if (event.button !== 0) return;
    const from: Point = [event.clientX - this.x, event.clientY - this.y];
    const start: Point = [event.clientX, event.clientY];
    const move = (next: PointerEvent): void => {
      if (Math.hypot(next.clientX - start[0], next.clientY - start[1]) < 4) return;
      this.touched = true;
      this.frame.classList.add("mg-drags");
      this.x = next.clientX - from[0];
      this.y = next.clientY - from[1];
      this.apply();
    };
    const stop = (): void => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", stop);
      // A click follows the release of the pointer: it must still see that this was a drag.
      setTimeout(() => this.frame.classList.remove("mg-drags"));
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", stop);
  }
}
