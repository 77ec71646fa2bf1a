/** Several ranks on one time axis: which computes, which waits, and for which. The data comes from rank_lanes.py. */
import { html, mark, write } from "../page/dom";
import type { Link } from "../page/link";
import { bytes } from "../trace/format";
import { Stepped } from "./stepped";

interface Seen {
  lane: number;
  called: number;
  begun: number;
  ended: number;
  wait: [number, number];
  ready: (number | null)[];
}

interface Operation {
  op: string;
  label: string;
  bucket: number | null;
  size: number;
  parameters: string[];
  row: number;
  seen: Seen[];
}

export interface Lanes {
  span: number;
  rows: number;
  ranks: number;
  lanes: { rank: number; passes: [number, number][]; schedule: Schedule }[];
  operations: Operation[];
}

const COLOURS = 4;
const MANY = 4; // lanes; more of them are drawn thinner, so that all are visible at once
const MEANINGS = [["backward", "backward pass"], ["wait", "the rank only waits"], ["fill", "gradients wait in their bucket"], ["pending", "called, not yet by all ranks"], ["running", "runs"]] as const;

/** Round times for the axis, about six of them. */
function ticks(span: number): number[] {
  const rough = span / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10);
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, at) => Number((at * step).toPrecision(6)));
}

const nameOf = (operation: Operation): string => (operation.bucket === null ? operation.label : `bucket ${operation.bucket}`);

function lastOf(operation: Operation): Seen | undefined {
  return [...operation.seen].sort((a, b) => b.called - a.called)[0];
}

/** An operation in a sentence: which rank was waited for, and how long it then took. */
function told(found: Lanes, operation: Operation): string {
  const name = `${nameOf(operation)}, ${bytes(operation.size)}`;
  const last = lastOf(operation);
  if (!last) return name;
  const rank = (seen: Seen): string => `rank ${found.lanes[seen.lane]?.rank ?? "?"}`;
  const runs = `it ran for ${ms(Math.max(0, last.ended - last.begun))}`;
  if (operation.seen.length === 1) return `${name}: ${rank(last)} called it, and the others had done so ${ms(last.begun - last.called)} later; ${runs}`;
  const first = Math.min(...operation.seen.map((seen) => seen.called));
  return `${name}: ${rank(last)} was waited for: ${ms(last.called - first)}; then ${runs}`;
}

class Drawing {
  readonly element = html("div", { class: "mg-ranks" });
  readonly #bars: { at: number; lane: number; element: HTMLElement }[] = [];
  readonly #names: HTMLElement[] = [];
  readonly #details = html("div", { class: "mg-seen", tabindex: 0, role: "group", "aria-label": "the operation, as each rank saw it" });
  readonly #elsewhere: Elsewhere | null;
  #step = 0;
  #lane = 0;
  #go: (step: number) => void = () => undefined;

  constructor(private readonly found: Lanes) {
    const { lanes, operations } = found;
    const chart = html("div", { class: "mg-rank-chart", role: "group", "aria-label": "a lane for each rank, on one time axis" });
    chart.style.setProperty("--mg-rows", String(found.rows));
    mark(chart, "data-many", lanes.length > MANY ? "" : null);
    chart.append(this.#axis(), ...lanes.map((_, at) => this.#laneOf(at)));
    const kinds = MEANINGS.map(([kind, says]) => html("span", { class: "mg-kind" }, html("i", { class: "mg-key mg-span", "data-kind": kind, "data-colour": 0 }), says));
    this.#elsewhere = operations.length > 0 ? new Elsewhere() : null;
    this.element.append(chart, html("div", { class: "mg-kinds", "aria-hidden": true }, ...kinds), this.#details);
    if (this.#elsewhere) this.element.append(this.#elsewhere.element);
  }

  /** Lets a click on an operation lead to it. */
  leads(go: (step: number) => void): void {
    this.#go = go;
  }

  /** The next lane, or the previous one: the gradients and step of its rank are shown below. */
  walk(by: 1 | -1): void {
    this.#lane = (this.#lane + by + this.found.lanes.length) % this.found.lanes.length;
    this.#draw(this.#step);
  }

  show(step: number): void {
    this.#step = step;
    this.#draw(step);
  }

  /** The same operation is lit on all ranks; the pointer shows another one while it is over it. */
  #draw(step: number, lane = this.#lane): void {
    for (const each of this.#bars) mark(each.element, "data-look", each.at === step ? (each.lane === lane ? "here" : "lit") : null);
    this.#names.forEach((name, at) => mark(name, "data-here", at === lane ? "" : null));
    const operation = this.found.operations[step];
    this.#details.replaceChildren(...(operation ? this.#told(operation, lane) : []));
    const chosen = this.found.lanes[lane];
    if (chosen) this.#elsewhere?.show(chosen.rank, chosen.schedule);
  }

  #axis(): HTMLElement {
    const { span } = this.found;
    const marks = ticks(span).map((time) => {
      const tick = html("span", { class: "mg-tick" }, `${time}`);
      tick.style.left = `${(100 * time) / span}%`;
      return tick;
    });
    return html("div", { class: "mg-rank mg-axis", "aria-hidden": true }, html("span", { class: "mg-quiet" }, "ms"), html("div", { class: "mg-track" }, ...marks));
  }

  #laneOf(at: number): HTMLElement {
    const { span, lanes, operations } = this.found;
    const lane = lanes[at];
    const seen = operations.flatMap((operation, step) => operation.seen.filter((each) => each.lane === at).map((each) => ({ step, operation, each })));
    const waits = seen.reduce((sum, { each }) => sum + Math.max(0, each.wait[1] - each.wait[0]), 0);
    const name = html("div", { class: "mg-rank-name" }, html("b", {}, `rank ${lane?.rank ?? at}`), html("span", { class: "mg-quiet" }, `waits ${ms(waits)}`));
    this.#names.push(name);
    const passes = (lane?.passes ?? []).map(([begin, end]) => bar("backward", begin, end, span));
    const stretches = seen.map(({ each }) => bar("wait", ...each.wait, span));
    const track = html("div", { class: "mg-track" }, ...passes, ...stretches, ...seen.map(({ step, operation, each }) => this.#operation(step, operation, each)));
    return html("div", { class: "mg-rank" }, name, track);
  }

  #operation(step: number, operation: Operation, seen: Seen): HTMLElement {
    const { span, lanes } = this.found;
    const since = Math.min(seen.called, ...seen.ready.filter((time) => time !== null));
    const whole = Math.max(seen.ended - since, 1e-6);
    const label = `${nameOf(operation)}, rank ${lanes[seen.lane]?.rank ?? "?"}`;
    const element = html("button", { type: "button", class: "mg-collective", tabindex: -1, "aria-label": label, "data-colour": (operation.bucket ?? step) % COLOURS });
    element.style.left = `${(100 * since) / span}%`;
    element.style.width = `${(100 * whole) / span}%`;
    element.style.setProperty("--mg-row", String(operation.row));
    const parts = [["fill", since, seen.called], ["pending", seen.called, seen.begun], ["running", seen.begun, seen.ended]] as const;
    element.append(...parts.map(([kind, begin, end]) => bar(kind, begin - since, end - since, whole)));
    if (operation.bucket !== null) {
      const number = html("b", { "aria-hidden": true }, String(operation.bucket));
      number.style.left = `${(100 * (seen.called - since)) / whole}%`;
      element.append(number);
    }
    element.addEventListener("click", () => {
      this.#lane = seen.lane;
      this.#go(step);
    });
    element.addEventListener("pointerenter", () => this.#draw(step, seen.lane));
    element.addEventListener("pointerleave", () => this.#draw(this.#step));
    this.#bars.push({ at: step, lane: seen.lane, element });
    return element;
  }

  /** When each rank called the operation, and which gradients waited for it. */
  #told(operation: Operation, lane: number): HTMLElement[] {
    const last = lastOf(operation);
    const heads = ["rank", "called at", "all had called", "over", "until all had called", "the rank only waits"];
    const lines = [...operation.seen].sort((a, b) => b.called - a.called).map((seen) => {
      const rank = `rank ${this.found.lanes[seen.lane]?.rank ?? "?"}${seen === last && operation.seen.length > 1 ? ", the last" : ""}`;
      const times = [seen.called, seen.begun, seen.ended, seen.begun - seen.called, seen.wait[1] - seen.wait[0]];
      const line = html("tr", {}, html("th", { scope: "row" }, rank), ...times.map((time) => html("td", {}, ms(time))));
      mark(line, "data-here", seen.lane === lane ? "" : null);
      return line;
    });
    const head = html("tr", {}, ...heads.map((each) => html("th", { scope: "col" }, each)));
    const table = html("table", { class: "mg-table" }, html("thead", {}, head), html("tbody", {}, ...lines));
    const heading = html("h3", { class: "mg-heading" }, `${nameOf(operation)} · ${bytes(operation.size)}${operation.label === operation.op ? "" : ` · ${operation.op}`}`);
    return [heading, this.#parameters(operation, lane), table];
  }

  #parameters(operation: Operation, lane: number): HTMLElement {
    const seen = operation.seen.find((each) => each.lane === lane);
    const rank = this.found.lanes[lane]?.rank ?? "?";
    const names = operation.parameters.map((name, at) => {
      const ready = seen?.ready[at] ?? null;
      const wait = ready === null || !seen ? "" : ` ${ms(seen.called - ready)}`;
      return html("span", { class: "mg-waiting" }, html("b", {}, name), wait);
    });
    const says = operation.parameters.length === 0 ? "No parameters: the program called it itself." : `Gradients in it, and how long each waited on rank ${rank} for the bucket to be full:`;
    return html("p", { class: "mg-waiters" }, html("span", { class: "mg-quiet" }, says), ...names);
  }
}

export function lanesView(found: Lanes, link: Link): Stepped {
  const drawing = new Drawing(found);
  const stops = found.operations.map((operation, step) => ({ step, text: told(found, operation) }));
  if (stops.length === 0) stops.push({ step: 0, text: "no operation of several ranks was recorded" });
  const view = new Stepped("lanes of ranks; up and down arrow choose a rank", stops, link, drawing.element, (step) => drawing.show(step), (by) => drawing.walk(by));
  drawing.leads((step) => view.visit(step));
  return view;
}

// ---- Bars along a time axis, and times in words.
/** Milliseconds in a readable form. */
export function ms(time: number): string {
  return `${time.toFixed(Math.abs(time) < 10 ? 2 : Math.abs(time) < 100 ? 1 : 0)} ms`;
}

/** A bar from one time to another, in hundredths of the axis; a bar of no duration is still visible. */
export function bar(kind: string, begin: number, end: number, span: number): HTMLElement {
  const element = html("i", { class: "mg-span", "data-kind": kind });
  element.style.left = `${(100 * begin) / span}%`;
  element.style.width = `${Math.max(0, (100 * (end - begin)) / span)}%`;
  return element;
}

// ---- The step of one rank on other numbers of ranks, by the alpha-beta model of docs/scale.md: three adjustable
// numbers.
const MOST = 10; // 1,024 ranks

export class Elsewhere {
  readonly element: HTMLElement;
  readonly #ranks = html("select", { "aria-label": "ranks" });
  readonly #alpha = entry("alpha, microseconds for each message", 5);
  readonly #beta = entry("beta, nanoseconds for each byte", 0.04);
  readonly #says = html("output", { class: "mg-elsewhere-says", "aria-live": "polite" });
  readonly #track = html("div", { class: "mg-track", "aria-hidden": true });
  #rank = 0;
  #schedule: Schedule = { events: [], last: 0 };

  constructor() {
    for (let power = 0; power <= MOST; power++) this.#ranks.append(html("option", { value: 2 ** power }, (2 ** power).toLocaleString("en")));
    this.#ranks.value = "64";
    const turned = html("div", { class: "mg-turned" }, html("label", {}, this.#ranks, " ranks"), html("label", {}, "alpha ", this.#alpha, " µs a message"), html("label", {}, "beta ", this.#beta, " ns a byte"));
    turned.addEventListener("input", () => this.#draw());
    this.element = html("details", { class: "mg-elsewhere" }, html("summary", {}, "the same step on other ranks"), turned, this.#says, this.#track);
  }

  /** Takes the step of another rank. */
  show(rank: number, schedule: Schedule): void {
    if (this.#schedule === schedule) return;
    [this.#rank, this.#schedule] = [rank, schedule];
    this.#draw();
  }

  #draw(): void {
    const [ranks, alpha, beta] = [this.#ranks, this.#alpha, this.#beta].map((each) => Number(each.value)) as [number, number, number];
    const wrong = !(alpha >= 0 && beta >= 0);
    mark(this.element, "data-wrong", wrong ? "" : null);
    if (wrong) return write(this.#says, "alpha and beta are 0 or more");
    const { seconds, computing, exposed, calls, waits } = simulate(this.#schedule, ranks, 1e-6 * alpha, 1e-9 * beta);
    write(this.#says, `rank ${this.#rank}'s step: ${ms(1e3 * seconds)}, of which ${ms(1e3 * computing)} computing and ${ms(1e3 * exposed)} waiting for others`);
    const span = Math.max(seconds, ...calls.map((call) => call.ended), 1e-9);
    const busy = calls.map((call, at) => {
      const element = bar("running", call.begun, call.ended, span);
      mark(element, "data-colour", at % 4);
      return element;
    });
    this.#track.replaceChildren(bar("backward", 0, seconds, span), ...waits.filter(([begin, end]) => end > begin).map(([begin, end]) => bar("wait", begin, end, span)), ...busy);
  }
}

function entry(name: string, value: number): HTMLInputElement {
  return html("input", { type: "number", class: "mg-entry", min: 0, step: "any", value, "aria-label": name });
}

// ---- The duration of a recorded step on other numbers of ranks, as minigrad/trace/simulation.py computes it from the
// same events.
const [START, WAIT, END] = [0, 1, 2];

/** The calls, waits and ends of one rank, in seconds since its recording began, and the time of its last event. */
export interface Schedule {
  events: [kind: number, time: number, call: number, size: number][];
  last: number;
}

export interface Simulation {
  seconds: number;
  computing: number;
  exposed: number;
  /** When each operation could begin, began and ended, and in which periods the rank only waits. */
  calls: { called: number; begun: number; ended: number }[];
  waits: [begin: number, end: number][];
}

/** An all-reduce in a ring: 2 (p - 1) messages, one after the other, each with 1/p of the bytes. */
function allReduceSeconds(size: number, ranks: number, alpha: number, beta: number): number {
  return 2 * (ranks - 1) * (alpha + (size / ranks) * beta);
}

export function simulate(schedule: Schedule, ranks: number, alpha: number, beta: number): Simulation {
  const ended = new Map<number, number>();
  const since = new Map<number, number>();
  const found: Simulation = { seconds: 0, computing: 0, exposed: 0, calls: [], waits: [] };
  let [waited, free] = [0, 0];
  for (const [kind, time, call, size] of schedule.events) {
    const now = time - waited + found.exposed;
    if (kind === START) {
      const begun = Math.max(now, free);
      free = begun + allReduceSeconds(size, ranks, alpha, beta);
      ended.set(call, free);
      found.calls.push({ called: now, begun, ended: free });
    } else if (kind === WAIT) {
      since.set(call, time);
      const end = Math.max(now, ended.get(call) ?? now);
      found.exposed += end - now;
      found.waits.push([now, end]);
    } else if (kind === END) {
      waited += time - (since.get(call) ?? time);
    }
  }
  found.computing = schedule.last - waited;
  found.seconds = found.computing + found.exposed;
  return found;
}
