/** The three panes and the bars between them: each bar can be dragged, or moved by the arrow keys. */
import { html, mark } from "../page/dom";

const STEP = 4;
const [LEAST, MOST] = [20, 80];

/** What a bar divides: the property that holds the share, in percent, of the pane before it. */
interface Division {
  name: string;
  property: string;
  share: number;
  /** Whether the panes are side by side. */
  across: boolean;
}

const GRAPH: Division = { name: "width of the graph", property: "--mg-graph-share", share: 67, across: true };
const SOURCE: Division = { name: "height of the source", property: "--mg-source-share", share: 40, across: false };

export class Panes {
  readonly element = html("div", { class: "mg-panes" });

  constructor(source: HTMLElement, graph: HTMLElement, details: HTMLElement) {
    this.element.append(source, this.bar(SOURCE), graph, this.bar(GRAPH), details);
  }

  private bar(division: Division): HTMLElement {
    const bar = html("div", {
      class: "mg-bar",
      role: "separator",
      tabindex: 0,
      title: "drag to move, double-click to put back",
      "aria-label": division.name,
      "aria-orientation": division.across ? "vertical" : "horizontal",
      "aria-valuemin": LEAST,
      "aria-valuemax": MOST,
    });
    this.divide(bar, division, division.share);
    bar.addEventListener("dblclick", () => this.divide(bar, division, division.share));
    bar.addEventListener("pointerdown", (event) => this.drag(event, bar, division));
    bar.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -STEP, ArrowUp: -STEP, ArrowRight: STEP, ArrowDown: STEP }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.divide(bar, division, Number(bar.getAttribute("aria-valuenow")) + by);
    });
    return bar;
  }

  private divide(bar: HTMLElement, division: Division, wanted: number): void {
    const share = Math.round(10 * Math.min(MOST, Math.max(LEAST, wanted))) / 10;
    mark(bar, "aria-valuenow", share);
    this.element.style.setProperty(division.property, `${share}%`);
  }

  private drag(event: PointerEvent, bar: HTMLElement, division: Division): void {
    if (event.button !== 0) return;
    event.preventDefault();
    bar.setPointerCapture(event.pointerId);
    const { left, top, width, height } = this.element.getBoundingClientRect();
    const move = ({ clientX, clientY }: PointerEvent): void =>
      this.divide(bar, division, 100 * (division.across ? (clientX - left) / width : (clientY - top) / height));
    const stop = (): void => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("pointerup", stop);
      bar.removeEventListener("pointercancel", stop);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", stop);
    bar.addEventListener("pointercancel", stop);
  }
}
