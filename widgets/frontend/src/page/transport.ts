/** First, back, play, forward, last; the slider; the speed. It deals only with positions 0 to `last`. */
import { html, mark, svg } from "./dom";

const SPEEDS = [0.5, 1, 2, 4, 8];
const ICONS = {
  first: "M3 3h2v10H3zM13 3v10L6 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  last: "M11 3h2v10h-2zM3 3v10l7-5z",
};

/** What the two buttons that step are called, in every view; the texts of the lessons use these names. */
export const NAMES = { back: "← back", next: "next →" };

function iconOf(name: keyof typeof ICONS): SVGSVGElement {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": true }, svg("path", { d: ICONS[name] }));
}

export interface Commands {
  go(position: number): void;
  /** The position of a step, or of the last one before it. */
  positionOf?(step: number): number;
}

export class Transport {
  readonly element: HTMLElement;
  /** Around the slider: elements that follow the steps can be put above it. */
  readonly track = html("div", { class: "mg-track" });
  readonly #slider = html("input", { type: "range", min: 0, max: 0, step: 1, value: 0, class: "mg-slider" });
  readonly #counter = html("span", { class: "mg-counter", "aria-hidden": true });
  readonly #speed = html("select", { class: "mg-speed", "aria-label": "speed" });
  readonly #playButton: HTMLButtonElement;
  readonly #buttons: Record<string, HTMLButtonElement> = {};
  #timer: ReturnType<typeof setTimeout> | null = null;
  #position = 0;
  #last = 0;
  #steps: readonly number[] | null = null;

  constructor(private readonly commands: Commands) {
    for (const speed of SPEEDS) this.#speed.append(html("option", { value: speed }, `${speed} ×`));
    this.#speed.value = "1";
    this.#playButton = this.#button("play", "play (space)", () => this.toggle());
    this.#slider.setAttribute("aria-label", "step");
    this.#slider.addEventListener("input", () => this.#slid(Number(this.#slider.value)));
    const group = html(
      "div",
      { class: "mg-buttons", role: "toolbar", "aria-label": "steps" },
      this.#button("first", "first step (Home)", () => this.#go(0)),
      this.#button("back", "one step back (left arrow)", () => this.#go(this.#position - 1), NAMES.back),
      this.#playButton,
      this.#button("forward", "one step forward (right arrow)", () => this.#go(this.#position + 1), NAMES.next),
      this.#button("last", "last step (End)", () => this.#go(this.#last)),
    );
    this.track.append(this.#slider);
    this.element = html("div", { class: "mg-transport" }, group, this.track, html("div", { class: "mg-pace" }, this.#counter, this.#speed));
  }

  /** The actions of the keys that step. */
  get keys() {
    return {
      back: () => this.back(),
      forward: () => this.forward(),
      first: () => this.first(),
      last: () => this.end(),
      toggle: () => this.toggle(),
    };
  }

  get playing(): boolean {
    return this.#timer !== null;
  }

  /** `steps`: those of the positions, if the knob shares an axis with the bytes held. */
  show(position: number, last: number, valueText: string, counter: string, steps: readonly number[] | null = null): void {
    this.#position = position;
    this.#last = last;
    this.#steps = steps;
    this.#place();
    mark(this.#slider, "aria-valuetext", valueText);
    if (this.#counter.textContent !== counter) this.#counter.textContent = counter;
    for (const name of ["first", "back"]) this.#enable(name, position > 0);
    for (const name of ["forward", "last"]) this.#enable(name, position < last);
    if (this.playing && position >= last) this.pause();
  }

  #place(): void {
    const [at, most] = this.#steps ? [this.#steps[this.#position] ?? 0, this.#steps.at(-1) ?? 0] : [this.#position, this.#last];
    if (this.#slider.max !== String(most)) this.#slider.max = String(most);
    this.#slider.value = String(at);
    for (const [name, step] of [["--mg-from", this.#steps?.[0] ?? 0], ["--mg-way", at]] as const) this.#slider.style.setProperty(name, `${most === 0 ? 0 : (100 * step) / most}%`);
  }

  /** The knob was moved; it stays out of what comes before the first step. */
  #slid(value: number): void {
    this.#go(this.#steps && this.commands.positionOf ? this.commands.positionOf(value) : value);
    this.#place();
  }

  back(): void {
    this.pause();
    this.#go(this.#position - 1);
  }

  forward(): void {
    this.pause();
    this.#go(this.#position + 1);
  }

  first(): void {
    this.pause();
    this.#go(0);
  }

  end(): void {
    this.pause();
    this.#go(this.#last);
  }

  toggle(): void {
    if (this.playing) return this.pause();
    if (this.#position >= this.#last) this.#go(0);
    this.#dress("pause", "pause (space)");
    this.#tick();
  }

  pause(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dress("play", "play (space)");
  }

  #tick(): void {
    this.#timer = setTimeout(() => {
      this.#go(this.#position + 1);
      if (this.playing && this.#position < this.#last) this.#tick();
      else this.pause();
    }, 1000 / Number(this.#speed.value));
  }

  #go(position: number): void {
    this.commands.go(Math.max(0, Math.min(position, this.#last)));
  }

  /** Not `disabled`: a disabled button would lose the keyboard focus in the middle of stepping. */
  #enable(name: string, on: boolean): void {
    const button = this.#buttons[name];
    if (button) mark(button, "aria-disabled", String(!on));
  }

  #dress(name: "play" | "pause", title: string): void {
    this.#playButton.title = title;
    this.#playButton.setAttribute("aria-label", title);
    this.#playButton.querySelector("path")?.setAttribute("d", ICONS[name]);
  }

  /** A button with an icon or, where it has a name, with that: it is the one that the lessons speak of. */
  #button(name: keyof typeof ICONS | "back" | "forward", title: string, act: () => void, text = ""): HTMLButtonElement {
    const button = html("button", { type: "button", class: `mg-button mg-${name}`, title, "aria-label": text || title }, text);
    if (name !== "back" && name !== "forward") button.append(iconOf(name));
    button.addEventListener("click", () => {
      if (name !== "play") this.pause();
      act();
    });
    this.#buttons[name] = button;
    return button;
  }
}
