/** The graph pane: builds its elements once, then changes only what a step changed. */
import { html, mark, svg, write } from "./dom";
import { brief, nodeName, valueOf } from "./format";
import { along, draw, HEIGHT, path } from "./geometry";
import type { Box, Drawing, Point, Wire } from "./geometry";
import { STYLES } from "./look";
import type { NodeLook, Scene } from "./look";
import type { Maybe, Trace } from "./types";
import { Culling } from "./culling";
import { Viewport } from "./viewport";

interface NodeParts {
  group: SVGGElement;
  glyph: SVGPathElement;
  word: SVGTextElement;
  badge: SVGGElement;
  saved: SVGPathElement | null;
}

interface EdgeParts {
  line: SVGPathElement;
  label: SVGTextElement;
  gradient: Maybe | undefined;
}

export interface GraphEvents {
  pick(node: Maybe): void;
}

const GLYPH_AT = 17;

export class GraphPane {
  readonly element: HTMLElement;
  readonly frame: SVGSVGElement;
  readonly viewport: Viewport;
  private readonly culling = new Culling();
  private readonly drawing: Drawing;
  private readonly nodes = new Map<number, NodeParts>();
  private readonly edges = new Map<string, EdgeParts>();
  /** What leaves a node: it is there once the node is. */
  private readonly leaving = new Map<number, Element[]>();
  private marked = new Map<number, string>();
  private flowing: ReadonlySet<string> = new Set();

  constructor(
    private readonly trace: Trace,
    private readonly events: GraphEvents,
  ) {
    this.drawing = draw(trace);
    const layers = ["mg-edges", "mg-nodes", "mg-labels"].map((name) => svg("g", { class: name }));
    const [wires, boxes, texts] = layers as [SVGGElement, SVGGElement, SVGGElement];
    for (const wire of this.drawing.wires) this.addWire(wire, wires, texts);
    for (const stub of this.drawing.stubs) {
      const drawn = this.stub(stub.at);
      wires.append(drawn);
      this.leaves(stub.key, drawn);
    }
    for (const [id, box] of this.drawing.boxes) this.addNode(id, box, boxes);
    const group = svg("g", { class: "mg-world" }, ...layers);
    const label = "the graph; arrow up and down walk along it, Enter chooses a node";
    this.frame = svg("svg", { class: "mg-svg", role: "group", tabindex: 0, "aria-label": label }, group);
    this.viewport = new Viewport(this.frame, group, this.drawing.size, this.top());
    this.viewport.onMove = (region, far) => this.culling.move(region, far);
    this.viewport.fit();
    this.frame.addEventListener("click", (event) => this.clicked(event));
    this.element = html("section", { class: "mg-graph", "aria-label": "graph" }, this.frame, this.legend(), this.buttons());
  }

  /** Draws what changed; `null` draws everything. */
  update(scene: Scene, nodes: Iterable<number> | null, edges: Iterable<string> | null): void {
    for (const id of nodes ?? this.nodes.keys()) this.paintNode(id, scene.node(id));
    const touched = new Set(edges ?? this.edges.keys());
    for (const key of this.flowing) touched.add(key);
    for (const key of scene.now) touched.add(key);
    for (const key of touched) this.paintEdge(key, scene);
    this.flowing = scene.now;
    this.point(scene);
  }

  reveal(id: number): void {
    const box = this.drawing.boxes.get(id);
    if (box) this.viewport.reveal([box.x, box.y], box.width);
  }

  /** Where the student is: the lit node, else the top. */
  private middle(): Point {
    const lit = [...this.marked].find(([, names]) => names.includes("mg-lit"))?.[0];
    const box = lit === undefined ? undefined : this.drawing.boxes.get(lit);
    return box ? [box.x, box.y] : this.top();
  }

  private top(): Point {
    let best: Box | null = null;
    for (const box of this.drawing.boxes.values()) if (!best || box.y < best.y) best = box;
    return best ? [best.x, best.y] : [0, 0];
  }

  private addWire(wire: Wire, wires: SVGGElement, texts: SVGGElement): void {
    const line = svg("path", { class: "mg-edge", d: path(wire.points), "data-edge": wire.key });
    const [x, y] = along(wire.points, 0.44);
    const label = svg("text", { class: "mg-gradient", x: x + 5, y: y + 4 });
    const end = wire.points.at(-1) as Point;
    const number = svg("text", { class: "mg-nr", x: end[0] + 6, y: end[1] - 5 }, String(wire.output_nr));
    if (wire.output_nr > 0) number.classList.add("mg-nr-more");
    number.append(svg("title", {}, `output_nr: this edge leads to output ${wire.output_nr} of its node`));
    wires.append(line);
    const both = svg("g", {}, number, label);
    texts.append(both);
    this.leaves(wire.key, line, both);
    this.culling.add(both, x, y);
    this.edges.set(wire.key, { line, label, gradient: undefined });
  }

  private leaves(key: string, ...elements: Element[]): void {
    const node = Number.parseInt(key, 10);
    this.leaving.set(node, [...(this.leaving.get(node) ?? []), ...elements]);
  }

  private stub([x, y]: Point): SVGGElement {
    const line = svg("path", { class: "mg-stub", d: `M${x},${y}V${y + 12}` });
    const cross = svg("path", { class: "mg-stub-end", d: `M${x - 5},${y + 12}H${x + 5}` });
    const title = svg("title", {}, "(None, 0): this input needs no gradient");
    return svg("g", {}, title, line, cross, svg("text", { class: "mg-none", x: x + 8, y: y + 15 }, "None"));
  }

  private addNode(id: number, box: Box, parent: SVGGElement): void {
    const leaf = this.trace.nodes[id]?.variable !== undefined;
    const [left, top] = [-box.width / 2, -HEIGHT / 2];
    const size = { x: left, y: top, width: box.width, height: HEIGHT, rx: leaf ? HEIGHT / 2 : 8 };
    const around = { x: left - 5, y: top - 5, width: box.width + 10, height: HEIGHT + 10, rx: leaf ? HEIGHT / 2 + 5 : 12 };
    const glyph = svg("path", { class: "mg-glyph", transform: `translate(${left + GLYPH_AT}, 0)`, "fill-rule": "evenodd" });
    const word = svg("text", { class: "mg-word", x: box.width / 2 - 12, y: 14, "text-anchor": "end" });
    const badge = svg("g", { class: "mg-badge", transform: `translate(${box.width / 2 - 10}, ${top})` });
    const group = svg(
      "g",
      { class: leaf ? "mg-node mg-leaf" : "mg-node", transform: `translate(${box.x}, ${box.y})`, role: "img", "data-node": id },
      svg("rect", { class: "mg-halo", ...around }),
      svg("rect", { class: "mg-box", ...size }),
      glyph,
      svg("text", { class: "mg-title", x: left + 32, y: -3 }, box.title),
      svg("text", { class: "mg-caption", x: left + 32, y: 14 }, box.caption),
      word,
      badge,
    );
    const saved = this.savedMarks(id, box.width);
    if (saved) group.append(saved);
    parent.append(group);
    this.culling.add(group, box.x, box.y);
    this.nodes.set(id, { group, glyph, word, badge, saved });
  }

  /** One small square per saved tensor, on the upper edge: full while held, empty once released. */
  private savedMarks(id: number, width: number): SVGPathElement | null {
    const count = Math.min(4, this.trace.nodes[id]?.saved.length ?? 0);
    if (count === 0) return null;
    const squares = Array.from({ length: count }, (_, i) => `M${width / 2 - 20 - i * 11},${-HEIGHT / 2 + 8}h7v7h-7Z`);
    return svg("path", { class: "mg-saved", d: squares.join("") });
  }

  private paintNode(id: number, look: NodeLook): void {
    const parts = this.nodes.get(id);
    if (!parts) return;
    const status = look.known ? look.look : "unknown";
    const appears = (parts.group.getAttribute("data-status") === "unknown") !== !look.known;
    if (appears) for (const element of this.leaving.get(id) ?? []) element.classList.toggle("mg-absent", !look.known);
    mark(parts.group, "data-status", status);
    mark(parts.glyph, "d", STYLES[look.look].glyph);
    write(parts.word, look.word);
    mark(parts.group, "aria-label", `${nodeName(this.trace, id)}, ${look.word || look.look}`);
    if (parts.saved) mark(parts.saved, "data-saved", look.saved || "none");
    this.paintBadge(parts.badge, look.badge);
  }

  private paintBadge(badge: SVGGElement, text: string): void {
    if ((badge.lastChild?.textContent ?? "") === text) return;
    if (text === "") {
      badge.replaceChildren();
      return;
    }
    const width = text.length * 6.4 + 12;
    const box = svg("rect", { x: 0, y: -9, width, height: 18, rx: 9 });
    badge.replaceChildren(box, svg("text", { x: width / 2, y: 4, "text-anchor": "middle" }, text));
  }

  private paintEdge(key: string, scene: Scene): void {
    const parts = this.edges.get(key);
    if (!parts) return;
    const gradient = scene.edge(key);
    mark(parts.line, "data-flow", scene.now.has(key) ? "now" : gradient === undefined ? "none" : "past");
    if (gradient === parts.gradient) return;
    parts.gradient = gradient;
    const unknown = gradient === null ? "?" : brief(valueOf(this.trace, gradient));
    write(parts.label, gradient === undefined ? "" : unknown);
  }

  /** Moves the marks of the lit and the selected node. */
  private point(scene: Scene): void {
    const wanted = new Map<number, string>();
    if (scene.selected !== null) wanted.set(scene.selected, "mg-selected");
    if (scene.lit !== null) wanted.set(scene.lit, scene.lit === scene.selected ? "mg-lit mg-selected" : "mg-lit");
    for (const [id, names] of this.marked) {
      if (wanted.get(id) !== names) this.nodes.get(id)?.group.classList.remove("mg-lit", "mg-selected");
    }
    for (const [id, names] of wanted) {
      const group = this.nodes.get(id)?.group;
      group?.classList.add(...names.split(" "));
      if (group && names.includes("mg-lit")) mark(group, "aria-current", "step");
    }
    for (const id of this.marked.keys()) {
      if (id !== scene.lit) this.nodes.get(id)?.group.removeAttribute("aria-current");
    }
    this.marked = wanted;
  }

  private clicked(event: MouseEvent): void {
    if (this.frame.classList.contains("mg-drags")) return;
    const group = (event.target as Element).closest("[data-node]");
    this.events.pick(group ? Number(group.getAttribute("data-node")) : null);
  }

  private legend(): HTMLElement {
    const marks = ["■ saved", "□ released", "Σ pending", "0 output_nr"].map((text) => html("span", {}, text));
    return html("div", { class: "mg-legend", "aria-hidden": true }, ...marks);
  }

  private buttons(): HTMLElement {
    const make = (text: string, title: string, act: () => void): HTMLElement => {
      const button = html("button", { type: "button", class: "mg-small", title, "aria-label": title }, text);
      button.addEventListener("click", act);
      return button;
    };
    return html(
      "div",
      { class: "mg-zoom" },
      make("+", "zoom in", () => this.viewport.zoom(1.3)),
      make("−", "zoom out", () => this.viewport.zoom(1 / 1.3)),
      make("⤢", "show the whole graph", () => this.viewport.overview(this.middle())),
    );
  }
}
