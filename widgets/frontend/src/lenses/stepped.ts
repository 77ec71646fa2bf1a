/** The common part of widgets that show something at a step: the sentence, the transport, the keys, the link to Python. */
import { html, mark, write } from "../page/dom";
import { listen } from "../page/keys";
import { SlideView } from "../page/slide";
import type { Link } from "../page/link";
import { Transport } from "../page/transport";

export interface Stop {
  step: number;
  text: string;
}

/** A view that stops at some steps of a trace. */
export class Stepped {
  readonly element: HTMLElement;
  readonly #text = html("output", { class: "mg-text", "aria-live": "polite" });
  readonly #transport = new Transport({ go: (position) => this.#go(position) });
  readonly #undo: (() => void)[] = [];
  readonly #slide: SlideView;
  #position = 0;

  /** `draw` shows a step in `body`; the up and down arrow keys are the body's own and go to `walk`. */
  constructor(
    name: string,
    private readonly stops: readonly Stop[],
    private readonly link: Link,
    body: HTMLElement,
    private readonly draw: (step: number) => void,
    private readonly walk: (by: 1 | -1) => void = () => undefined,
  ) {
    const label = `${name}; left and right arrow step, space plays, s shows it to a class`;
    this.element = html("div", { class: "mg-root", tabindex: 0, role: "region", "aria-label": label });
    const foot = html("div", { class: "mg-foot" }, this.#transport.element);
    this.#slide = new SlideView(this.element);
    this.element.append(html("div", { class: "mg-head" }, this.#text, this.#slide.button), body, foot);
    this.#undo.push(listen(this.element, this.#actions()), link.listen(() => this.#told()));
    this.#told();
  }

  dispose(): void {
    this.#transport.pause();
    this.#slide.dispose();
    this.link.flush();
    for (const undo of this.#undo) undo();
  }

  /** Goes to the last stop at or before a step. */
  visit(step: number): void {
    this.#transport.pause();
    this.#go(this.#positionOf(step));
  }

  #actions() {
    return { ...this.#transport.keys, ...this.#slide.keys, choose: () => undefined, walk: this.walk };
  }

  #positionOf(step: number): number {
    const after = this.stops.findIndex((stop) => stop.step > step);
    return Math.max(0, after < 0 ? this.stops.length - 1 : after - 1);
  }

  #told(): void {
    this.#transport.pause();
    this.#position = this.#positionOf(this.link.step);
    this.#show();
  }

  #go(position: number): void {
    this.#position = position;
    const stop = this.stops[position];
    if (stop) this.link.say("step", stop.step);
    this.#show();
  }

  #show(): void {
    const stop = this.stops[this.#position];
    const text = stop?.text ?? "nothing was recorded";
    const last = Math.max(0, this.stops.length - 1);
    write(this.#text, text);
    this.#transport.show(this.#position, last, text, `${this.#position} / ${last}`);
    mark(this.element, "data-step", stop?.step ?? "");
    this.draw(stop?.step ?? -1);
  }
}
