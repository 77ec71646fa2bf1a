/** The step of one rank on other numbers of ranks, by the alpha-beta model of docs/scale.md: three adjustable numbers. */
import { html, mark, write } from "../page/dom";
import { simulate } from "../trace/simulate";
import type { Schedule } from "../trace/simulate";
import { bar, ms } from "./bars";

const MOST = 10; // 1,024 ranks

export class Elsewhere {
  readonly element: HTMLElement;
  private readonly ranks = html("select", { "aria-label": "ranks" });
  private readonly alpha = entry("alpha, microseconds for each message", 5);
  private readonly beta = entry("beta, nanoseconds for each byte", 0.04);
  private readonly says = html("output", { class: "mg-elsewhere-says", "aria-live": "polite" });
  private readonly track = html("div", { class: "mg-track", "aria-hidden": true });
  private rank = 0;
  private schedule: Schedule = { events: [], last: 0 };

  constructor() {
    for (let power = 0; power <= MOST; power++) this.ranks.append(html("option", { value: 2 ** power }, (2 ** power).toLocaleString("en")));
    this.ranks.value = "64";
    const turned = html("div", { class: "mg-turned" }, html("label", {}, this.ranks, " ranks"), html("label", {}, "alpha ", this.alpha, " µs a message"), html("label", {}, "beta ", this.beta, " ns a byte"));
    turned.addEventListener("input", () => this.draw());
    this.element = html("details", { class: "mg-elsewhere" }, html("summary", {}, "the same step on other ranks"), turned, this.says, this.track);
  }

  /** Takes the step of another rank. */
  show(rank: number, schedule: Schedule): void {
    if (this.schedule === schedule) return;
    [this.rank, this.schedule] = [rank, schedule];
    this.draw();
  }

  private draw(): void {
    const [ranks, alpha, beta] = [this.ranks, this.alpha, this.beta].map((each) => Number(each.value)) as [number, number, number];
    const wrong = !(alpha >= 0 && beta >= 0);
    mark(this.element, "data-wrong", wrong ? "" : null);
    if (wrong) return write(this.says, "alpha and beta are 0 or more");
    const { seconds, computing, exposed, calls, waits } = simulate(this.schedule, ranks, 1e-6 * alpha, 1e-9 * beta);
    write(this.says, `rank ${this.rank}'s step: ${ms(1e3 * seconds)}, of which ${ms(1e3 * computing)} computing and ${ms(1e3 * exposed)} waiting for others`);
    const span = Math.max(seconds, ...calls.map((call) => call.ended), 1e-9);
    const busy = calls.map((call, at) => {
      const element = bar("running", call.begun, call.ended, span);
      mark(element, "data-colour", at % 4);
      return element;
    });
    this.track.replaceChildren(bar("backward", 0, seconds, span), ...waits.filter(([begin, end]) => end > begin).map(([begin, end]) => bar("wait", begin, end, span)), ...busy);
  }
}

function entry(name: string, value: number): HTMLInputElement {
  return html("input", { type: "number", class: "mg-entry", min: 0, step: "any", value, "aria-label": name });
}
