/** Panning and zooming of the graph pane: one transform on one group. */
import { both, HEIGHT, type Point, type Region, type Box, type Outlook } from "../layout/geometry";
import { mark, svg } from "../page/dom";

const FAR = 0.42;
const SMALLEST = 0.04;
const LARGEST = 2.5;
/** What is free beside a drawing, and the least beside its boxes; its size has this margin around them. */
const [SIDE, CLOSE, MARGIN] = [28, 8, 24];
const BADGE = 48; // beside a box: the sum that has arrived there
const SETTLED = 500; // milliseconds
/**
 * How large a graph is drawn. One that would be smaller than `readable` is shown in part, at `comfortable`; `over` is
 * left free above it, for the tools, `under` below it, and `margin` above and below an important box. The smallest
 * letters of a graph have 11 pixels where it is drawn at its own size, 1: nobody at a desk reads smaller ones.
 */
const READERS = {
  near: { readable: 1, comfortable: 1, largest: 1.3, over: 32, under: 4, margin: 38 },
  framed: { readable: 1, comfortable: 1, largest: 1.3, over: 44, under: 9, margin: 38 }, // frames stand out of its margin
  beside: { readable: 0.55, comfortable: 0.8, largest: 1.1, over: 44, under: 9, margin: 38 }, // an open panel: whole rather than large
  map: { readable: 0.58, comfortable: 1, largest: 1.5, over: 44, under: 9, margin: 38 },
  afar: { readable: 1.4, comfortable: 2, largest: 2.4, over: 18, under: 18, margin: 54 },
};

export class Viewport {
  scale = 1;
  #x = 0;
  #y = 0;
  #view: Point = [640, 420];
  #touched = false;
  #where: "near" | "afar" = "near";
  /** Whether it shows a map of a model: no text on it is drawn below 11 pixels, and it fills the window. */
  isMap = false;
  #covered = 0;
  /** Whether the pane has told its size. */
  sized = false;
  /** How high the drawing would be if its layers were not drawn close to each other. */
  high: number | null = null;
  /** The region that was last to be in view: a pane that gets its size later moves there. */
  #wanted: [Point, number] | null = null;
  /** What stays where, for as long as the pane may get another height for a drawing. */
  #staying: readonly [at: Point, pixel: Point][] | null = null;
  /** Called with what is in view whenever that changes. */
  onMove: (region: Region, far: boolean) => void = () => undefined;
  /** The width of the pane that open panels cover, from the left, in pixels: the drawing uses the rest. */
  coveredBy: () => number = () => 0;
  /** Called when the room has changed and the drawing was not moved: it may be laid out anew. */
  onRoom: () => void = () => undefined;
  /** Called before the wheel or a button zooms around a point of the pane; returns whether it folded or unfolded instead. */
  onZoom: (factor: number, at: Point, time: number) => boolean = () => false;
  readonly #observer: ResizeObserver | null = null;

  constructor(
    private readonly frame: SVGSVGElement,
    private readonly group: SVGGElement,
    private outlook: Outlook,
  ) {
    frame.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    frame.addEventListener("pointerdown", (event) => this.#drag(event));
    if (typeof ResizeObserver !== "undefined") {
      this.#observer = new ResizeObserver(() => this.#resized());
      this.#observer.observe(frame);
    }
    this.fit();
  }

  /** Keeps this in view from now on, until the student moves the drawing. */
  show(outlook: Outlook): void {
    this.aim(outlook);
    this.fit();
  }

  /** The drawing was laid out anew: this is to be in view now. */
  aim(outlook: Outlook): void {
    this.outlook = outlook;
    this.#wanted = this.#staying = null;
  }

  /** Draws for readers at a desk, or for those in the last row. */
  readFrom(where: "near" | "afar"): void {
    this.#where = where;
    this.#settle();
  }

  /** Brings a point into the middle. */
  look(at: Point): void {
    this.#touched = true;
    this.#center(at);
  }

  /** What is in view. */
  get region(): Region {
    const [left, top] = [-this.#x / this.scale, -this.#y / this.scale];
    return { left, top, right: left + this.#view[0] / this.scale, bottom: top + this.#view[1] / this.scale };
  }

  dispose(): void {
    this.#observer?.disconnect();
  }

  /** Shows the whole graph or, if that would be too small to read, the part that matters now, or what there is of it. */
  fit(): void {
    this.#touched = false;
    const { part, point, now } = this.outlook;
    const all = this.#all;
    const there = now ? { ...now, right: now.right + BADGE } : part;
    const region = [all, part, there].find((each) => !(this.#fitting(each) < this.#reader.readable)) ?? part;
    const scale = this.#fitting(region);
    this.scale = scale < this.#reader.readable ? this.#reader.comfortable : Math.max(scale, SMALLEST);
    const { top, bottom } = region; // of a part without its margin: room below the tools, and for the .grad of a leaf
    this.#centerWithin(region === all ? (now ?? all) : { ...region, top: top - 12, bottom: bottom + 20 }, point);
  }

  /** Shows another drawing so that the pair that has to move least stays, as far as this leaves no room unused. */
  stay(outlook: Outlook, pairs: readonly [at: Point, pixel: Point][]): void {
    this.aim(outlook);
    this.#staying = pairs;
    setTimeout(() => (this.#staying = null), SETTLED);
    if (!this.#touched) this.fit();
    const far = ([[x, y], [left, top]]: [Point, Point]): number => Math.hypot(this.#x + x * this.scale - left, this.#y + y * this.scale - top);
    const pair = pairs.reduce<[Point, Point] | null>((best, each) => (best && far(best) <= far(each) ? best : each), null);
    if (!pair) return this.fit();
    const [[x, y], [left, top]] = pair;
    const [wide, high] = [this.outlook.size[0] * this.scale, this.outlook.size[1] * this.scale];
    const within = (at: number, least: number, most: number): number => Math.min(Math.max(at, Math.min(least, most)), Math.max(least, most));
    const [side, over] = [this.#covered + this.#side, this.#reader.over];
    this.#x = within(left - x * this.scale, side, side + this.room[0] - wide);
    this.#y = within(top - y * this.scale, over, over + this.room[1] - high);
    this.#apply();
  }

  /** The scale, and the pixel at which the drawing begins. */
  get place(): { scale: number; x: number; y: number } {
    return { scale: this.scale, x: this.#x, y: this.#y };
  }

  /** Shows the whole graph, however small; if it still does not fit, the part around a point. */
  overview(around: Point): void {
    this.scale = Math.max(this.#fitting(this.#all), SMALLEST);
    this.#touched = true;
    this.#centerWithin(this.#all, around);
  }

  get #reader(): (typeof READERS)["near"] {
    if (this.#where === "afar") return READERS.afar;
    return READERS[this.isMap ? "map" : this.#covered > 0 ? "beside" : this.outlook.over ? "framed" : "near"];
  }

  /** Whether a map is drawn so small that it shows titles only. */
  get isBrief(): boolean {
    return this.isMap && this.scale < 1;
  }

  /** The size of letters that have 11 pixels on the screen, or more, in the drawing's pixels: larger boxes say more. */
  get letters(): number {
    return this.isBrief ? Math.ceil(22 / this.scale) / 2 : 11 / Math.sqrt(this.isMap ? this.scale : 1);
  }

  /** The room for the drawing, in pixels. */
  get room(): Point {
    return [this.#free - 2 * this.#side, this.#view[1] - this.#edges];
  }

  /** What is free at each side; a graph whose boxes just fit gives its own margins, too, rather than cut a box. */
  get #side(): number {
    const wide = this.outlook.size[0];
    const close = !this.isMap && !this.outlook.over && wide > this.#free - 2 * SIDE && wide - 2 * MARGIN <= this.#free - 2 * CLOSE;
    return close ? CLOSE - MARGIN : SIDE;
  }

  /** The height that a pane needs to show all of a drawing at its own size, in pixels. */
  get need(): number {
    const closer = this.high === null ? 0 : this.high - this.outlook.size[1];
    return this.#all.bottom - this.#all.top + closer + this.#edges;
  }

  /** The height that is left free above and below the drawing. */
  get #edges(): number {
    return this.#reader.over + this.#reader.under;
  }

  /** The uncovered width of the pane. */
  get #free(): number {
    return this.#view[0] - this.#covered;
  }

  get #all(): Region {
    const [right, bottom] = this.outlook.size;
    const all = { left: 0, top: 0, right, bottom };
    return this.outlook.over ? both(all, this.outlook.over) : all;
  }

  /** The scale at which all of a region is in view. */
  #fitting({ left, top, right, bottom }: Region): number {
    return Math.min(this.room[0] / (right - left), this.room[1] / (bottom - top), this.#reader.largest);
  }

  /** Brings a point into the middle; if the region fills the view, nothing above or below it is left empty. */
  #centerWithin({ left, top, right, bottom }: Region, [x, y]: Point): void {
    // For a region that fits exactly, rounding of the last digit may say that it does not.
    const [wide, high] = this.room.map((free) => free / this.scale + 1e-6) as [number, number];
    const middle = bottom - top <= high ? (top + bottom) / 2 : Math.min(bottom - high / 2, Math.max(top + high / 2, y));
    this.#center([right - left <= wide ? (left + right) / 2 : x, middle]);
  }

  zoom(factor: number, at: Point = [this.#view[0] / 2, this.#view[1] / 2]): void {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    this.#x = at[0] - ((at[0] - this.#x) * scale) / this.scale;
    this.#y = at[1] - ((at[1] - this.#y) * scale) / this.scale;
    this.scale = scale;
    this.#touched = true;
    this.#apply();
  }

  /** Zooms, unless that folds or unfolds modules. */
  zoomOrFold(factor: number, time: number, at: Point = [this.#view[0] / 2, this.#view[1] / 2]): void {
    if (!this.onZoom(factor, at, time)) this.zoom(factor, at);
  }

  /** The point of the drawing at a point of the pane. */
  pointAt([x, y]: Point): Point {
    return [(x - this.#x) / this.scale, (y - this.#y) / this.scale];
  }

  /** Moves only as far as needed to bring a box into view. */
  reveal([x, y]: Point, width: number): void {
    this.#wanted = [[x, y], width];
    const left = this.#x + (x - width / 2) * this.scale;
    const right = this.#x + (x + width / 2) * this.scale;
    const middle = this.#y + y * this.scale;
    const margin = this.#reader.margin + (HEIGHT / 2) * this.scale;
    const beside = left < this.#covered + 8 || right > this.#view[0] - 8;
    const above = middle < margin || middle > this.#view[1] - margin;
    if (!beside && !above) return;
    this.outlook = { ...this.outlook, now: undefined };
    const [here, high] = this.pointAt(this.#middle);
    this.#centerWithin(this.#all, [beside ? x : here, above ? y : high]);
  }

  /** A box is drawn that was not before: it is in view, too, unless the student has moved the drawing. */
  drawn({ x, y, width }: Box): void {
    if (this.outlook.now && !this.#touched) this.reveal([x, y], width);
  }

  /** The middle of the free part of the pane, in pixels. */
  get #middle(): Point {
    return [this.#covered + this.#free / 2, (this.#view[1] + this.#reader.over - this.#reader.under) / 2];
  }

  #center([x, y]: Point): void {
    const [across, down] = this.#middle;
    [this.#x, this.#y] = [across - x * this.scale, down - y * this.scale];
    this.#apply();
  }

  #apply(): void {
    this.group.style.transform = `translate(${this.#x}px, ${this.#y}px) scale(${this.scale})`;
    this.frame.classList.toggle("mg-far", this.scale < FAR);
    this.frame.classList.toggle("mg-brief", this.isBrief);
    if (this.isMap) this.frame.style.setProperty("--mg-letters", `${this.letters}px`);
    if (this.isMap) this.frame.style.setProperty("--mg-brief", `${Math.min(19, Math.max(15, 11 / this.scale))}px`);
    this.onMove(this.region, this.scale < FAR);
  }

  #resized(): void {
    const { clientWidth, clientHeight } = this.frame;
    if (clientWidth === 0 || clientHeight === 0) return;
    this.#view = [clientWidth, clientHeight];
    this.sized = true;
    this.makeRoom();
  }

  /** Moves the drawing next to the open panels, unless the student has moved it. */
  makeRoom(): void {
    this.#covered = this.coveredBy();
    if (this.#touched) return;
    this.onRoom();
    this.#settle();
  }

  /** Fits the drawing into the pane's present size, with what was last to be in view. */
  #settle(): void {
    const wanted = this.#wanted;
    if (this.#staying) this.stay(this.outlook, this.#staying);
    else this.fit();
    if (wanted) this.reveal(...wanted);
  }

  /** The wheel zooms only where the student is working; elsewhere it scrolls the notebook as usual. */
  #wheel(event: WheelEvent): void {
    const root = this.frame.getRootNode() as Document | ShadowRoot;
    const working = this.frame.closest(".mg-graph")?.contains(root.activeElement) ?? false;
    if (!event.ctrlKey && !working) return;
    event.preventDefault();
    event.stopPropagation();
    const bounds = this.frame.getBoundingClientRect();
    this.zoomOrFold(Math.exp(-event.deltaY / 400), event.timeStamp, [event.clientX - bounds.left, event.clientY - bounds.top]);
  }

  #drag(event: PointerEvent): void {
    if (event.button !== 0) return;
    const from: Point = [event.clientX - this.#x, event.clientY - this.#y];
    const start: Point = [event.clientX, event.clientY];
    const move = (next: PointerEvent): void => {
      if (Math.hypot(next.clientX - start[0], next.clientY - start[1]) < 4) return;
      this.#touched = true;
      this.frame.classList.add("mg-drags");
      this.#x = next.clientX - from[0];
      this.#y = next.clientY - from[1];
      this.#apply();
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

// ---- An overview of a large graph in a corner, with a frame around what is in view. A click or a drag moves there. It
// is at the right, or at the left while the lit node is in the right corner.
const WIDE = 150;
const HIGH = 110;
const LEAST = 4;
const [BESIDE, BELOW] = [16, 16]; // the margins beside the map and below it, in pixels
const FEW = 40; // so few boxes need no map, unless they are one of a model: it would cover them

export class Minimap {
  readonly element = svg("svg", { class: "mg-map", "aria-hidden": true, style: `width:${WIDE}px;height:${HIGH}px` });
  readonly #boxes = svg("path", { class: "mg-map-boxes" });
  readonly #view = svg("rect", { class: "mg-map-view" });
  readonly #lit = svg("circle", { class: "mg-map-lit", r: 3 });
  #count = 0;
  #few = FEW;
  #scale = 1;
  #size: Point = [1, 1];
  #shift: Point = [0, 0];
  #seen: Region | null = null;
  #seenScale = 1;
  #box: Box | undefined;

  constructor(private readonly go: (to: Point) => void) {
    this.element.append(this.#boxes, this.#lit, this.#view);
    this.element.addEventListener("pointerdown", (event) => this.#drag(event));
  }

  /** Draws all boxes; there is no map of a small graph, nor of one that is legible as a whole. */
  show(boxes: Iterable<Box>, size: Point, always = false): void {
    this.#size = size;
    this.#few = always ? 0 : FEW;
    this.#scale = Math.min((WIDE - 8) / size[0], (HIGH - 8) / size[1]);
    this.#shift = [(WIDE - size[0] * this.#scale) / 2, (HIGH - size[1] * this.#scale) / 2];
    const parts: string[] = [];
    this.#count = 0;
    const [high, s] = [Math.max(1, HEIGHT * this.#scale), this.#scale];
    for (const box of boxes) {
      this.#count += 1;
      const [x, y] = this.#at([box.x, box.y]);
      const wide = Math.max(1.5, box.width * s);
      parts.push(`M${(x - wide / 2).toFixed(1)},${(y - high / 2).toFixed(1)}h${wide.toFixed(1)}v${high.toFixed(1)}h-${wide.toFixed(1)}Z`);
    }
    mark(this.#boxes, "d", parts.join(""));
  }

  /** The part in view, and its scale. */
  look(region: Region, scale: number): void {
    [this.#seen, this.#seenScale] = [region, scale];
    this.#stepAside();
    const [left, top] = this.#at([Math.max(0, region.left), Math.max(0, region.top)]);
    const [right, bottom] = this.#at([Math.min(this.#size[0], region.right), Math.min(this.#size[1], region.bottom)]);
    const whole = right - left >= this.#size[0] * this.#scale - 1 && bottom - top >= this.#size[1] * this.#scale - 1;
    this.element.classList.toggle("mg-hidden", whole || this.#count <= this.#few);
    const sides = { x: left, y: top, width: Math.max(LEAST, right - left), height: Math.max(LEAST, bottom - top) };
    for (const [name, value] of Object.entries(sides)) mark(this.#view, name, value.toFixed(1));
  }

  point(box: Box | undefined): void {
    this.#box = box;
    this.#stepAside();
    const [x, y] = box ? this.#at([box.x, box.y]) : [-9, -9];
    mark(this.#lit, "cx", x.toFixed(1));
    mark(this.#lit, "cy", y.toFixed(1));
  }

  #stepAside(): void {
    const [box, seen, seenScale] = [this.#box, this.#seen, this.#seenScale];
    const right = box && seen ? (seen.right - box.x - box.width / 2) * seenScale : Infinity;
    const below = box && seen ? (seen.bottom - box.y - HEIGHT / 2) * seenScale : Infinity;
    this.element.classList.toggle("mg-map-left", right < WIDE + BESIDE && below < HIGH + BELOW);
  }

  #at([x, y]: Point): Point {
    return [this.#shift[0] + x * this.#scale, this.#shift[1] + y * this.#scale];
  }

  #drag(event: PointerEvent): void {
    event.stopPropagation();
    const bounds = this.element.getBoundingClientRect();
    const move = (next: PointerEvent): void => {
      const [x, y] = [next.clientX - bounds.left - this.#shift[0], next.clientY - bounds.top - this.#shift[1]];
      this.go([x / this.#scale, y / this.#scale]);
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

// ---- Texts out of view are removed. A browser lays out every text of a drawing again at each step (measured: 100 ms
// at 2,000 nodes, 1 ms without texts), so only those within half a view of the visible region exist.
interface Entry {
  element: Element;
  x: number;
  y: number;
  off: boolean;
}

const NOWHERE: Region = { left: 0, top: 0, right: 0, bottom: 0 };

function within(inner: Region, outer: Region): boolean {
  const wide = inner.left >= outer.left && inner.right <= outer.right;
  return wide && inner.top >= outer.top && inner.bottom <= outer.bottom;
}

export class Culling {
  readonly #entries: Entry[] = [];
  #kept = NOWHERE;
  #wide = 0;

  add(element: Element, x: number, y: number): void {
    element.classList.add("mg-off");
    this.#entries.push({ element, x, y, off: true });
  }

  /** Discards everything: the drawing is built again. */
  clear(): void {
    this.#entries.length = 0;
    this.#kept = NOWHERE;
  }

  /** Shows the texts in and around a region; zoomed far out none is legible, and nothing changes. */
  move(region: Region, far: boolean): void {
    const width = region.right - region.left;
    if (far || (within(region, this.#kept) && width > this.#wide / 2)) return;
    const [x, y] = [width / 2 + 120, (region.bottom - region.top) / 2 + 60];
    this.#kept = { left: region.left - x, top: region.top - y, right: region.right + x, bottom: region.bottom + y };
    this.#wide = width;
    for (const entry of this.#entries) this.#toggle(entry);
  }

  #toggle(entry: Entry): void {
    const { left, top, right, bottom } = this.#kept;
    const off = entry.x < left || entry.x > right || entry.y < top || entry.y > bottom;
    if (off === entry.off) return;
    entry.off = off;
    entry.element.classList.toggle("mg-off", off);
  }
}
