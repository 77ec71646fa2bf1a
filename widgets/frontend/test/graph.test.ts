import { beforeEach, describe, expect, it } from "vitest";
import { arrange } from "../src/layout/arrange";
import { draw, labels, outlook, type Box, type Drawing, type Region, type Wire } from "../src/layout/geometry";
import { labelSpots } from "../src/layout/labels";
import { tieRegions, tieSpots } from "../src/graph/links";
import { Viewport } from "../src/graph/viewport";
import { boxOf, depths, Groups, parentsFirst } from "../src/trace/groups";
import { render } from "../src/index";
import type { NodeRecord, Trace, Tie } from "../src/trace/types";
import { FakeModel, square } from "./fake";

/** `count` blocks in a row, each of three nodes in a chain and two leaves: a block is a scope, with a scope inside. */
function blocks(count: number): Trace {
  const trace = square();
  const node = (name: string, scope: number | undefined, ...next: number[]): NodeRecord => {
    const targets = next.map((to): [number, number] => [to, 0]);
    const record = { name, sequence_nr: trace.nodes.length, next: targets, inputs: [], outputs: [], saved: [] };
    return scope === undefined ? record : { ...record, scope };
  };
  trace.nodes = [];
  trace.scopes = [{ name: "net", module: "Net", parent: null }];
  trace.tensors = trace.tensors.slice(0, 1);  // the leaf of every block
  trace.events = [{ kind: "mode", mode: "grad", on: true }];
  trace.layout = null;
  let last: number[] = [];
  for (let at = 0; at < count; at++) {
    const outer = trace.scopes.push({ name: `blocks.${at}`, module: "Block", parent: 0 }) - 1;
    const inner = trace.scopes.push({ name: "act", module: "ReLU", parent: outer }) - 1;
    const leaf = trace.nodes.push({ ...node("AccumulateGrad", outer), sequence_nr: null, variable: 0 }) - 1;
    const first = trace.nodes.push(node("MulBackward0", outer, ...last, leaf)) - 1;
    const act = trace.nodes.push(node("ReluBackward0", inner, first)) - 1;
    last = [trace.nodes.push(node("AddBackward0", outer, act, first)) - 1];
  }
  trace.nodes.push(node("SumBackward0", undefined, ...last));
  trace.events = trace.nodes.map((_, id) => ({ kind: "forward", op: "op", node: id, inputs: [], outputs: [] }));
  return trace;
}

describe("folding", () => {
  it("puts the nodes of a scope, and of those inside of it, into one box", () => {
    const groups = new Groups(blocks(2), new Set([1, 2]));
    expect(groups.owner).toEqual([-2, -2, -2, -2, 4, 5, 6, 7, 8]);
    expect(groups.members.get(boxOf(1))).toEqual([0, 1, 2, 3]);
    expect(new Groups(blocks(2), new Set([0])).owner).toEqual([-1, -1, -1, -1, -1, -1, -1, -1, 8]);
  });

  it("joins the edges between two boxes, and drops those inside of one", () => {
    const groups = new Groups(blocks(2), new Set([1, 3]));
    const { wires } = draw(groups, arrange(groups));
    expect(wires.map((wire) => [wire.from, wire.to, wire.keys])).toEqual([
      [8, -4, ["8:0"]],
      [-4, -2, ["5:0"]],
    ]);
    expect(wires.map((wire) => wire.output_nr)).toEqual([null, null]);
  });

  it("says at a box that a module raised in it, or after it", () => {
    const [first, act] = [1, 2];
    const told = (failed: NonNullable<Trace["failed"]>, folded: number[], box: number): string => labels(new Groups({ ...blocks(2), failed }, new Set(folded)), box)[1];
    const failed = { scope: act, node: 2, met: "[2] · [3]" };
    expect(told(failed, [act], boxOf(act))).toBe("raised: [2] · [3]");
    expect(told(failed, [first], boxOf(first))).toBe("act raised: [2] · [3]");
    expect(told(failed, [], 2)).toBe("act raised: [2] · [3]");
    expect(told({ ...failed, met: "" }, [], 2)).toBe("act raised");
    expect(told({ ...failed, node: 1 }, [], 1)).toBe("✕ then act raised: [2] · [3]");
    expect(told(failed, [first], 4)).not.toContain("raised");
  });

  it("knows scopes whose parent has a higher number, as runs that were found later have", () => {
    const trace = blocks(2);
    trace.scopes?.push({ name: "Block × 2", module: "", parent: 0 });
    for (const id of [1, 3]) (trace.scopes?.[id] as { parent: number }).parent = 5;
    expect(parentsFirst(trace)).toEqual([0, 5, 1, 2, 3, 4]);
    expect(depths(trace)).toEqual([0, 2, 3, 2, 3, 1]);
    expect(new Groups(trace, new Set([5])).members.get(boxOf(5))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});

describe("the layout in the browser", () => {
  it("lays out what is not connected, and nothing at all", () => {
    const trace = blocks(1);
    trace.nodes.push({ name: "AddBackward0", sequence_nr: 9, next: [null], inputs: [], outputs: [], saved: [] });
    expect(Object.keys(arrange(new Groups(trace)).nodes)).toHaveLength(6);
    expect(arrange(new Groups({ ...trace, nodes: [] })).nodes).toEqual({});
  });
});

/** Two graphs side by side, `apart` pixels from each other, the second one a single edge. */
function islands(apart: number): Drawing {
  const box = (x: number, y: number): Box => ({ x, y, width: 100, title: "", caption: "" });
  const wire = (from: number, to: number, x: number, far: number): Wire => {
    const points: [number, number][] = [[x, 63], [far, 137]];
    return { key: `${from}:0`, keys: [`${from}:0`], from, index: 0, to, output_nr: 0, points };
  };
  const boxes = new Map([[0, box(100, 40)], [1, box(100, 160)], [2, box(apart, 40)], [3, box(apart, 160)]]);
  return { boxes, wires: [wire(0, 1, 100, 100), wire(2, 3, apart, apart)], stubs: [], size: [apart + 60, 200] };
}

/** The middle of the room for the drawing: of a view 640 pixels wide, with 32 kept free above it and 4 below. */
const middle = ({ left, right, top, bottom }: Region): [number, number] => [(left + right) / 2, (top + bottom) / 2 + (((32 - 4) / 2) * (right - left)) / 640];

describe("what is looked at first", () => {
  function look(drawing: Drawing, box: number | null): Viewport {
    const frame = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    return new Viewport(frame, document.createElementNS("http://www.w3.org/2000/svg", "g"), outlook(drawing, box));
  }

  it("is the whole graph where it can be read", () => {
    expect(middle(look(islands(400), 2).region).map(Math.round)).toEqual([230, 100]);
  });

  it("never has letters of less than 11 pixels, which they have at the scale 1", () => {
    for (const size of [300, 900, 4000]) expect(look(islands(size), null).scale).toBeGreaterThanOrEqual(1);
  });

  it("has the whole graph in its middle, also where it fits exactly", () => {
    const sizes = Array.from({ length: 400 }, (_, more) => 184 + more);
    expect(sizes.filter((size) => Math.abs(middle(look(islands(size - 60), 2).region)[0] - size / 2) > 0.01)).toEqual([]);
  });

  it("is else what is connected with the node that the step is about", () => {
    expect(outlook(islands(4000), 3).part).toEqual({ left: 3950, top: 17, right: 4050, bottom: 183 });
    const view = look(islands(4000), 3);
    expect(middle(view.region).map(Math.round)).toEqual([4000, 104]); // with room for the `.grad` of a leaf
    expect(view.scale).toBe(1.3);
  });

  it("is the node itself where even that is too large, and nothing beyond it", () => {
    const tall = islands(4000);
    tall.boxes.set(3, { ...(tall.boxes.get(3) as Box), y: 5000 });
    tall.size = [4060, 5040];
    const view = look(tall, 3);
    expect(view.scale).toBe(1);
    expect(Math.round(view.region.bottom)).toBe(5023 + 20 + 4);
    expect(middle(look(tall, null).region)[0]).toBe(100);
  });
});

describe("a box that matters", () => {
  it("is moved out from under the tools above and below", () => {
    const tall = islands(400);
    tall.size = [460, 4000];
    for (const y of [2000 + 100, 2000 - 125]) {
      const frame = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const view = new Viewport(frame, document.createElementNS("http://www.w3.org/2000/svg", "g"), outlook(tall, null));
      view.look([200, 2000]);
      expect(view.region.bottom).toBeGreaterThan(2100 + 23);
      view.reveal([200, y], 140);
      expect(middle(view.region)[1]).toBeCloseTo(y);
    }
  });
});

describe("the gradients of edges", () => {
  it("stand apart where edges arrive side by side", () => {
    const drawing = islands(400);
    drawing.wires = [-34, 0, 34].map((by, index) => ({ ...(drawing.wires[0] as Wire), index, points: [[100 + by, 63], [100 + by, 137]] }));
    const spots = [...labelSpots(drawing, () => 80, []).values()];
    expect(spots).toHaveLength(3);
    const spans = spots.map(({ x, y, left }) => ({ from: left ? x - 80 : x, to: left ? x : x + 80, y }));
    for (const [at, one] of spans.entries()) {
      for (const other of spans.slice(at + 1)) {
        expect(one.to <= other.from || other.to <= one.from || Math.abs(one.y - other.y) >= 14).toBe(true);
      }
    }
  });
});

describe("the labels of links", () => {
  it("lie in no box and not on each other, where there is room", () => {
    const box = (x: number, y: number): Box => ({ x, y, width: 140, title: "", caption: "" });
    const boxes = new Map([[0, box(0, 0)], [1, box(0, 300)], [2, box(125, 150)], [3, box(0, 10)]]);
    const tie = (from: number): Tie => ({ kind: "rebased", from, to: 1, tensor: 0, label: "was x’s" });
    const spots = tieSpots([tie(0), tie(3)], { boxes, wires: [], stubs: [], size: [400, 400] });
    const covered = tieRegions(spots);
    const regions = [...[...boxes.values()].map(({ x, y }) => ({ left: x - 70, right: x + 70, top: y - 23, bottom: y + 23 })), ...covered];
    expect(covered).toHaveLength(2);
    for (const one of covered) {
      expect(regions.filter((other) => other !== one && other.left < one.right && one.left < other.right && other.top < one.bottom && one.top < other.bottom)).toEqual([]);
    }
  });
});

describe("the graph pane", () => {
  let place: HTMLElement;
  beforeEach(() => {
    place = document.createElement("div");
    document.body.replaceChildren(place);
  });

  function show(trace: Trace, state: Record<string, unknown> = {}): [FakeModel, HTMLElement] {
    const model = new FakeModel({ trace: JSON.stringify(trace), lens: "all", step: trace.nodes.length - 1, ...state });
    place.replaceChildren();
    render({ model, el: place });
    return [model, place.querySelector(".mg-root") as HTMLElement];
  }

  const boxes = (root: Element): number => root.querySelectorAll(".mg-node").length;
  const row = (root: Element, scope: number): HTMLElement => root.querySelector(`.mg-unfold[data-of="${-1 - scope} inside"]`) as HTMLElement;
  const openTable = (root: Element): void => {
    const table = root.querySelector(".mg-summary") as HTMLDetailsElement;
    table.open = true;
    table.dispatchEvent(new Event("toggle"));
  };
  const press = (root: Element, key: string): boolean => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));

  it("folds and unfolds by the table, and by a click on the box", () => {
    const [, root] = show(blocks(2));
    expect(boxes(root)).toBe(9);
    openTable(root);
    row(root, 1).click();
    expect(boxes(root)).toBe(6);
    expect(row(root, 1).getAttribute("aria-expanded")).toBe("false");
    expect(row(root, 2)).toBeNull();
    expect(root.querySelector('.mg-node[data-scope="1"] .mg-title')?.textContent).toBe("blocks.0");
    row(root, 0).click();
    expect(boxes(root)).toBe(2);
    (root.querySelector('.mg-node[data-scope="0"] .mg-box') as Element).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(boxes(root)).toBe(6);
  });

  it("folds around the selected node by keyboard", () => {
    const [, root] = show(blocks(2), { selected: 2 });
    press(root, "-");
    expect(root.querySelector('.mg-node[data-scope="2"]')).not.toBeNull();
    press(root, "-");
    expect(root.querySelector('.mg-node[data-scope="1"]')?.classList.contains("mg-selected")).toBe(true);
    press(root, "+");
    expect(root.querySelector('.mg-node[data-scope="2"]')).not.toBeNull();
    press(root, "+");
    expect(boxes(root)).toBe(9);
  });

  it("finds a node and unfolds what hides it", () => {
    const [, root] = show(blocks(2), { collapsed: [0] });
    expect(boxes(root)).toBe(2);
    const field = root.querySelector(".mg-find") as HTMLInputElement;
    field.value = "blocks.1 relu";
    field.dispatchEvent(new Event("input"));
    expect(root.querySelector(".mg-found")?.textContent).toBe("1 found");
    press(field, "Enter");
    expect(root.querySelector(".mg-found")?.textContent).toBe("1 of 1");
    expect(root.querySelector(".mg-selected")?.getAttribute("data-node")).toBe("6");
    expect(root.dataset["step"]).toBe("8");
  });

  it("goes to the step at which a node is drawn that is found before", () => {
    const [, root] = show(blocks(2), { step: 0 });
    const status = (): string | null | undefined => root.querySelector('[data-node="6"]')?.getAttribute("data-status");
    expect(status()).toBe("unknown");
    const field = root.querySelector(".mg-find") as HTMLInputElement;
    field.value = "blocks.1 relu";
    field.dispatchEvent(new Event("input"));
    press(field, "Enter");
    expect(root.querySelector(".mg-selected")?.getAttribute("data-node")).toBe("6");
    expect(status()).not.toBe("unknown");
    expect(Number(root.dataset["step"])).toBeGreaterThan(0);
  });

  it("opens the module that is nearly all of the program when all is folded", () => {
    const [, root] = show(blocks(3));
    [...root.querySelectorAll<HTMLElement>(".mg-folds button")].find((each) => each.textContent === "fold all")!.click();
    expect([...root.querySelectorAll(".mg-node[data-scope] .mg-title")].map((each) => each.textContent)).toEqual(["blocks.0", "blocks.1", "blocks.2"]);
  });

  it("follows Python, and has nothing to fold where there are no modules", () => {
    const [model, root] = show(blocks(2));
    model.set("collapsed", [1, 3]);
    expect(boxes(root)).toBe(3);
    const [, plain] = show(square());
    expect(plain.querySelector(".mg-folds")).toBeNull();
  });

  it("shows as text what a module is called", () => {
    const trace = blocks(1);
    (trace.scopes ?? [])[1]!.name = "<img src=x>";
    const [, root] = show(trace, { collapsed: [1] });
    expect(root.querySelector("img")).toBeNull();
    expect(root.querySelector('.mg-node[data-scope="1"] .mg-title')?.textContent).toBe("<img src=x>");
  });
});
