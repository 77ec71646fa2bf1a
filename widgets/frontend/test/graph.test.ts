import { beforeEach, describe, expect, it } from "vitest";
import { arrange } from "../src/layout/arrange";
import { draw } from "../src/layout/geometry";
import { boxOf, depths, Groups, parentsFirst } from "../src/trace/groups";
import { render } from "../src/index";
import type { NodeRecord, Trace } from "../src/trace/types";
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
  trace.tensors = [];
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
  const row = (root: Element, scope: number): HTMLElement => root.querySelector(`.mg-outline-row[data-scope="${scope}"]`) as HTMLElement;
  const press = (root: Element, key: string): boolean => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));

  it("folds and unfolds by the list of modules, and by a click on the box", () => {
    const [, root] = show(blocks(2));
    expect(boxes(root)).toBe(9);
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

  it("follows Python, and has no list where there are no modules", () => {
    const [model, root] = show(blocks(2));
    model.set("collapsed", [1, 3]);
    expect(boxes(root)).toBe(3);
    const [, plain] = show(square());
    expect(plain.querySelector<HTMLElement>(".mg-outline")?.hidden).toBe(true);
  });

  it("shows as text what a module is called", () => {
    const trace = blocks(1);
    (trace.scopes ?? [])[1]!.name = "<img src=x>";
    const [, root] = show(trace, { collapsed: [1] });
    expect(root.querySelector("img")).toBeNull();
    expect(root.querySelector('.mg-node[data-scope="1"] .mg-title')?.textContent).toBe("<img src=x>");
  });
});
