/** The graph pane: builds its elements once, then changes only what a step changed. */
import { html, mark, svg, write } from "../page/dom";
import { brief, broken, nodeName, valueOf, sizeOf } from "../trace/format";
import { arrange } from "../layout/arrange";
import { Annotations, frameParts, paintBadge, Lights, coveredBy, fits, heldBy, legend, savedMarks, stub, zoomButtons, TrayParts, type Annotation } from "./parts";
import { Finder, foldedAt, Levels, middleOf } from "./controls";
import { markKey } from "./key";
import { fitting, inColumns, tightened, tightness, type Columns } from "../layout/columns";
import { BOLD, draw, HEIGHT, path, outlook, top, within, type Box, type Drawing, type Outlook, type Point, type Wire } from "../layout/geometry";
import { gradientWidths, labelSpots, regionOf, type Spot } from "../layout/labels";
import { chain, failureAt, Groups, scopeOf, scopeTitle, unfolded, type BoxId } from "../trace/groups";
import { RAISED, STYLES, together, type NodeLook, type Scene } from "./look";
import { tieParts, tieRegions, tieSpots } from "./links";
import { inLines, inWords, Rows, type Measure, type Row } from "../trace/rows";
import type { Layout, Maybe, Tie, Trace } from "../trace/types";
import { cardsBehind, framesOf, outside, widen, type Frame } from "../layout/frames";
import { Places, turnedScope } from "./move";
import { Culling, Minimap, Viewport } from "./viewport";

interface NodeParts {
  group: SVGGElement;
  title: SVGTextElement;
  glyph: SVGPathElement;
  word: SVGTextElement;
  badge: SVGGElement;
  saved: SVGPathElement | null;
  version: SVGGElement;
  tray: TrayParts | null;
  /** On a map: what the box did. */
  row: Row | null;
  /** The caption and, on a map, one more line, which say as much of it as there is room for; then the class. */
  lines: [caption: SVGTextElement, ...more: SVGTextElement[]];
}

interface EdgeParts {
  keys: string[];
  line: SVGPathElement;
  label: SVGTextElement;
  gradient: Maybe | undefined;
  tangent: number | undefined;
}

export interface GraphEvents {
  pick(node: Maybe): void;
  /** Goes to a node that was found by the search. */
  find(node: number): void;
  fold(folded: number[]): void;
}

const GLYPH_AT = 17;
/** What is at both sides of the text in a box; the letters of a title, and of the lines below it, of which a short one is mostly digits. */
const [BESIDE, WIDE, NARROW, DIGIT] = [40, 8.2, 5.9, 6.5];
/** How far the sheet behind a folded box stands out. */
const BEHIND = 5;
/** The largest letters for which there is room below a title. */
const LARGEST = 19;
/** The letters of a title on a map that is drawn small have this size, or that at which they are legible. */
const SMALLEST = 15;
/** How far pending gradients extend beyond their box: the gap to the next one is a little wider. */
const BEYOND = 50;

const same = (folded: ReadonlySet<number>, wanted: readonly number[]): boolean =>
  folded.size === wanted.length && wanted.every((id) => folded.has(id));

export class GraphPane {
  readonly element: HTMLElement;
  readonly frame: SVGSVGElement;
  readonly viewport: Viewport;
  /** The elements on top of the drawing, and the strip below it. */
  readonly tools = html("div", { class: "mg-tools" });
  readonly strip = html("div", { class: "mg-strip" });
  /** Called when the set of boxes has changed. */
  onBuild: () => void = () => undefined;
  readonly #culling = new Culling();
  readonly #layers = ["mg-edges", "mg-nodes", "mg-labels"].map((name) => svg("g", { class: name }));
  readonly #framed = svg("g", { class: "mg-frames" });
  #frames: Frame[] = [];
  readonly levels: Levels;
  readonly #map: Minimap;
  groups: Groups;  // what stands in the graph now
  #drawing: Drawing;
  #columns: Columns = [1, ""];
  /** How close to each other the layers are, as a share of their distance: a low window shows more of them. */
  #tight = 1;
  #brief = false;
  /** The size of the letters on a map, in its own pixels: they are 11 on the screen. */
  #letters = 11;
  #measure: Measure | null = null;
  /** Whether the numbers are those of the recording: what the boxes did is not known of others. */
  #recorded = true;
  /** Whether boxes say the norms of the whole pass. */
  #norms = true;
  readonly #rows: Rows;
  readonly #nodes = new Map<BoxId, NodeParts>();
  readonly #edges = new Map<string, EdgeParts>();
  readonly #widths: (wire: Wire) => number;
  /** The edges from a node: they exist once the node does. */
  readonly #leaving = new Map<BoxId, Element[]>();
  readonly #ties: readonly Tie[];
  /** By the node they come from. */
  readonly #tied = new Map<BoxId, Element[]>();
  #marked = new Map<BoxId, string>();
  readonly #lights = new Lights();
  readonly #annotations = new Annotations();
  #flowing: ReadonlySet<string> = new Set();
  #scene: Scene | null = null;

  constructor(
    private readonly trace: Trace,
    private readonly events: GraphEvents,
    folded: readonly number[] | null = null,
  ) {
    this.#ties = trace.links ?? [];
    this.#rows = new Rows(trace);
    this.#widths = gradientWidths(trace);
    this.groups = new Groups(trace, new Set(folded ?? trace.folded));
    this.#drawing = draw(this.groups, this.#laidOut());
    this.strip.append(legend(trace));
    const group = svg("g", { class: "mg-world" }, this.#framed, ...this.#layers);
    const label = "the graph; arrow up and down walk along it, Enter chooses a node, minus folds its module, plus unfolds it";
    this.frame = svg("svg", { class: "mg-svg", role: "group", tabindex: 0, "aria-label": label }, group);
    this.viewport = new Viewport(this.frame, group, outlook(this.#drawing, null));
    this.levels = new Levels(trace, (wanted) => this.fold(wanted));
    this.viewport.onZoom = (factor, at, time) => this.#zoomed(factor, at, time);
    this.#map = new Minimap((to) => this.viewport.look(to));
    this.viewport.onMove = (region, far) => {
      this.#culling.move(region, far);
      this.#map.look(region, this.viewport.scale);
      this.#shorten(this.viewport.isBrief, this.viewport.letters);
    };
    this.#fill(true);
    this.viewport.onRoom = () => this.#roomChanged();
    this.viewport.fit();
    this.frame.addEventListener("click", (event) => this.#clicked(event));
    const finder = new Finder(trace, (node) => this.events.find(node));
    const [key, marks] = markKey(trace);
    const stage = html("div", { class: "mg-stage" }, this.frame, this.#map.element, this.tools, marks);
    this.element = html("section", { class: "mg-graph", "aria-label": "graph" }, stage, this.strip);
    this.tools.append(finder.element);
    this.viewport.coveredBy = () => coveredBy(this.tools);
    this.tools.addEventListener("toggle", () => this.viewport.makeRoom(), true);
    this.strip.append(zoomButtons(this.levels.element, this.viewport, () => this.#middle(), key));
  }

  /** Python's positions for the whole graph, and for what is folded at first; everything else is laid out here. */
  #laidOut(): Layout {
    const { trace, groups } = this;
    const opening = same(groups.folded, trace.folded ?? []) ? trace.opening : null;
    return (groups.members.size === trace.nodes.length ? trace.layout : opening) ?? arrange(groups);
  }

  /** Lays the boxes out in as many columns as the window asks for; returns whether anything has changed. */
  #fill(always: boolean): boolean {
    const layout = this.#laidOut();
    this.viewport.isMap = this.groups.folded.size > 0;
    const columns = fitting(layout, this.groups, this.viewport.room);
    const tight = this.viewport.sized && !this.viewport.isMap ? tightness(layout, this.viewport.room[1]) : 1;
    if (!always && String(columns) === String(this.#columns) && tight === this.#tight) return false;
    [this.#columns, this.#tight] = [columns, tight];
    this.viewport.high = columns[0] > 1 ? null : layout.size[1];
    this.#drawing = draw(this.groups, inColumns(tightened(layout, tight), this.groups, columns));
    this.#build();
    return true;
  }

  /** On a map that is drawn small the names are short. */
  #shorten(brief: boolean, letters: number): void {
    if (brief === this.#brief && letters === this.#letters) return;
    [this.#brief, this.#letters] = [brief, letters];
    for (const id of this.#nodes.keys()) this.#entitle(id);
  }

  /** Writes the name of a box and, on a map, its class and what it did, as far as there is room. */
  #entitle(id: BoxId): void {
    const [parts, box] = [this.#nodes.get(id), this.#drawing.boxes.get(id)];
    if (!parts || !box) return;
    const room = box.width - BESIDE;
    const most = this.#brief ? Math.floor(room / (BOLD * Math.max(SMALLEST, this.#letters))) : Infinity;
    const kind = id < 0 ? (this.trace.scopes?.[scopeOf(id)]?.module ?? "") : "";
    const whole = this.#brief || parts.row ? box.title.replace(/Backward\d+$/, "") : box.title;
    const numbered = this.#brief && /^[\d.]+$/.test(whole) && kind !== "" ? `${whole} ${kind}` : whole; // a number alone says little
    const name = within(numbered.length <= most ? numbered : whole, most);
    const fit = kind !== "" && !this.#brief && name.length * WIDE + kind.length * NARROW + 10 <= room;
    write(parts.title, name);
    if (parts.lines[2]) write(parts.lines[2], fit ? kind : "");
    this.#tell(parts, room);
  }

  #tell({ row, lines, group, word }: NodeParts, room: number): void {
    if (!row) return;
    const letter = ((this.#brief ? DIGIT : NARROW) / 11) * this.#letters;
    const told = (word.textContent ?? "").length;
    const free = (room - (told === 0 ? 0 : WIDE * (told + 3))) / letter;
    const shown = this.#recorded && this.#norms ? row : { ...row, gradient: null };
    const texts = inLines(shown, this.#brief ? [this.#letters > LARGEST ? 0 : room / letter] : [room / letter, free], this.#measure);
    lines.slice(0, 2).forEach((line, at) => write(line, texts[at] ?? ""));
    mark(group, "data-said", String(texts.filter((text) => text !== "").length));
  }

  /** The window has another size. */
  #roomChanged(): void {
    this.#askForHeight();
    if (!this.#fill(false)) return;
    const shown = this.#scene?.selected ?? this.#scene?.lit ?? null;
    this.viewport.aim(this.#outlook(shown));
    this.onBuild();
    if (this.#scene) this.update(this.#scene, null, null);
  }

  #build(): void {
    const [wires, boxes, texts] = this.#layers as [SVGGElement, SVGGElement, SVGGElement];
    for (const layer of this.#layers) layer.replaceChildren();
    for (const table of [this.#nodes, this.#edges, this.#leaving, this.#tied, this.#marked, this.#culling]) table.clear();
    const beside = tieSpots(this.#ties, this.#drawing);
    this.#frames = framesOf(this.groups, this.#drawing.boxes);
    for (const [wire, spot] of labelSpots(this.#drawing, this.#widths, tieRegions(beside))) {
      this.#addWire(wire, spot, wires, texts);
      for (const each of this.#frames) if (each.ids.has(wire.from) && each.ids.has(wire.to ?? wire.from)) widen(each, regionOf(spot, this.#widths(wire)));
    }
    this.#framed.replaceChildren(...this.#frames.map((each) => frameParts(each)));
    for (const each of this.#drawing.stubs) {
      const drawn = stub(each);
      wires.append(drawn);
      this.#leaves(Number.parseInt(each.key, 10), drawn);
    }
    for (const [id, box] of this.#drawing.boxes) this.#addNode(id, box, boxes);
    for (const tie of this.#ties) this.#addTie(tie, beside.get(tie), wires, texts);
    this.#annotations.draw(this.groups, this.#drawing, this.#nodes, this.#edges);
    this.levels.show(this.groups.folded);
    this.#map.show(this.#drawing.boxes.values(), this.#drawing.size, this.viewport.isMap);
    this.#askForHeight();
  }

  /** Asks the panes for as much height as the drawing needs; the style says how much there is. */
  #askForHeight(): void {
    this.frame.closest<HTMLElement>(".mg-panes")?.style.setProperty("--mg-need", `${this.viewport.need + this.strip.offsetHeight}px`);
  }

  /** Folds exactly these calls of modules. What the student is looking at stays in view. */
  fold(folded: Set<number>): void {
    this.setFolded(folded);
    this.events.fold([...folded]);
  }

  setFolded(folded: ReadonlySet<number>): void {
    if (same(this.groups.folded, [...folded])) return;
    const [scope, { viewport }] = [turnedScope(this.trace, this.groups.folded, folded), this];
    const { scale, x, y } = viewport.place;
    const before = new Places(this.groups, this.#drawing.boxes, (at) => [x + at[0] * scale, y + at[1] * scale], scale);
    this.groups = new Groups(this.trace, folded);
    this.#fill(true);
    const shown = this.#scene?.selected ?? this.#scene?.lit ?? null;
    if (scope !== null) viewport.stay(this.#outlook(shown), before.pairs(scope, this.groups, this.#drawing.boxes));
    else this.open(shown);
    this.onBuild();
    if (this.#scene) this.update(this.#scene, null, null);
    if (this.#scene && shown !== null) this.reveal(shown);
    if (scope !== null) before.animate(this.groups, this.#drawing.boxes, this.#nodes, [this.#layers[0], this.#layers[2]] as Element[], viewport.region, (pixel) => viewport.pointAt(pixel), viewport.scale);
  }

  /** Folds the innermost open module around a node (-1), or unfolds the box in which the node is (1). */
  foldAround(node: number, by: 1 | -1): void {
    const box = this.groups.owner[node];
    if (box === undefined) return;
    const next = by > 0 && box < 0 ? unfolded(this.trace, this.groups.folded, scopeOf(box)) : new Set(this.groups.folded);
    const calls = chain(this.trace, this.trace.nodes[node]?.scope);
    const inside = box < 0 ? calls.slice(calls.indexOf(scopeOf(box)) + 1) : calls;
    if (by < 0 && inside[0] !== undefined) next.add(inside[0]);
    this.fold(next);
  }

  /** Unfolds the boxes that hide a node. */
  uncover(node: number): void {
    let folded: ReadonlySet<number> = this.groups.folded;
    for (const scope of chain(this.trace, this.trace.nodes[node]?.scope).reverse()) {
      if (folded.has(scope)) folded = unfolded(this.trace, folded, scope);
    }
    if (folded !== this.groups.folded) this.fold(new Set(folded));
  }

  /** Redraws what changed; `null` redraws everything. */
  update(scene: Scene, nodes: Iterable<number> | null, edges: Iterable<string> | null): void {
    this.#scene = scene;
    const boxes = nodes ? new Set([...nodes].map((id) => this.groups.owner[id] ?? id)) : this.#nodes.keys();
    for (const id of boxes) this.#paintNode(id, this.#lookOf(id, scene));
    const touched = new Set(edges ?? this.#edges.keys());
    for (const key of this.#flowing) touched.add(key);
    for (const key of scene.now) touched.add(key);
    for (const key of touched) this.#paintEdge(key, scene);
    this.#flowing = scene.now;
    this.#point(scene);
  }

  /** Shows the whole graph or, if that is illegible, what is connected with a node. */
  open(id: Maybe): void {
    this.viewport.show(this.#outlook(id));
  }

  #outlook(id: Maybe): Outlook {
    const scene = this.#scene;
    const drawn = (box: BoxId): boolean => scene === null || (this.groups.members.get(box) ?? []).some((node) => scene.state(node).known);
    return outlook(this.#drawing, id === null ? null : (this.groups.owner[id] ?? id), drawn, outside(this.#frames));
  }

  reveal(id: number): void {
    const box = this.#boxAround(id);
    if (box) this.viewport.reveal([box.x, box.y], box.width);
  }

  /** The box of a node, or the folded one that contains it. */
  #boxAround(id: Maybe): Box | undefined {
    return id === null ? undefined : this.#drawing.boxes.get(this.groups.owner[id] ?? id);
  }

  #lookOf(id: BoxId, scene: Scene): NodeLook {
    return id >= 0 ? scene.node(id) : together(this.groups.members.get(id) ?? [], scene);
  }

  /** Whether zooming around a point folded or unfolded modules instead; an unfolded one is then brought into view. */
  #zoomed(factor: number, at: Point, time: number): boolean {
    const scope = foldedAt(this.#drawing, this.viewport.pointAt(at), this.viewport.region);
    const done = this.levels.zoom(factor, this.viewport.scale, this.groups.folded, scope, time);
    if (done && scope !== null && !this.groups.folded.has(scope)) this.viewport.look(middleOf(this.levels.inside(scope).flatMap((id) => this.#boxAround(id) ?? [])));
    return done;
  }

  /** The student's position: the lit node, else the top. */
  #middle(): Point {
    const lit = [...this.#marked].find(([, names]) => names.includes("mg-lit"))?.[0];
    const box = lit === undefined ? undefined : this.#drawing.boxes.get(lit);
    return box ? [box.x, box.y] : top(this.#drawing.boxes);
  }

  #addWire(wire: Wire, { x, y, left }: Spot, wires: SVGGElement, texts: SVGGElement): void {
    const line = svg("path", { class: "mg-edge", d: path(wire.points, (wire.to ?? 0) < 0 ? BEHIND : 0), "data-edge": wire.key });
    const label = svg("text", { class: "mg-gradient", x, y: y + 4, "text-anchor": left ? "end" : "start" });
    const end = wire.points.at(-1) as Point;
    const nr = wire.output_nr;
    const number = svg("text", { class: "mg-nr", x: end[0] + 6, y: end[1] - 5 }, nr === null ? "" : String(nr));
    if (nr !== null && nr > 0) number.classList.add("mg-nr-more");
    if (nr !== null) number.append(svg("title", {}, `output_nr: this edge leads to output ${nr} of its node`));
    wires.append(line);
    const both = svg("g", {}, number, label);
    texts.append(both);
    this.#leaves(wire.from, line, both);
    this.#culling.add(both, x, y);
    const parts = { keys: wire.keys, line, label, gradient: undefined, tangent: undefined };
    for (const key of wire.keys) this.#edges.set(key, parts);
  }

  #addTie(tie: Tie, spot: Spot | undefined, wires: SVGGElement, texts: SVGGElement): void {
    const [from, to] = [this.#drawing.boxes.get(tie.from), this.#drawing.boxes.get(tie.to)];
    if (!from || !to) return;
    const [line, label] = tieParts(this.trace, tie, from, to, spot);
    wires.append(line);
    texts.append(label);
    this.#leaves(tie.from, line, label);
    this.#tied.set(tie.from, [...(this.#tied.get(tie.from) ?? []), line, label]);
    this.#culling.add(label, spot?.x ?? from.x, spot?.y ?? from.y);
  }

  #leaves(node: BoxId, ...elements: Element[]): void {
    this.#leaving.set(node, [...(this.#leaving.get(node) ?? []), ...elements]);
  }

  #addNode(id: BoxId, box: Box, parent: SVGGElement): void {
    const leaf = this.trace.nodes[id]?.variable !== undefined;
    const [left, top] = [-box.width / 2, -HEIGHT / 2];
    const size = { x: left, y: top, width: box.width, height: HEIGHT, rx: leaf ? HEIGHT / 2 : 8 };
    const around = { x: left - 5, y: top - 5, width: box.width + 10, height: HEIGHT + 10, rx: leaf ? HEIGHT / 2 + 5 : 12 };
    const glyph = svg("path", { class: "mg-glyph", transform: `translate(${left + GLYPH_AT}, 0)`, "fill-rule": "evenodd" });
    const folds = id < 0 ? { role: "img", "data-scope": scopeOf(id) } : { role: "img", "data-node": id };
    const sheets = id < 0 ? Math.max(1, cardsBehind(this.trace.scopes?.[scopeOf(id)]?.name ?? "")) : 0;
    const behind = Array.from({ length: sheets }, (_, at) => svg("rect", { class: "mg-behind", ...size, x: left + BEHIND * (sheets - at), y: top - BEHIND * (sheets - at) }));
    const title = svg("text", { class: "mg-title", x: left + 32, y: -3 });
    const word = svg("text", { class: "mg-word", x: box.width / 2 - 12, y: 14, "text-anchor": "end" });
    const badge = svg("g", { class: "mg-badge", transform: `translate(${box.width / 2 + BEYOND}, ${top})` });
    const version = svg("g", { class: "mg-version", transform: `translate(${left + 3}, ${top})` });
    const failed = failureAt(this.groups, id);
    const row = this.viewport.isMap && !leaf && !failed ? this.#rows.of(id) : null;
    const caption = svg("text", { class: "mg-caption", x: left + 32, y: row ? 3.6 : 14 }, box.caption);
    const more = row ? [svg("text", { class: "mg-told", x: left + 32, y: 17 }), svg("text", { class: "mg-class", x: box.width / 2 - 12, y: -9.3, "text-anchor": "end" })] : [];
    if (row) word.setAttribute("y", "17");
    const group = svg(
      "g",
      { class: leaf ? "mg-node mg-leaf" : "mg-node", transform: `translate(${box.x}, ${box.y})`, ...folds },
      svg("rect", { class: "mg-halo", ...around }),
      ...behind,
      svg("rect", { class: "mg-box", ...size }),
      glyph,
      title,
      caption,
      ...more,
      word,
      badge,
      version,
    );
    if (row) group.classList.add("mg-measured");
    if (row) group.append(svg("title", {}, inWords(row)));
    if (failed) mark(group, "data-failed", failed.within ? "within" : "after");
    const saved = savedMarks(heldBy(this.trace, id), box.width);
    if (saved) group.append(saved);
    const tray = leaf && this.trace.nodes[id]?.name !== "Dual" ? new TrayParts(HEIGHT / 2 + 3) : null;
    if (tray) group.append(tray.element);
    parent.append(group);
    this.#culling.add(group, box.x, box.y);
    this.#nodes.set(id, { group, title, glyph, word, badge, saved, version, tray, row, lines: [caption, ...more] });
    this.#entitle(id);
  }

  #paintNode(id: BoxId, look: NodeLook): void {
    const parts = this.#nodes.get(id);
    if (!parts) return;
    const status = look.known ? look.look : "unknown";
    const appears = (parts.group.getAttribute("data-status") === "unknown") !== !look.known;
    if (appears) for (const element of this.#leaving.get(id) ?? []) element.classList.toggle("mg-absent", !look.known);
    if (appears && look.known) this.viewport.drawn(this.#drawing.boxes.get(id) as Box);
    mark(parts.group, "data-status", status);
    mark(parts.glyph, "d", parts.group.getAttribute("data-failed") === "within" ? RAISED : STYLES[look.look].glyph);
    const broken = look.broken ? `${look.whose ?? ""} ${look.broken}`.trim() : "";
    const word = [look.word, look.hooked ? "hook" : "", broken].filter((each) => each !== "").join(" · ");
    write(parts.word, fits(word, this.#drawing.boxes.get(id)) ? word : broken || look.word);
    mark(parts.group, "data-broken", look.broken || null);
    if (parts.row) this.#tell(parts, (this.#drawing.boxes.get(id)?.width ?? 0) - BESIDE);
    const raised = failureAt(this.groups, id)?.caption;
    mark(parts.group, "aria-label", `${id < 0 ? `module ${scopeTitle(this.trace, scopeOf(id))}, folded` : nodeName(this.trace, id)}, ${raised ?? (word || look.look)}`);
    if (parts.saved) mark(parts.saved, "data-saved", look.saved || "none");
    mark(parts.badge, "data-tangent", look.badge.startsWith("↑") ? "true" : null);
    paintBadge(parts.badge, look.badge, (width) => this.#besideBox(id, width));
    paintBadge(parts.version, look.version ? `v${look.version}` : "");
    if (look.tray) parts.tray?.paint(look.tray);
    mark(parts.group, "data-stale", look.stale ? "true" : null);
    for (const element of this.#tied.get(id) ?? []) mark(element, "data-stale", look.stale ? "true" : null);
  }

  /** Where a badge begins: beside its box, or else, if the next box is too near, over its edge. */
  #besideBox(id: BoxId, width: number): number {
    const box = this.#drawing.boxes.get(id);
    if (!box || width <= BEYOND - 4) return -width;
    const [left, right] = [box.x + box.width / 2 + 4, box.x + box.width / 2 + 8 + width];
    const free = [...this.#drawing.boxes.values()].every((each) => each.y !== box.y || each.x + each.width / 2 < left || each.x - each.width / 2 > right);
    return free ? 4 - BEYOND : -width;
  }

  #paintEdge(key: string, scene: Scene): void {
    const parts = this.#edges.get(key);
    if (!parts) return;
    const now = parts.keys.find((each) => scene.now.has(each));
    const gradient = scene.edge(now ?? parts.keys.filter((each) => scene.edge(each) !== undefined).at(-1) ?? key);
    const tangent = parts.keys.map((each) => scene.tangent?.(each)).find((each) => each !== undefined);
    const up = gradient === undefined && tangent !== undefined;
    mark(parts.line, "data-flow", now !== undefined ? (up ? "rises" : "now") : up ? "risen" : gradient === undefined ? "none" : "past");
    if (gradient === parts.gradient && tangent === parts.tangent) return;
    parts.gradient = gradient;
    parts.tangent = tangent;
    const value = valueOf(this.trace, gradient);
    for (const element of [parts.line, parts.label]) mark(element, "data-broken", broken(value) || null);
    mark(parts.line, "data-heat", sizeOf(value) || null);
    mark(parts.label, "data-live", value?.live ? "live" : value?.stale ? "stale" : null);
    const text = gradient === undefined ? "" : gradient === null ? "?" : brief(value);
    if (tangent === undefined) return write(parts.label, text);
    const moves = svg("tspan", { class: "mg-tangent" }, `↑ ${brief(valueOf(this.trace, tangent))}`);
    parts.label.replaceChildren(moves, ...(text === "" ? [] : [`   ↓ ${text}`]));
  }

  /** Shades boxes by a share, from 0 to 1; null removes the shading. */
  shade(shares: ReadonlyMap<BoxId, number> | null, measure: Measure | null): void {
    this.element.classList.toggle("mg-costs", shares !== null);
    this.#measure = measure;
    for (const id of this.#nodes.keys()) this.#entitle(id);
    for (const [id, share] of shares ?? []) {
      const style = this.#nodes.get(id)?.group.style;
      style?.setProperty("--mg-share", share.toFixed(3));
      style?.setProperty("--mg-share-root", Math.sqrt(share).toFixed(3)); // on a dark ground small shares are not seen
    }
  }

  /** Colours boxes by the sizes of their gradients; null removes the colours. */
  sizes(found: ReadonlyMap<BoxId, string> | null): void {
    for (const [id, { group }] of this.#nodes) mark(group, "data-size", found?.get(id) || null);
  }

  /** Whether boxes of a map say norms. */
  norms(shown: boolean): void {
    if (shown === this.#norms) return;
    this.#norms = shown;
    for (const id of this.#nodes.keys()) this.#entitle(id);
  }

  /** Forgets which gradients are drawn: their numbers may have changed. */
  forget(): void {
    this.#recorded = false;
    for (const id of this.#nodes.keys()) this.#entitle(id);
    for (const parts of this.#edges.values()) parts.gradient = NaN;
  }

  /** Lights the operands of an arithmetic: edges, and saved tensors of a node. */
  light(edges: readonly string[], saved: Maybe): void {
    const squares = saved === null ? null : this.#nodes.get(saved)?.saved;
    this.#lights.show("data-operand", [...this.#drawnEdges(edges), ...(squares ? [squares] : [])]);
  }

  /** Lights the objects that a name in the source refers to: nodes with their trays, and edges. */
  call(nodes: readonly number[], edges: readonly string[]): void {
    const boxes = [...new Set(nodes.map((id) => this.groups.owner[id] ?? id))];
    const groups = boxes.flatMap((id) => this.#nodes.get(id)?.group ?? []);
    this.#lights.show("data-called", [...groups, ...this.#drawnEdges(edges)]);
  }

  /** Sets an attribute on nodes and edges, each to its own value, and removes it from all others. */
  annotate(name: string, annotation: Annotation): void {
    this.#annotations.set(name, annotation);
    this.#annotations.draw(this.groups, this.#drawing, this.#nodes, this.#edges);
  }

  #drawnEdges(keys: readonly string[]): Element[] {
    return keys.flatMap((key) => this.#edges.get(key) ?? []).flatMap(({ line, label }) => [line, label]);
  }

  /** Moves the marks of the lit and the selected node. */
  #point(scene: Scene): void {
    const wanted = new Map<BoxId, string>();
    const [lit, selected] = [scene.lit, scene.selected].map((id) => (id === null ? null : (this.groups.owner[id] ?? id)));
    if (selected != null) wanted.set(selected, "mg-selected");
    if (lit != null) wanted.set(lit, lit === selected ? "mg-lit mg-selected" : "mg-lit");
    this.#map.point(this.#boxAround(scene.lit));
    for (const [id, names] of this.#marked) {
      if (wanted.get(id) !== names) this.#nodes.get(id)?.group.classList.remove("mg-lit", "mg-selected");
    }
    for (const [id, names] of wanted) {
      const group = this.#nodes.get(id)?.group;
      group?.classList.add(...names.split(" "));
      if (group && names.includes("mg-lit")) mark(group, "aria-current", "step");
    }
    for (const id of this.#marked.keys()) for (const line of this.#tied.get(id) ?? []) mark(line, "data-now", null);
    for (const id of wanted.keys()) for (const line of this.#tied.get(id) ?? []) mark(line, "data-now", "true");
    for (const id of this.#marked.keys()) {
      if (id !== lit) this.#nodes.get(id)?.group.removeAttribute("aria-current");
    }
    this.#marked = wanted;
  }

  #clicked(event: MouseEvent): void {
    if (this.frame.classList.contains("mg-drags")) return;
    const scope = (event.target as Element).closest("[data-scope]")?.getAttribute("data-scope");
    if (scope != null) return this.fold(unfolded(this.trace, this.groups.folded, Number(scope)));
    const group = (event.target as Element).closest("[data-node]");
    this.events.pick(group ? Number(group.getAttribute("data-node")) : null);
  }
}
