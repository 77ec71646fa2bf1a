/** The model at a glance, where no node is chosen: what it is, which of its parts costs most, where gradients shrink. */
import { html } from "../page/dom";
import { number, shape } from "../trace/format";
import { boxOf, isTransform, boxTitle, chain } from "../trace/groups";
import { measureText, Rows, several, sizeIn, type Measure, type Row } from "../trace/rows";
import type { Maybe, Trace } from "../trace/types";

type Line = [string, ...(Node | string)[]];

interface Part {
  name: string;
  /** Its class; nothing for several modules, or for the ops between them. */
  kind: string;
  row: Row;
  /** Its first node, to be chosen. */
  node: number;
  nodes: number[];
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
    if (!known) return void found.set(id, { name: boxTitle(trace, id), kind: trace.scopes?.[id]?.module ?? "", row, node, nodes: [node] });
    known.nodes.push(node);
    if (variable === undefined && trace.nodes[known.node]?.variable !== undefined) known.node = node;
  });
  return [...found.values()];
}

const spent = (row: Row): number => sizeIn(row, "time") ?? 0;
const percent = (part: number, whole: number): string => (whole > 0 ? ` (${Math.round((100 * part) / whole)} %)` : "");
const listed = (names: readonly Node[]): (Node | string)[] => names.flatMap((name, at) => (at === 0 ? [name] : [at === names.length - 1 ? " and " : ", ", name]));

/** How many times as large, in two digits; it stays on one line: a break after the sign of an exponent would be misread. */
function times(fold: number): HTMLElement {
  const text = fold >= 1e3 ? Math.round(Number(fold.toPrecision(2))).toLocaleString("en") : number(Number(fold.toPrecision(2))).replace(/\.$/, "");
  return html("span", { class: "mg-size" }, `${text}×`);
}

/** The lines of the card: what they are about, and what they say. Nothing for a program without modules. */
export function overview(trace: Trace, pick: (node: Maybe) => void): HTMLElement[] {
  const all = parts(trace);
  const top = trace.scopes?.findIndex(({ parent }) => parent === null) ?? -1;
  const whole = top < 0 ? null : new Rows(trace).of(boxOf(top));
  const scope = trace.scopes?.[top];
  if (all.length === 0 || !whole || isTransform(scope)) return [];
  const link = ({ name, kind, node }: Part): HTMLElement => {
    const button = html("button", { type: "button", class: "mg-link" }, name);
    button.addEventListener("click", () => pick(node));
    return html("span", {}, button, kind === "" ? "" : ` ${kind}`);
  };
  const most = (measure: Measure): Part => all.reduce((best, each) => ((sizeIn(each.row, measure) ?? 0) > (sizeIn(best.row, measure) ?? 0) ? each : best));
  const counted = measureText(whole, "parameters");
  const lines: Line[] = [["is", `${scope?.module ?? ""}, ${counted ? `${several(counted, "parameter")}, ` : ""}${several(String(trace.nodes.length), "node")}`]];
  const time = most("time");
  const total = trace.nodes.reduce((sum, { seconds }) => sum + (seconds?.[0] ?? 0) + (seconds?.[1] ?? 0), 0);
  if (spent(time.row) > 0) lines.push(["most time", link(named(time)), `: ${measureText(time.row, "time", 2)} in both passes${percent(spent(time.row), total)}`]);
  lines.push(...gradients(trace, all, link), ...warmUp(trace, all, total, link));
  const [memory, large] = [most("saved"), most("parameters")];
  if (memory.row.saved > 0) lines.push(["saves most", link(memory), `: ${measureText(memory.row, "saved", 2)}`]);
  if (large.row.parameters > 0) lines.push(["is largest", link(large), `: ${several(measureText(large.row, "parameters", 2), "parameter")}${percent(large.row.parameters, whole.parameters)}`]);
  lines.push(...shared(trace, all, link));
  const card = html("dl", { class: "mg-overview" }, ...lines.flatMap(([name, ...told]) => [html("dt", {}, name), html("dd", {}, ...told)]));
  return [html("h3", { class: "mg-name" }, "the model"), card];
}

/** A part without its class, which takes a line in a narrow pane, unless its name is a number. */
const named = (part: Part): Part => (/^\d+$/.test(part.name) ? part : { ...part, kind: "" });

/** Parameters that several parts hold, as tied embeddings are. */
function shared(trace: Trace, all: readonly Part[], link: (part: Part) => HTMLElement): Line[] {
  const users = new Map<number, Part[]>();
  for (const part of all) {
    for (const node of part.nodes) {
      for (const edge of trace.nodes[node]?.next ?? []) {
        const leaf = edge === null ? undefined : trace.nodes[edge[0]]?.variable;
        if (leaf === undefined || !trace.tensors[leaf]?.parameter) continue;
        const known = users.get(leaf) ?? [];
        if (!known.some(({ name }) => name === part.name)) users.set(leaf, [...known, part]);
      }
    }
  }
  const tied = [...users].find(([, parts]) => parts.length > 1);
  if (!tied) return [];
  const [leaf, parts] = tied;
  return [["share", ...listed(parts.map(link)), ` hold one parameter ${shape(trace.tensors[leaf]?.shape ?? [])}: it counts once, and adds up what comes from ${parts.length > 2 ? "all" : "both"}`]];
}

/** How much longer than a later call the first one must take, and how much of all time that must be, to be a warm-up. */
const [SLOWER, SHARE] = [3, 0.05];

/** What was slow because it was the first call of its kind, as far as the later ones tell: their work for each FLOP is the same. */
function warmUp(trace: Trace, all: readonly Part[], total: number, link: (part: Part) => HTMLElement): Line[] {
  const kinds = new Map<string, number[]>();
  trace.nodes.forEach(({ name, sequence_nr, seconds }, id) => {
    if (sequence_nr !== null && seconds !== undefined) kinds.set(name, [...(kinds.get(name) ?? []), id]);
  });
  const work = (id: number): number => Math.max(1, trace.rows?.nodes[id]?.[1] ?? 1);
  const found: { part: Part; name: string; took: number; usual: number }[] = [];
  for (const [name, ids] of kinds) {
    ids.sort((a, b) => (trace.nodes[a]?.sequence_nr ?? 0) - (trace.nodes[b]?.sequence_nr ?? 0));
    for (const at of [0, 1]) {
      const [first, ...later] = (at === 0 ? ids : [...ids].reverse()).filter((id) => trace.nodes[id]?.seconds?.[at] != null);
      const took = (id: number): number => trace.nodes[id]?.seconds?.[at] ?? 0;
      const part = all.find(({ nodes }) => first !== undefined && nodes.includes(first));
      if (first === undefined || !part || later.length === 0) continue;
      const usual = Math.max(...later.map((id) => took(id) * Math.max(1, work(first) / work(id))));
      if (took(first) > SLOWER * usual && took(first) - usual > SHARE * total) found.push({ part, name: `${name.replace(/Backward\d+$/, "")}${at === 0 ? "" : "’s derivative"}`, took: took(first), usual });
    }
  }
  const worst = found.sort((a, b) => b.took - a.took)[0];
  if (!worst) return [];
  const told = (time: number): string => measureText({ ...worst.part.row, forward: time, backward: null }, "time", 2);
  const rest = (part: Part): number => found.reduce((sum, each) => sum - (each.part === part ? each.took - each.usual : 0), spent(part.row));
  const steady = all.reduce((best, each) => (rest(each) > rest(best) ? each : best));
  return [["warm-up", "the first ", worst.name, ", in ", link(worst.part), `, took ${told(worst.took)}; later ones suggest ${told(worst.usual)}. Without first calls `, link(steady), " takes most: run the model once, then inspect it"]];
}

/** How the gradient changes from the output to the input, in the norms that the boxes show; or that it was not kept. */
function gradients(trace: Trace, all: readonly Part[], link: (part: Part) => HTMLElement): Line[] {
  const broken = all.find(({ row }) => sizeIn(row, "gradient") === Infinity);
  if (broken) return [["gradient", "not a finite number at ", link(broken)]];
  const sized = all.filter(({ name }) => name !== "loss").flatMap((part) => {
    const norm = sizeIn(part.row, "gradient");
    const order = Math.min(...part.nodes.map((id) => trace.nodes[id]?.sequence_nr ?? Infinity));
    return norm !== null && order < Infinity ? [{ part, norm, order }] : [];
  }).sort((a, b) => b.order - a.order);
  const [output, input, between] = [sized[0], sized.at(-1), sized.slice(1, -1).sort((a, b) => a.norm - b.norm)];
  if (!output || !input || output === input) return all.some(({ row }) => row.gradient === "not kept") ? [["gradient", "not kept at this level of detail"]] : [];
  const at = ({ part }: { part: Part }): Node => html("span", {}, link(named(part)), ": ", html("span", { class: "mg-size" }, measureText(part.row, "gradient", 2)));
  const fold = Math.max(output.norm, input.norm) / Math.min(output.norm, input.norm);
  const way = output.norm === input.norm || fold < 1.5 ? ["stays about as large"] : fold === Infinity ? [input.norm === 0 ? "vanishes" : "appears"] : [input.norm < output.norm ? "shrinks " : "grows ", times(fold)];
  const [least, greatest] = [between[0], between.at(-1)];
  const low = least && 2 * least.norm < Math.min(output.norm, input.norm) ? ["; smallest between them at ", at(least)] : [];
  const high = greatest && greatest.norm > 2 * Math.max(output.norm, input.norm) ? ["; largest between them at ", at(greatest)] : [];
  return [["gradient", "its norm ‖∇‖ ", ...way, " on its way from the output (", at(output), ") to the input (", at(input), ")", ...low, ...high]];
}
