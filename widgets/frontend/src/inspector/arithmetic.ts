/** The arithmetic of a node in the details: its derivative with names, then with numbers, then the result. */
import { Unsupported, type NumberArray } from "../live/arrays";
import { evaluated } from "../live/functions";
import { agrees, numbersOf } from "../live/previews";
import { html, mark } from "../page/dom";
import { once } from "../trace/lists";
import { Contents, Receipts, type Received } from "../trace/received";
import { pieces, type Written } from "../trace/expression";
import { brief, inline, nodeName, tensorName, valueOf } from "../trace/format";
import type { Followed } from "./numbers";
import type { Moment } from "./lens";
import type { Expression, Maybe, Trace, Value } from "../trace/types";
import { entryText, entryArithmetic } from "./entry";

/** Lights the operands where they are drawn: edges by their keys, and saved tensors of a node. */
export type Light = (edges: readonly string[], saved: Maybe) => void;

/** What is known about the followed number. */
export interface Trail {
  /** The entry of a tensor that it reaches. */
  entry: (tensor: number) => Followed | undefined;
  /** All numbers of a preview. */
  array: (value: Maybe | undefined) => NumberArray | null;
}

type Child = Node | string;

const SHORT = 6;
const PILED = 8;
const ROWS = 12;
const ELSEWHERE = "The numbers above do not give this result: an operand may have been written to where the recorder does not see it, as NumPy does.";

/** A value in a line: the entries of a small one, shape and norm of a larger one. */
function short(value: Value | undefined): string {
  if (!value?.data || value.data.length > SHORT) return brief(value);
  return inline(value).replace(/^tensor\((.*)\)$/, "$1");
}

/** Which output of its node an operand is the gradient of; null if it is not a gradient. */
function outputOf(operand: string): number | null {
  const found = operand === "grad" ? "0" : /^grads\[(\d+)\]$/.exec(operand)?.[1];
  return found === undefined ? null : Number(found);
}

/** Why the formula of a kind of node is not written out. */
function reason(trace: Trace, name: string): string {
  const kept = (trace.expressions ?? []).length > 0;
  const why = /Backward$/.test(name) ? "it is what the Function’s own backward does"
    : name === "CopySlices" ? "it parts the gradient between what was written into the base and what was left of it"
    : /^AsStrided/.test(name) ? "it puts the gradient where the view lies in its base, and zeros elsewhere"
    : !kept ? "this recording has kept no arithmetic"
    : trace.library.startsWith("torch") ? "PyTorch computes it in C++, and no formula of minigrad’s stands for it"
    : "its code looks at numbers, uses what is no array, or is too long for a line";
  return `The formula of ${name} is not written out: ${why}.`;
}

export class Arithmetic {
  /** The followed number, if numbers can be followed. */
  trail: Trail | null = null;
  // Both look at all events: made when a node is first shown, they don't delay the opening of a large trace.
  readonly #receipts = once(() => new Receipts(this.trace));
  readonly #contents = once(() => new Contents(this.trace));
  /** By node, edge, and incoming and outgoing values: whether the numbers contradict. Computing it at every step would be slow. */
  readonly #verdicts = new Map<string, boolean>();
  #all: [edges: string[], saved: Maybe] = [[], null];

  constructor(
    private readonly trace: Trace,
    private readonly light: Light,
  ) {}

  /** The lines of a node at a moment; empty if there is nothing to compute. */
  at(id: number, moment: Moment): HTMLElement[] {
    const node = this.trace.nodes[id];
    const arriving = this.#flowed(id, moment);
    this.#all = moment.look(id).look === "running" ? [arriving, node && node.saved.length > 0 ? id : null] : [[], null];
    this.light(...this.#all);
    if (!node || moment.asking) return [];
    const lines = this.#sums(id, moment);
    if (node.variable !== undefined) lines.push(...this.#accumulated(id, node.variable, moment));
    node.next.forEach((edge, index) => {
      const found = this.trace.expressions?.[node.derivatives?.[index] ?? -1];
      if (edge && found !== undefined) lines.push(this.#derivative(id, index, found, moment));
    });
    const unwritten = node.next.flatMap((edge, index) => (edge && this.trace.expressions?.[node.derivatives?.[index] ?? -1] === undefined ? [index] : []));
    return unwritten.length > 0 ? [...lines, this.#unwritten(id, unwritten, moment)] : lines;
  }

  /** For a node without a formula: why there is none, and its incoming and outgoing values. */
  #unwritten(id: number, indices: readonly number[], moment: Moment): HTMLElement {
    const came = (this.#received(id, moment)?.gradient ?? []).map((value, nr, all) => [all.length > 1 ? `grads[${nr}]` : "grad", value] as const);
    const went = indices.map((index) => [this.#whose(id, index), moment.edge(`${id}:${index}`)] as const);
    const rows = [...came, ...went].flatMap(([name, value]) => (value == null ? [] : [`${name}: ${short(valueOf(this.trace, value))}`]));
    const shown = rows.length > ROWS ? [...rows.slice(0, ROWS), `and ${rows.length - ROWS} more`] : rows;
    const why = reason(this.trace, this.trace.nodes[id]?.name ?? "");
    const block = this.#line(shown.length > 0 ? `${why} What came and went:` : why, ...shown);
    mark(block, "data-unwritten", "true");
    return block;
  }

  /** The tensor whose gradient flows along an edge of a node. */
  #whose(id: number, index: number): string {
    const node = this.trace.nodes[id];
    const input = node?.inputs.length === node?.next.length ? node?.inputs[index] : undefined;
    const named = input === undefined || input === null ? undefined : this.trace.tensors[input]?.name;
    return named ? `grad of ${named}` : `grad for ${nodeName(this.trace, node?.next[index]?.[0] ?? id)}`;
  }

  /** The whole gradient that has come back for an output of a node; null while it is unknown. */
  arrived(id: number, output_nr: number, moment: Moment): Maybe {
    return moment.asking ? null : (this.#received(id, moment)?.arrived[output_nr] ?? null);
  }

  /** The edges along which a gradient has reached a node, or one of its outputs. */
  #flowed(id: number, moment: Moment, output: number | null = null): string[] {
    const arrivals = (this.#receipts().arriving.get(id) ?? []).filter((each) => output === null || each.output_nr === output);
    return arrivals.map((each) => each.key).filter((key) => moment.edge(key) !== undefined);
  }

  #line(what: string, ...lines: (Child | Child[])[]): HTMLElement {
    const rows = lines.map((line) => html("div", { class: "mg-equals" }, ...(Array.isArray(line) ? line : [line])));
    return html("div", { class: "mg-arithmetic" }, html("div", { class: "mg-quiet" }, what), ...rows);
  }

  /** The sum where several gradients meet. */
  #sums(id: number, moment: Moment): HTMLElement[] {
    if (this.#receipts().isRoot(id)) return [];
    const arrivals = this.#receipts().arriving.get(id) ?? [];
    const totals = this.#received(id, moment)?.arrived ?? moment.pending(id);
    const waits = moment.pending(id).length > 0;
    const together = (key: string): boolean => moment.now === null || this.#receipts().together(id, key, moment.now, waits);
    return [...new Set(arrivals.map((each) => each.output_nr))].flatMap((nr) => {
      const keys = arrivals.filter((each) => each.output_nr === nr && moment.edge(each.key) != null && together(each.key)).map((each) => each.key);
      const total = totals[nr];
      if (keys.length < 2 || total == null) return [];
      const shown = keys.slice(0, PILED).map((key) => this.#chip(short(valueOf(this.trace, moment.edge(key))), [key], null, "it came along this edge"));
      const more = keys.length > PILED ? [` + ${keys.length - PILED} more`] : [];
      const terms = shown.flatMap((chip, at) => (at > 0 ? [" + ", chip] : [chip]));
      const name = this.trace.nodes[id]?.derivatives?.length && totals.length > 1 ? `grads[${nr}]` : "grad";
      return [this.#line(`${name}, where ${keys.length} gradients meet`, [...terms, ...more], short(valueOf(this.trace, total)))];
    });
  }

  /** The input of a node's derivative; null while it is unknown. */
  #received(id: number, moment: Moment): Received | null {
    if (moment.received) return moment.received(id);
    const look = moment.look(id).look;
    if (look !== "ready") return moment.now === null || look === "waiting" || look === "recorded" ? null : this.#receipts().at(id, moment.now);
    const pending = moment.pending(id).map((entry) => entry ?? null);
    return { arrived: pending, gradient: pending, replaced: false };
  }

  #derivative(id: number, index: number, expression: Expression, moment: Moment): HTMLElement {
    const node = this.trace.nodes[id];
    const input = node?.inputs.length === node?.next.length ? node?.inputs[index] : undefined;
    const received = this.#received(id, moment);
    const result = moment.edge(`${id}:${index}`);
    const numbers = received?.gradient ? this.#numbers(id, received.gradient) : null;
    const rows: Child[][] = [this.#written(id, expression, (operand) => this.#nameOf(id, operand), moment)];
    if (numbers) rows.push(this.#written(id, expression, (operand) => numbers(operand) ?? this.#nameOf(id, operand), moment));
    if (result != null) rows.push([received?.replaced ? "" : short(valueOf(this.trace, result))]);
    const texts = rows.map((row) => row.map((child) => (typeof child === "string" ? child : (child.textContent ?? ""))).join(""));
    const different = rows.filter((_, at) => texts[at] !== "" && texts[at] !== texts[at - 1]);
    const block = this.#line(this.#whose(id, index), ...different);
    if (received?.gradient && result != null && !received.replaced && this.#contradicts(id, index, expression, received.gradient, result)) block.append(html("div", { class: "mg-quiet" }, ELSEWHERE));
    const entry = received?.gradient && input != null ? this.#entry(id, expression, input, received.gradient, result) : null;
    if (entry) block.append(entry);
    if (received?.replaced && result != null) block.append(html("div", { class: "mg-quiet" }, `then a hook left ${short(valueOf(this.trace, result))}`));
    return block;
  }

  /** The number of each operand for which the trace has one. */
  #numbers(id: number, gradient: readonly Maybe[]): (operand: string) => string | null {
    return (operand) => {
      const held = this.#held(id, operand, gradient);
      if (held == null) return outputOf(operand) === null ? null : "0";
      return short(valueOf(this.trace, held));
    };
  }

  /** Whether the numbers shown give another result than was recorded. */
  #contradicts(id: number, index: number, expression: Expression, gradient: readonly Maybe[], result: number): boolean {
    const recorded = valueOf(this.trace, result);
    if (!recorded || recorded.stale || recorded.live) return false;
    const key = [id, index, result, ...gradient].join();
    const known = this.#verdicts.get(key) ?? this.#differs(id, expression, gradient, recorded);
    this.#verdicts.set(key, known);
    return known;
  }

  #differs(id: number, expression: Expression, gradient: readonly Maybe[], recorded: Value): boolean {
    try {
      const found = evaluated(expression, (operand) => numbersOf(valueOf(this.trace, this.#held(id, operand, gradient))) ?? undefined, recorded);
      return !agrees(found, recorded);
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error;
      return false;
    }
  }

  /** The value of an operand. */
  #held(id: number, operand: string, gradient: readonly Maybe[]): Maybe | undefined {
    const output = outputOf(operand);
    if (output !== null) return gradient[output];
    const input = this.#inputOf(id, operand);
    if (input !== null) return this.#contents().given(id, input);
    const row = this.trace.nodes[id]?.saved.find(([name]) => name === operand);
    return row && this.#contents().saved(id, row[1], row[2]);
  }

  /** The same for the one entry that is followed. */
  #entry(id: number, expression: Expression, input: number, gradient: readonly Maybe[], result: Maybe | undefined): HTMLElement | null {
    const followed = this.trail?.entry(input);
    if (!this.trail || !followed) return null;
    const { array } = this.trail;
    const shape = this.trace.tensors[input]?.shape ?? [];
    const text = entryArithmetic(expression, shape, followed.at, (operand) => array(this.#held(id, operand, gradient)) ?? undefined);
    const number = array(result)?.data[followed.at];
    if (text === null && number === undefined) return null;
    const rows = [text, number === undefined ? null : entryText(number)].filter((each, at, all) => each !== null && each !== all[at - 1]);
    return html("div", { class: "mg-entry-line" }, html("span", { class: "mg-quiet" }, `at ${followed.place || "its only entry"}`), ...rows.map((row) => html("div", { class: "mg-equals" }, row ?? "")));
  }

  /** The tensor of an operand that is an input of the op. */
  #inputOf(id: number, operand: string): Maybe {
    const at = /^inputs\[(\d+)\]$/.exec(operand)?.[1];
    return at === undefined ? null : (this.trace.nodes[id]?.inputs[Number(at)] ?? null);
  }

  /** The name of an operand: for a saved tensor, that in the program. */
  #nameOf(id: number, operand: string): string {
    const tensor = this.#inputOf(id, operand) ?? this.trace.nodes[id]?.saved.find(([name]) => name === operand)?.[1] ?? null;
    return tensor === null ? operand : (this.trace.tensors[tensor]?.name ?? operand);
  }

  #written(id: number, expression: Expression, how: Written, moment: Moment): Child[] {
    return pieces(expression, how).map(({ text, operand }) => {
      if (operand === undefined) return text;
      const output = outputOf(operand);
      if (output !== null) return this.#chip(text, this.#flowed(id, moment, output), null, "the gradient that the node received");
      const saved = this.trace.nodes[id]?.saved.some(([name]) => name === operand);
      return saved ? this.#chip(text, [], id, `saved as ${operand}`) : text;
    });
  }

  /** An operand: pointing at it lights where it is drawn. */
  #chip(text: string, edges: string[], saved: Maybe, title: string): HTMLElement {
    const chip = html("span", { class: "mg-operand", title }, text);
    mark(chip, "data-operand", saved === null ? "grad" : "saved");
    chip.addEventListener("pointerenter", () => this.light(edges, saved));
    chip.addEventListener("pointerleave", () => this.light(...this.#all));
    return chip;
  }

  /** The effect of an AccumulateGrad on `.grad`. */
  #accumulated(id: number, tensor: number, moment: Moment): HTMLElement[] {
    const look = moment.look(id).look;
    const found = moment.now !== null && (look === "running" || look === "done") ? this.#receipts().accumulated(id, tensor, moment.now) : null;
    if (!found) return [];
    const [before, added, now] = [found.before, found.added, found.now].map((value) => short(valueOf(this.trace, value)));
    const unknown = found.before === undefined && added !== now; // it was set before the recording began
    const sum = unknown ? [`what it held + ${added}`] : found.before == null ? [] : [`${before} + ${added}`];
    return [this.#line(`${tensorName(this.trace, tensor)}.grad${found.before === null ? ", which was None" : ""}`, ...sum, now ?? "")];
  }
}
