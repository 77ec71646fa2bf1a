/** What a reader of a picture needs before any text: names where they belong, a legend, marks that agree. */
import { describe, expect, it, vi } from "vitest";
import { markKey } from "../src/graph/key";
import { legend, heldBy } from "../src/graph/parts";
import { fitting, inColumns, tightened, tightness } from "../src/layout/columns";
import { briefly, draw, outlook, top, within, type Stub } from "../src/layout/geometry";
import { Groups } from "../src/trace/groups";
import { render } from "../src/index";
import { play } from "../src/player";
import type { Layout, Trace } from "../src/trace/types";
import { FakeModel, square } from "./fake";

/** One node whose inputs lead to leaves, or nowhere. */
function node(...next: (number | null)[]): Trace {
  const trace = square();
  const leaf = trace.nodes[1] as Trace["nodes"][number];
  const edges = next.map((to): [number, number] | null => (to === null ? null : [to, 0]));
  trace.nodes = [{ ...(trace.nodes[0] as Trace["nodes"][number]), next: edges, inputs: next.map(() => 0) }, leaf, leaf];
  trace.layout = { nodes: { 0: [200, 40], 1: [100, 138], 2: [300, 138] }, size: [400, 200] };
  return trace;
}

function stubs(trace: Trace): [key: string, side: Stub["side"], word: string][] {
  return draw(new Groups(trace), trace.layout).stubs.map(({ key, side, word }) => [key, side, word]);
}

describe("an input that needs no gradient", () => {
  it("is drawn at its place among the inputs, and has its name", () => {
    expect(stubs(node(null, 1))).toEqual([["0:0", "left", "x: None"]]);
    expect(stubs(node(1, null))).toEqual([["0:1", "right", "x: None"]]);
    expect(stubs(node(1, null, 2))).toEqual([["0:1", "below", "None"]]);
    const { wires, stubs: [first] } = draw(new Groups(node(null, 2)), node(null, 2).layout);
    expect(first?.at[0]).toBeLessThan(wires[0]?.points[0]?.[0] ?? 0);
  });
});

describe("a graph in a low window", () => {
  const layout: Layout = { nodes: { 0: [100, 40], 1: [100, 138], 2: [100, 236] }, size: [200, 300], edges: { "0:0": [[20, 138]] } };

  it("has its layers closer to each other, if that is enough, or nearly", () => {
    expect([300, 260, 240, 190].map((high) => tightness(layout, high))).toEqual([1, 0.79, 0.74, 1]);
    const tall: Layout = { nodes: { 0: [100, 40], 1: [100, 628] }, size: [200, 692] };
    expect([700, 640, 620].map((high) => tightness(tall, high))).toEqual([1, 0.91, 1]);
    const low = tightened(layout, 0.79);
    expect(low.size[1]).toBeLessThanOrEqual(260);
    expect([low.nodes["0"], low.nodes["2"], low.edges?.["0:0"]]).toEqual([[100, 40], [100, 40 + 196 * 0.79], [[20, 40 + 98 * 0.79]]]);
  });

  it("knows what of it is drawn yet", () => {
    const trace = node(1, 2);
    const drawing = draw(new Groups(trace), trace.layout);
    const { now, part } = outlook(drawing, null, (id) => id < 2);
    expect(now?.right).toBeLessThan(part.right);
    expect(outlook(drawing, null).now).toBeUndefined();
  });
});

describe("a map that is drawn small", () => {
  /** Six calls of modules in a row. */
  const trace = square();
  trace.scopes = ["loss", "transformer.ln_f", "h.0 … h.11 ×12", "transformer.drop", "transformer.wte", "encoder.stages.2"].map((name, at) => ({ name, module: "Block", module_number: at, parent: null, call: 0 }) as unknown as NonNullable<Trace["scopes"]>[number]);
  trace.nodes = trace.scopes.map((_, at) => ({ ...(trace.nodes[0] as Trace["nodes"][number]), scope: at, next: at < 5 ? [[at + 1, 0]] : [] }) as Trace["nodes"][number]);
  const groups = new Groups(trace, new Set(trace.scopes.keys()));
  const layout: Layout = { nodes: Object.fromEntries(trace.scopes.map((_, at) => [-1 - at, [150, 40 + 98 * at]])), size: [300, 600] };

  it("has narrow boxes with short titles, and is larger for it", () => {
    expect(fitting(layout, groups, [900, 700])).toEqual([1, ""]);
    const room = [260, 150] as const;
    const columns = fitting(layout, groups, room);
    expect(columns[1]).toBe("narrow");
    const scale = (kind: "centred" | "narrow"): number => Math.max(...[2, 3, 4, 5, 6].map((count) => {
      const [wide, high] = inColumns(layout, groups, [count, kind]).size;
      return Math.min(room[0] / wide, room[1] / high);
    }));
    expect(scale("narrow")).toBeGreaterThan(1.05 * scale("centred"));
    const { boxes } = draw(groups, inColumns(layout, groups, columns));
    for (const { title, width } of boxes.values()) expect(width - 44).toBeGreaterThan(briefly(title).length * 0.66 * 19);
  });

  it("keeps both ends of a row of blocks, and their number, in the fewest letters", () => {
    expect([14, 13, 12].map((most) => within("h.0 … h.11 ×12", most))).toEqual(["h.0 … h.11 ×12", "h.0…h.11 ×12", "h.0…h.11 ×12"]);
    expect([30, 12, 8].map((most) => within("transformer.ln_f", most))).toEqual(["transformer.ln_f", "t.ln_f", "t.ln_f"]);
    expect(within("join.2", 4)).toBe("j….2");
  });

  it("shortens paths, and nothing that has room", () => {
    const titles = ["transformer.ln_f", "encoder.stages.2", "join.2", "MaxPool2DWithIndicesBackward0", "h.0 … h.11 ×12", "layers.1 … layers.11 ×11"];
    expect(titles.map(briefly)).toEqual(["t.ln_f", "e.stages.2", "join.2", "MaxPool2DWithIndices", "h.0 … h.11 ×12", "l.1 … l.11 ×11"]);
  });
});

it("begins with the first of several columns, where a map is seen in part", () => {
  const box = (x: number, y: number) => ({ x, y, width: 100, title: "", caption: "" });
  expect(top(new Map([[0, box(400, 40)], [1, box(150, 40.4)], [2, box(150, 120)]]))).toEqual([150, 40.4]);
  expect(top(new Map([[0, box(150, 120)], [1, box(400, 40)]]))).toEqual([400, 40]);
});

describe("the marks", () => {
  it("count what is saved in memory, not the number of w * 3", () => {
    const trace = square();
    expect(heldBy(trace, 0)).toBe(2);
    trace.nodes[0]!.saved = [["other", null, 0]];
    expect(heldBy(trace, 0)).toBe(0);
  });

  it("are explained if they occur", () => {
    const words = (trace: Trace): string[] => [...legend(trace).children].map((each) => each.textContent);
    expect(words(square()).join()).toContain("■ saved");
    expect(words(square()).join()).not.toContain("None");
    expect(words(node(null, 1)).join()).toContain("None: no gradient");
  });

  it("are explained one by one, as they are drawn, by one click; a second one takes the key away", () => {
    const key = (trace: Trace): [HTMLElement, HTMLElement, () => Record<string, string>] => {
      const [button, panel] = markKey(trace);
      const [signs, told] = ["dt", "dd"].map((name) => () => [...panel.querySelectorAll(name)].map((each) => each.querySelector("[data-status]")?.getAttribute("data-status") ?? each.textContent)) as [() => string[], () => string[]];
      return [button, panel, () => Object.fromEntries(signs().map((sign, at) => [sign, told()[at] ?? ""]))];
    };
    const [button, panel, told] = key(square());
    expect([panel.hidden, button.getAttribute("aria-expanded")]).toEqual([true, "false"]);
    button.click();
    expect([panel.hidden, button.getAttribute("aria-expanded")]).toEqual([false, "true"]);
    expect(told()).toMatchObject({ recorded: "ran forward", waiting: "waits for gradients", "■ □": expect.stringContaining("saved") });
    expect(Object.keys(told())).not.toContain("‖∇‖");
    const marks = panel.querySelectorAll("dt").length;
    button.click();
    expect(panel.hidden).toBe(true);
    button.click();
    expect(panel.querySelectorAll("dt").length).toBe(marks);
    const trace = square();
    trace.scopes = [{ name: "h.0 … h.2 ×3", module: "", parent: null }];
    trace.rows = { scopes: [[[1], 0, null, null, 0, 0, 1]], nodes: trace.nodes.map(() => [0, 0, 1]) };
    trace.events = trace.events.filter(({ kind }) => kind === "forward");
    const [open, , map] = key(trace);
    open.click();
    expect(Object.keys(map())).toEqual(expect.arrayContaining(["recorded", "‖∇‖", "×3", "model … op"]));
    expect(map()).not.toHaveProperty("waiting");
    expect(map()["‖∇‖"]).toContain("gradient of the box’s output");
    expect([...document.querySelectorAll(".mg-meanings svg:not([aria-label])")]).toEqual([]);
  });

  it("are left by Escape, which goes no further", () => {
    const [button, panel] = markKey(square());
    document.body.replaceChildren(panel, button);
    const escape = (): boolean => panel.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    let heard = 0;
    document.body.addEventListener("keydown", () => (heard += 1), { once: true });
    button.click();
    expect([panel.id, document.activeElement]).toEqual([button.getAttribute("aria-controls"), panel]);
    escape();
    expect([panel.hidden, document.activeElement, heard]).toEqual([true, button, 0]);
  });
});

describe("the keys of a page with several views", () => {
  it("go to the one that was used last, else to the one most in view", () => {
    vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
    const state = JSON.stringify({ trace: JSON.stringify(square()), lens: "backward", step: 0, selected: null, calls: [] });
    document.body.innerHTML = ["one", "two"].map((name) => `<div data-minigrad="${name}"></div><script type="application/json" id="${name}">${state}</script>`).join("");
    play(render);
    const roots = [...document.querySelectorAll<HTMLElement>(".mg-root")];
    expect(roots).toHaveLength(2);
    const place = (at: number, top: number): void => {
      roots[at]!.getBoundingClientRect = () => ({ top, bottom: top + 500 }) as DOMRect;
    };
    const press = (): (string | undefined)[] => {
      (document.activeElement as HTMLElement).blur();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true, cancelable: true }));
      return roots.map((root) => root.dataset["position"]);
    };
    place(0, -400);
    place(1, 120);
    expect(press()).toEqual(["0", "1"]);
    roots[0]!.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    expect(press()).toEqual(["1", "1"]);
    place(0, -900);
    expect(press()).toEqual(["1", "2"]);
  });

  it("have the names that are on the buttons", () => {
    const place = document.createElement("div");
    render({ model: new FakeModel({ trace: JSON.stringify(square()) }), el: place });
    expect([".mg-back", ".mg-forward"].map((each) => place.querySelector(each)?.textContent)).toEqual(["← back", "next →"]);
  });
});
