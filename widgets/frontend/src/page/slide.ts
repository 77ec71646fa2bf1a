/**
 * The slide view, for a class: full screen, in large type, with only the step's sentence and its picture. It fills the
 * window with the view and requests full screen, which a page in a frame may be denied.
 */
import { html, mark, svg } from "./dom";

const SCREEN = "M1.5 2.5H14.5V10.5H1.5ZM8 10.5V13.5M5 13.5H11";
const LONG = 130;

export class SlideView {
  readonly button = html("button", { type: "button", class: "mg-small mg-slide" });
  readonly #sentence = new MutationObserver(() => this.#size());
  #before = false;
  /** Whether we entered full screen, and must leave it. */
  #asked = false;
  #held = false;

  /** `changed` is called once the view has its new size. */
  constructor(
    private readonly root: HTMLElement,
    private readonly whole = new WholeWindow(root),
    private readonly changed: (on: boolean) => void = () => undefined,
  ) {
    const sign = svg("path", { d: SCREEN, fill: "none", stroke: "currentColor", "stroke-width": 1.5 });
    this.button.append(svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": true }, sign));
    this.button.addEventListener("click", () => this.#toggle());
    document.addEventListener("fullscreenchange", this.#screen);
    this.#name();
  }

  dispose(): void {
    document.removeEventListener("fullscreenchange", this.#screen);
    this.#sentence.disconnect();
  }

  readonly keys = { slide: (): void => this.#toggle(), escape: (): void => this.#escape() };

  get #on(): boolean {
    return this.root.hasAttribute("data-slide");
  }

  #toggle(): void {
    if (this.#on) this.#leave();
    else this.#enter();
  }

  /** Leaves the slide view or, if it is not on, the whole-window view. */
  #escape(): void {
    if (this.#on) this.#leave();
    else this.whole.show(false);
  }

  #enter(): void {
    this.#before = this.whole.on;
    mark(this.root, "data-slide", "");
    this.whole.show(true);
    this.#name();
    this.root.focus({ preventScroll: true });
    this.#sentence.observe(this.root, { subtree: true, childList: true, characterData: true });
    this.#size();
    this.changed(true);
    this.#asked = !document.fullscreenElement;
    this.#held = false;
    const asked = this.#asked ? document.documentElement.requestFullscreen?.() : undefined;
    asked?.catch((error: unknown) => console.info("minigrad: the slide view fills the window, not the screen", error));
  }

  #leave(): void {
    this.#sentence.disconnect();
    mark(this.root, "data-slide", null);
    this.whole.show(this.#before);
    this.#name();
    this.root.focus({ preventScroll: true });
    this.changed(false);
    this.#giveBack();
  }

  /** The browser's own Escape leaves full screen and is not a key of ours. */
  readonly #screen = (): void => {
    if (!this.#on) return this.#giveBack(); // it may have been left before full screen began
    if (!document.fullscreenElement) return this.#held ? this.#leave() : undefined; // a late event of an earlier time
    this.#held = true;
    this.whole.show(false); // what was on top before full screen is under it now
    this.whole.show(true);
    this.root.focus({ preventScroll: true });
  };

  #giveBack(): void {
    if (this.#asked && document.fullscreenElement) void document.exitFullscreen();
  }

  /** A long sentence is set in smaller type: the room for it stays the same. */
  #size(): void {
    const text = this.root.querySelector(".mg-text");
    if (text) mark(text, "data-long", (text.textContent ?? "").length > LONG ? "" : null);
  }

  #name(): void {
    const name = this.#on ? "leave the slide view (s or Escape)" : "slide view, for a class (s)";
    mark(this.button, "title", name);
    mark(this.button, "aria-label", name);
  }
}

// ---- Shows a view over the whole window and restores it, without moving it in the page: it becomes a popover.
// Four corners that point outwards, or inwards.
const FILL = "M1 5V1H5M11 1H15V5M15 11V15H11M5 15H1V11";
const BACK = "M5 1V5H1M15 5H11V1M11 15V11H15M1 11H5V15";

export class WholeWindow {
  readonly #sign = svg("path", { fill: "none", stroke: "currentColor", "stroke-width": 1.5 });
  readonly #picture = svg("svg", { viewBox: "0 0 16 16", width: 14, height: 14, "aria-hidden": true }, this.#sign);
  readonly button = html("button", { type: "button", class: "mg-small mg-whole" }, this.#picture);

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
    mark(this.#sign, "d", whole ? BACK : FILL);
    mark(this.button, "title", name);
    mark(this.button, "aria-label", name);
    mark(this.root, "data-whole", whole ? "" : null);
    // A popover that is not shown is hidden. In a browser without popovers, the style alone must suffice.
    mark(this.root, "popover", whole ? "manual" : null);
    if (whole) this.root.showPopover?.();
  }
}
