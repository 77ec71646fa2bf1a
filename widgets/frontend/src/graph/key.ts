/** The key: what the marks of this drawing mean, each drawn as it is there. It is made when it is first opened. */
import { html, mark, svg, unique } from "../page/dom";
import { heldBy } from "./parts";
import { STYLES, type Look } from "./look";
import type { Trace } from "../trace/types";

const STATES: readonly (readonly [Look, string])[] = [
  ["recorded", "ran forward"],
  ["waiting", "waits for gradients"],
  ["ready", "has all its gradients, and is in the queue"],
  ["running", "runs in this step"],
  ["done", "has passed its gradients on"],
];

function box(name: string, attributes: Record<string, string>, ...behind: Element[]): SVGSVGElement {
  const look = STYLES[attributes["data-status"] as Look];
  const glyph = look ? [svg("path", { class: "mg-glyph", d: look.glyph, transform: "translate(19, 13) scale(0.8)", "fill-rule": "evenodd" })] : [];
  const parts = [svg("rect", { class: "mg-halo", x: 2, y: 2, width: 34, height: 22, rx: 7 }), ...behind, svg("rect", { class: "mg-box", x: 6, y: 6, width: 26, height: 14, rx: 4 }), ...glyph];
  return svg("svg", { viewBox: "0 0 38 26", width: 38, height: 26, role: "img", "aria-label": `a box: ${name}` }, svg("g", { ...attributes, class: `mg-node ${attributes["class"] ?? ""}` }, ...parts));
}

function entry(sign: Element | string, told: string): HTMLElement[] {
  const part = sign === "‖∇‖" ? { "data-part": "norms" } : {};
  return [html("dt", part, sign), html("dd", part, told)];
}

/** The marks that occur in a recording, and what they mean. */
function marks(trace: Trace): (readonly [Element | string, string])[] {
  const { nodes, events, scopes = [], rows } = trace;
  const has = (kind: string): boolean => events.some((event) => event.kind === kind);
  const [row] = scopes.flatMap(({ name }) => / ×(\d+)$/.exec(name ?? "")?.[1] ?? []);
  const sheet = svg("rect", { class: "mg-behind", x: 10, y: 2, width: 26, height: 14, rx: 4 });
  return [
    ...STATES.slice(0, has("backward_start") ? 5 : 1).map(([look, told]) => [box(STYLES[look].word, { "data-status": look }), told] as const),
    [box("in this step", { class: "mg-lit" }), "this step is about it"],
    [box("chosen", { class: "mg-selected" }), "chosen: it stays until it is clicked again"],
    ...(scopes.length > 0 ? ([[box("folded", {}, sheet), "folded: a click opens it"]] as const) : []),
    ...(row ? ([[`×${row}`, `${row} blocks in a row that are alike, in one box`]] as const) : []),
    ...(rows ? ([["‖∇‖", "norm of the gradient of the box’s output. No size is right or wrong by itself. Often a fault: nan, inf, 0 at a part that should learn, or a size per entry that changes 10,000-fold from one end to the other"]] as const) : []),
    ...(nodes.some((_, id) => heldBy(trace, id) > 0) ? ([["■ □", "tensors saved for the backward pass: held, and released. Beside a number: their bytes"]] as const) : []),
    ["+ −", "zoom in and out; zoomed far enough, open or fold boxes"],
    ...(scopes.length > 0 ? ([["model … op", "how much is folded: one box for the model, one for each block, or one for each op"]] as const) : []),
  ];
}

/** A button, and what it opens over the drawing. */
export function markKey(trace: Trace): [button: HTMLElement, panel: HTMLElement] {
  const title = "what the marks mean";
  const button = html("button", { type: "button", class: "mg-small", title, "aria-label": title, "aria-expanded": false }, "?");
  const id = unique("mg-meanings");
  const panel = html("div", { class: "mg-meanings", id, role: "group", "aria-label": title, tabindex: 0 });
  const show = (shown: boolean): void => {
    panel.hidden = !shown;
    mark(button, "aria-expanded", String(shown));
    (shown ? panel : button).focus({ preventScroll: true });
  };
  panel.hidden = true;
  mark(button, "aria-controls", id);
  button.addEventListener("click", () => {
    if (!panel.hasChildNodes()) panel.append(html("dl", {}, ...marks(trace).flatMap(([sign, told]) => entry(sign, told))));
    show(panel.hidden === true);
  });
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    show(false);
  });
  return [button, panel];
}
