/** The model at a glance, where no node is chosen: what it is, which of its parts costs most, where gradients shrink. */
import { html } from "../page/dom";
import { number, shape } from "../trace/format";
import { boxOf, isTransform, boxTitle, chain } from "../trace/groups";
import { measureText, Rows, several, sizeIn, VARIES, type Row } from "../trace/rows";
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

/** A part, the norm at its output, and where it stands in the forward pass. */
type Sized = { part: Part; norm: number; order: number };

/** The parts of the model: the boxes in which it opens or, of a small one, its innermost modules; `each` of a row of them. */
function parts(trace: Trace, each = false): Part[] {
  const rows = new Rows(trace);
  const around = new Set(trace.scopes?.map(({ parent }) => parent));
  const opening = new Set(trace.folded ?? []);
  const found = new Map<number, Part>();
  trace.nodes.forEach(({ scope, variable }, node) => {
    const scopes = chain(trace, scope).reverse();
    const at = scopes.findIndex((scope) => (opening.size > 0 ? opening.has(scope) : !around.has(scope)));
    const id = (each && trace.scopes?.[scopes[at] ?? -1]?.module === "" ? scopes[at + 1] : undefined) ?? scopes[at];
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
const percent = (part: number, whole: number): string => `${Math.round((100 * part) / Math.max(part, whole))}\u00a0%`;
const listed = (names: readonly (Node | string)[]): (Node | string)[] => names.flatMap((name, at) => (at === 0 ? [name] : [at === names.length - 1 ? " and " : ", ", name]));

/** How many times as large, in two digits; it stays on one line: a break after the sign of an exponent would be misread. */
function times(fold: number): HTMLElement {
  const text = fold >= 1e3 ? Math.round(Number(fold.toPrecision(2))).toLocaleString("en") : number(Number(fold.toPrecision(2))).replace(/\.$/, "");
  return together(`${text}×`);
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
  const counted = measureText(whole, "parameters");
  const lines: Line[] = [["is", `${scope?.module ?? ""}, ${counted ? `${several(counted, "parameter")}, ` : ""}${several(String(trace.nodes.length), "node")}`]];
  const total = trace.nodes.reduce((sum, { seconds }) => sum + (seconds?.[0] ?? 0) + (seconds?.[1] ?? 0), 0);
  const apart = parts(trace, true);
  lines.push(...gradients(trace, apart, link), ...costs(all, total, whole.flops, link), ...warmUp(trace, all, total, link));
  lines.push(...largest("saved", all, apart, whole, link), ...largest("parameters", all, apart, whole, link));
  lines.push(...shared(trace, all, link));
  const card = html("dl", { class: "mg-overview" }, ...lines.flatMap(([name, ...told]) => [html("dt", {}, name), html("dd", {}, ...told)]));
  return [html("h3", { class: "mg-name" }, "the model"), card];
}

/** What is largest by a measure: all that show the same number, and of a row of blocks what each has, if all have as much. */
function largest(measure: "saved" | "parameters", all: readonly Part[], apart: readonly Part[], whole: Row, link: (part: Part) => HTMLElement): Line[] {
  const text = ({ row }: Part): string => measureText(row, measure, 2);
  const best = all.reduce((most, each) => (each.row[measure] > most.row[measure] ? each : most));
  if (best.row[measure] === 0) return [];
  const tied = all.filter((each) => text(each) === text(best));
  const sizes = new Set(apart.filter(({ node, name }) => name !== best.name && best.nodes.includes(node)).map(text));
  const size = measure === "saved" ? text(best) : `${several(text(best), "parameter")} (${percent(best.row.parameters, whole.parameters)})`;
  const [line, each] = [measure === "saved" ? "saves most" : "is largest", sizes.size === 1 ? `, each ${[...sizes].join()}` : ""];
  if (tied.length > 1) return [[line, ...names(tied, NAMED, link), `, each ${size}`]];
  return [[line, together(link(best), ":"), ` ${size}${each}`]];
}

/** FLOPs of parts that are alike vary a little, too; so many of the parts are then named. */
const [NOISE, NAMED] = [{ time: VARIES, flops: 1.05 }, 3];

/** The parts that cost as much as the one that costs most, as far as one run tells. */
function leaders(all: readonly Part[], measure: "time" | "flops"): Part[] {
  const size = ({ row }: Part): number => sizeIn(row, measure) ?? 0;
  const most = Math.max(...all.map(size));
  return all.filter((each) => size(each) > 0 && size(each) * NOISE[measure] > most).sort((a, b) => size(b) - size(a));
}

/** Whether one run tells by time which part costs most: the map then begins with times, else with FLOPs. */
export const timeTells = (trace: Trace): boolean => leaders(parts(trace), "time").length === 1;

/** What costs most: by one run's time only if no other part comes near it, and by FLOPs, which are the same in every run. */
function costs(all: readonly Part[], total: number, flops: number, link: (part: Part) => HTMLElement): Line[] {
  const time = ({ row }: Part): string => measureText(row, "time", 2);
  const [timed, counted] = [leaders(all, "time"), leaders(all, "flops")];
  const [first, work] = [timed[0], counted[0]];
  const [share, same] = [work ? percent(work.row.flops, flops) : "", work && work === first && counted.length === 1];
  const byWork = work ? ["by FLOPs ", ...names(counted, NAMED, link), ` (${share}${counted.length > 1 ? " each" : ""})`] : [];
  if (!first) return work ? [["costs most", ...byWork]] : [];
  const others = timed.length > 2 ? `others are within ${VARIES}×` : `another is within ${VARIES}×`;
  const near = same ? [`, and by time (${time(first)}), where ${others}`]
    : [work ? "; " : "", "by time, one run cannot tell: ", together(link(named(first)), ` (${time(first)})`), `; ${others}`];
  if (timed.length > 1) return [["costs most", ...byWork, ...near]];
  const besides = same ? [`, ${share} of FLOPs`] : work ? ["; ", ...byWork] : [];
  return [["costs most", together(link(named(first)), `: ${time(first)}`), ` in this run (${percent(spent(first.row), total)}${all.length > 1 ? `, over ${VARIES}× any other` : ""})`, ...besides]];
}

/** What stays on one line if that has room. */
const together = (...told: (Node | string)[]): HTMLElement => html("span", { class: "mg-together" }, ...told);

/** Some parts by name, and how many more there are. */
const names = (found: readonly Part[], most: number, link: (part: Part) => HTMLElement): (Node | string)[] =>
  listed([...found.slice(0, most).map((each) => link(named(each))), ...(found.length > most ? [`${found.length - most} more`] : [])]);

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

/** How much longer than a later call the first one must take, and how much of all time that must be, to be a warm-up. A
 * gradient that grows or shrinks by less than LITTLE stays about as large. */
const [SLOWER, SHARE, LITTLE] = [3, 0.05, 1.5];

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
  return [["warm-up", link(named(worst.part)), ` called ${worst.name} for the first time: ${told(worst.took)}, where ${told(worst.usual)} is usual. Run the model once, then inspect it`]];
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
  const [least, greatest] = [between[0], between.at(-1)];
  const low = least && LITTLE * least.norm < Math.min(output.norm, input.norm) ? [least] : [];
  const high = greatest && greatest.norm > LITTLE * Math.max(output.norm, input.norm) ? [greatest] : [];
  const path = [output, ...[...low, ...high].sort((a, b) => b.order - a.order), input];
  const at = ({ part }: Sized, before = "", after = ""): Node => together(before, link(named(part)), `: ${measureText(part.row, "gradient", 2)}${after}`);
  const legs = path.slice(1).flatMap((to, nr): (Node | string)[] => {
    const from = path[nr] ?? output;
    const start = nr === 0 ? [" from the output ", at(from, "(", ")")] : [];
    const end = to === input ? [" to the input ", at(to, "(", ")")] : [" to ", at(to)];
    return [nr === 0 ? "" : ", then ", ...way(from.norm, to.norm), ...start, ...end, ...across(sized.slice(sized.indexOf(from), sized.indexOf(to) + 1), link)];
  });
  return [["gradient", "‖∇‖, the norm at a box’s output, ", ...legs]];
}

/** How a norm changes into another. */
function way(from: number, to: number): (Node | string)[] {
  const fold = Math.max(from, to) / Math.min(from, to);
  if (from === to || fold < LITTLE) return ["stays about as large"];
  return fold === Infinity ? [to === 0 ? "vanishes" : "appears"] : [to < from ? "shrinks " : "grows ", times(fold)];
}

/** The part across which most of a change happens, on a way along several. */
function across(steps: readonly Sized[], link: (part: Part) => HTMLElement): (Node | string)[] {
  const change = (from: Sized | undefined, to: Sized | undefined): number => Math.log((to?.norm ?? 1) / (from?.norm ?? 1));
  const whole = change(steps[0], steps.at(-1));
  if (steps.length < 3 || !Number.isFinite(whole) || Math.abs(whole) < Math.log(LITTLE)) return [];
  const [found] = steps.slice(0, -1).map((from, nr) => ({ part: from.part, share: change(from, steps[nr + 1]) / whole })).sort((a, b) => b.share - a.share);
  return found && found.share > 2 / 3 ? [", most of it across ", link(named(found.part))] : [];
}
