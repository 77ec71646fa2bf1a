/** Both products of the Jacobian of one node: what a tangent becomes on its way up, a gradient on its way down. */
import { html } from "../page/dom";
import { inline, number, shape, tensorName, valueOf } from "../trace/format";
import type { Moment } from "./lens";
import type { Maybe, Trace, Value } from "../trace/types";

/** The letters of a value in half of the pane. */
const SHORT = 34;

/** One input or output: its tensor, its tangent, and the gradient that has come to it in this pass. */
interface Port {
  tensor: Maybe;
  tangent: Maybe;
  gradient: Maybe | undefined;
}

const count = (sizes: readonly number[]): number => sizes.reduce((a, b) => a * b, 1);

/** The sum of tangent times gradient over all entries; null where not all numbers are known. */
function together(trace: Trace, ports: readonly Port[]): number | null {
  let sum = 0;
  for (const { tangent, gradient } of ports) {
    if (tangent === null) continue;
    const [moves, comes] = [valueOf(trace, tangent), valueOf(trace, gradient ?? null)];
    if (!moves?.data || moves.stale || comes?.stale || !comes?.data || comes.data.length !== moves.data.length) return null;
    moves.data.forEach((entry, at) => (sum += Number(entry) * Number(comes.data?.[at])));
  }
  return sum;
}

/** The section of the details; null for a node through which no tangent goes. */
export function products(trace: Trace, id: number, moment: Moment, arrived: (output_nr: number) => Maybe): HTMLElement | null {
  const node = trace.nodes[id];
  const valueAt = (tensor: Maybe | undefined): Maybe => trace.tensors[tensor ?? -1]?.value ?? null;
  const tangentOf = (tensor: Maybe): Maybe => valueAt(trace.tensors[tensor ?? -1]?.tangent);
  const outputs: Port[] = (node?.outputs ?? []).map((tensor, nr) => ({ tensor, tangent: tangentOf(tensor), gradient: arrived(nr) ?? undefined }));
  if (!node || node.variable !== undefined || outputs.every(({ tangent }) => tangent === null)) return null;
  const inputs: Port[] = node.next.map((edge, index) => {
    const to = edge && trace.nodes[edge[0]];
    const tensor = (to && (to.variable ?? to.outputs[edge[1]])) ?? node.inputs[index] ?? null;
    return { tensor, tangent: tangentOf(tensor), gradient: moment.edge(`${id}:${index}`) };
  }).filter(({ tensor }) => tensor !== null);
  const size = (ports: readonly Port[]): number => ports.reduce((sum, { tensor }) => sum + count(trace.tensors[tensor ?? -1]?.shape ?? []), 0);
  const kept = trace.tensors[node.outputs[0] ?? -1]?.requires_grad;
  const line = (mark: string, { tensor }: Port, value: Value | undefined, otherwise: string): HTMLElement => {
    const about = `${mark} ${tensorName(trace, tensor)} ${shape(trace.tensors[tensor ?? -1]?.shape ?? [])}`;
    return html("li", {}, html("span", { class: "mg-quiet" }, about), html("code", {}, value ? inline(value, SHORT) : otherwise));
  };
  const up = (ports: readonly Port[]): HTMLElement[] => ports.map((port) => line("↑", port, port.tangent === null ? undefined : valueOf(trace, port.tangent), "0, it stays"));
  const down = (ports: readonly Port[]): HTMLElement[] => ports.map((port) => line("↓", port, port.gradient === undefined ? undefined : valueOf(trace, port.gradient), kept ? "nothing yet" : "nothing comes back"));
  const half = (kind: string, title: string, ...lists: HTMLElement[][]): HTMLElement =>
    html("div", { class: "mg-product", "data-product": kind }, html("h5", {}, title), ...lists.map((items) => html("ul", {}, ...items)));
  const [above, below] = [together(trace, outputs), together(trace, inputs)];
  const dtype = trace.tensors[node.outputs[0] ?? -1]?.dtype;
  const met = above === null || below === null ? [] : [html("p", { class: "mg-quiet mg-met" }, `tangent · gradient: ${number(above, dtype)} at its output, ${number(below, dtype)} at its inputs`)];
  return html(
    "section",
    { class: "mg-part mg-products" },
    html("h4", {}, `two products of one Jacobian, ${size(outputs)} × ${size(inputs)}`),
    html("div", { class: "mg-halves" }, half("column", "a column: J · tangent", up(outputs), up(inputs)), half("row", "a row: gradient · J", down(outputs), down(inputs))),
    ...met,
  );
}
