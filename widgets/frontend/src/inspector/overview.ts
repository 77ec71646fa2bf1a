/** The model at a glance, where no node is chosen: what it is, which of its parts costs most, where gradients shrink. */
import { html } from "../page/dom";
import { number } from "../trace/format";
import { boxOf, isTransform, boxTitle, chain } from "../trace/groups";
import { gradientSize, measureText, Rows, sizeIn, type Row } from "../trace/rows";
import type { Maybe, Trace } from "../trace/types";

interface Part {
  name: string;
  /** Its class; nothing for several modules, or for the ops between them. */
  kind: string;
  row: Row;
  /** Its first node, to be chosen. */
  node: number;
}

/** The parts of the model: the boxes in which it opens or, of a small one, its innermost modules. */
function parts(trace: Trace): Part[] {
  const rows = new Rows(trace);
  const around = new Set(trace.scopes?.map(({ parent }) => parent));
  const opening = new Set(trace.folded ?? []);
  const found = new Map<number, Part>();
  trace.nodes.forEach(({ scope, variable }, node) => {
    const scopes = chain(trace, scope).reverse();
    const id = opening.size > 0 ? scopes.find((each) => opening.has(each)) : scopes.find((each) => !around.has(each));
    const row = id === undefined ? null : rows.of(boxOf(id));
    if (id === undefined || !row) return;
    const known = found.get(id);
    if (!known || (variable === undefined && trace.nodes[known.node]?.variable !== undefined)) found.set(id, { name: boxTitle(trace, id), kind: trace.scopes?.[id]?.module ?? "", row, node });
  });
  return [...found.values()];
}

const spent = (row: Row): number => (row.forward ?? 0) + (row.backward ?? 0);
const percent = (part: number, whole: number): string => (whole > 0 ? ` (${Math.round((100 * part) / whole)} %)` : "");

/** A size in two digits, which stays on one line: a break after the sign of an exponent would be misread. */
function size(entry: number): HTMLElement {
  const text = entry >= 1e3 ? Math.round(Number(entry.toPrecision(2))).toLocaleString("en") : number(Number(entry.toPrecision(2)));
  return html("span", { class: "mg-size" }, text.replace(/\.$/, "").replace(/\.?0+e/, "e"));
}

/** The lines of the card: what they are about, and what they say. Nothing for a program without modules. */
export function overview(trace: Trace, pick: (node: Maybe) => void): HTMLElement[] {
  const all = parts(trace);
  const rows = new Rows(trace);
  const top = trace.scopes?.findIndex(({ parent }) => parent === null) ?? -1;
  const whole = top < 0 ? null : rows.of(boxOf(top));
  const scope = trace.scopes?.[top];
  if (all.length === 0 || !whole || isTransform(scope)) return [];
  const link = ({ name, kind, node }: Part): HTMLElement => {
    const button = html("button", { type: "button", class: "mg-link" }, name);
    button.addEventListener("click", () => pick(node));
    return html("span", {}, button, kind === "" ? "" : ` ${kind}`);
  };
  const lines: [string, ...(Node | string)[]][] = [];
  const facts = [measureText(whole, "parameters"), `${trace.nodes.length} nodes`];
  lines.push(["is", `${trace.scopes?.[top]?.module ?? ""}, ${facts[0] ? `${facts[0]} parameters, ` : ""}${facts[1]}`]);
  const most = (size: (row: Row) => number): Part => all.reduce((best, each) => (size(each.row) > size(best.row) ? each : best));
  const time = most(spent);
  const total = trace.nodes.reduce((sum, { seconds }) => sum + (seconds?.[0] ?? 0) + (seconds?.[1] ?? 0), 0);
  if (spent(time.row) > 0) lines.push(["most time", link(time), `: ${measureText({ ...time.row, forward: spent(time.row) }, "forward")} forward and backward${percent(spent(time.row), total)}`]);
  const memory = most(({ saved }) => saved);
  if (memory.row.saved > 0) lines.push(["saves most", link(memory), `: ${measureText(memory.row, "saved")}`]);
  const large = most(({ parameters }) => parameters);
  if (large.row.parameters > 0) lines.push(["is largest", link(large), `: ${measureText(large.row, "parameters")} parameters${percent(large.row.parameters, whole.parameters)}`]);
  lines.push(...gradients(all, link));
  const card = html("dl", { class: "mg-overview" }, ...lines.flatMap(([name, ...told]) => [html("dt", {}, name), html("dd", {}, ...told)]));
  return [html("h3", { class: "mg-name" }, "the model"), card];
}

/** Where the gradient is largest and smallest, per entry; or that it was not kept. */
function gradients(all: readonly Part[], link: (part: Part) => HTMLElement): [string, ...(Node | string)[]][] {
  const broken = all.find(({ row }) => sizeIn(row, "gradient") === Infinity);
  if (broken) return [["gradient", "not a finite number at ", link(broken)]];
  const sized = all.filter(({ name }) => name !== "loss").flatMap((part) => {
    const size = gradientSize(part.row);
    return typeof size === "number" ? [{ part, size }] : [];
  }).sort((a, b) => b.size - a.size);
  const [first, last] = [sized[0], sized.at(-1)];
  if (!first || !last || first === last) return all.some(({ row }) => row.gradient === "not kept") ? [["gradient", "not kept at this level of detail"]] : [];
  const fold = last.size > 0 ? [", ", size(first.size / last.size), " times smaller"] : [];
  return [["gradient", "of outputs: largest at ", link(first.part), ": ", size(first.size), " per entry; smallest at ", link(last.part), ": ", size(last.size), ...fold]];
}
