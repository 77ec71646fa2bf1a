/**
 * The slide view, for a class: full screen, in large type, with only the step's sentence and its picture. It fills the
 * window with the view and requests full screen, which a page in a frame may be denied.
 */
import { html, mark, svg } from "./dom";
import { WholeWindow } from "./whole";

const SCREEN = "M1.5 2.5H14.5V10.5H1.5ZM8 10.5V13.5M5 13.5H11";
const LONG = 130;

export class SlideView {
  readonly button = html("button", { type: "button", class: "mg-small mg-slide" });
  private readonly sentence = new MutationObserver(() => this.size());
  private before = false;
  /** Whether we entered full screen, and must leave it. */
  private asked = false;
  private held = false;

  /** `changed` is called once the view has its new size. */
  constructor(
    private readonly root: HTMLElement,
    private readonly whole = new WholeWindow(root),
    private readonly changed: (on: boolean) => void = () => undefined,
  ) {
    const sign = svg("path", { d: SCREEN, fill: "none", stroke: "currentColor", "stroke-width": 1.5 });
    this.button.append(svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": true }, sign));
    this.button.addEventListener("click", () => this.toggle());
    document.addEventListener("fullscreenchange", this.screen);
    this.name();
  }

  dispose(): void {
    document.removeEventListener("fullscreenchange", this.screen);
    this.sentence.disconnect();
  }

  readonly keys = { slide: (): void => this.toggle(), escape: (): void => this.escape() };

  private get on(): boolean {
    return this.root.hasAttribute("data-slide");
  }

  private toggle(): void {
    if (this.on) this.leave();
    else this.enter();
  }

  /** Leaves the slide view or, if it is not on, the whole-window view. */
  private escape(): void {
    if (this.on) this.leave();
    else this.whole.show(false);
  }

  private enter(): void {
    this.before = this.whole.on;
    mark(this.root, "data-slide", "");
    this.whole.show(true);
    this.name();
    this.root.focus({ preventScroll: true });
    this.sentence.observe(this.root, { subtree: true, childList: true, characterData: true });
    this.size();
    this.changed(true);
    this.asked = !document.fullscreenElement;
    this.held = false;
    const asked = this.asked ? document.documentElement.requestFullscreen?.() : undefined;
    asked?.catch((error: unknown) => console.info("minigrad: the slide view fills the window, not the screen", error));
  }

  private leave(): void {
    this.sentence.disconnect();
    mark(this.root, "data-slide", null);
    this.whole.show(this.before);
    this.name();
    this.root.focus({ preventScroll: true });
    this.changed(false);
    this.giveBack();
  }

  /** The browser's own Escape leaves full screen and is not a key of ours. */
  private readonly screen = (): void => {
    if (!this.on) return this.giveBack(); // it may have been left before full screen began
    if (!document.fullscreenElement) return this.held ? this.leave() : undefined; // a late event of an earlier time
    this.held = true;
    this.whole.show(false); // what was on top before full screen is under it now
    this.whole.show(true);
    this.root.focus({ preventScroll: true });
  };

  private giveBack(): void {
    if (this.asked && document.fullscreenElement) void document.exitFullscreen();
  }

  /** A long sentence is set in smaller type: the room for it stays the same. */
  private size(): void {
    const text = this.root.querySelector(".mg-text");
    if (text) mark(text, "data-long", (text.textContent ?? "").length > LONG ? "" : null);
  }

  private name(): void {
    const name = this.on ? "leave the slide view (s or Escape)" : "slide view, for a class (s)";
    mark(this.button, "title", name);
    mark(this.button, "aria-label", name);
  }
}
