/** Shows a view over the whole window and restores it, without moving it in the page: it becomes a popover. */
import { html, mark, svg } from "./dom";

// Four corners that point outwards, or inwards.
const FILL = "M1 5V1H5M11 1H15V5M15 11V15H11M5 15H1V11";
const BACK = "M5 1V5H1M15 5H11V1M11 15V11H15M1 11H5V15";

export class WholeWindow {
  private readonly sign = svg("path", { fill: "none", stroke: "currentColor", "stroke-width": 1.5 });
  private readonly picture = svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": true }, this.sign);
  readonly button = html("button", { type: "button", class: "mg-small mg-whole" }, this.picture);

  constructor(private readonly root: HTMLElement) {
    this.button.addEventListener("click", () => this.toggle());
    this.show(false);
  }

  toggle(): void {
    this.show(!this.on);
  }

  get on(): boolean {
    return this.root.hasAttribute("data-whole");
  }

  show(whole: boolean): void {
    const name = whole ? "back into the page (f or Escape)" : "fill the window (f)";
    mark(this.sign, "d", whole ? BACK : FILL);
    mark(this.button, "title", name);
    mark(this.button, "aria-label", name);
    mark(this.root, "data-whole", whole ? "" : null);
    // A popover that is not shown is hidden. In a browser without popovers, the style alone must suffice.
    mark(this.root, "popover", whole ? "manual" : null);
    if (whole) this.root.showPopover?.();
  }
}
