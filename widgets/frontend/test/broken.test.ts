import { describe, expect, it } from "vitest";
import { brief, broken } from "../src/trace/format";
import { fits } from "../src/graph/parts";
import { render } from "../src/index";
import type { Scalar, Trace, Value } from "../src/trace/types";
import { FakeModel, square } from "./fake";

const value = (shape: number[], ...data: Scalar[]): Value => ({ shape, dtype: "float32", data });
const counted = (nan: number, inf: number): Value => ({
  shape: [9, 9], dtype: "float32", stats: { min: 0, max: 1, mean: 0.5, norm: 3, nan, inf },
});

/** y = x * x whose second gradient is NaN, and so is the sum of both. */
function lost(): Trace {
  const trace = square();
  trace.values[3] = value([], "nan");
  trace.values.push(value([2, 2], 1, "nan", 3, 4));
  for (const event of trace.events) if (event.kind === "flow" && event.index === 1) event.gradient = 4;
  return trace;
}

describe("what is no finite number", () => {
  it("is told apart", () => {
    expect([value([], "nan"), value([2], 1, "-inf"), value([3], "inf", "nan", 1), value([2], 1, 2)].map(broken)).toEqual(["nan", "inf", "nan", ""]);
    expect([counted(1, 0), counted(0, 2), counted(3, 4), counted(0, 0), undefined].map(broken)).toEqual(["nan", "inf", "nan", "", ""]);
  });

  it("is never a finite norm", () => {
    expect(brief(value([2, 2], "nan", 0, 0, 0))).toBe("2×2 ‖nan‖");
    expect(brief(value([2, 2], "-inf", 0, 0, 0))).toBe("2×2 ‖inf‖");
    expect(brief(counted(1, 1))).toBe("9×9 ‖nan‖");
    expect(brief(counted(0, 0))).toBe("9×9 ‖3.‖");
  });

  it("is marked on the edge, at the nodes and in words", () => {
    const host = document.createElement("div");
    document.body.append(host);
    render({ model: new FakeModel({ trace: JSON.stringify(lost()), step: 11 }), el: host });
    expect(host.querySelectorAll("path.mg-edge[data-broken=nan]").length).toBe(1);
    expect([...host.querySelectorAll("text[data-broken=nan]")].map((each) => each.textContent)).toEqual(["2×2 ‖nan‖"]);
    const nodes = [...host.querySelectorAll(".mg-node[data-broken=nan]")];
    expect(nodes.map((each) => each.getAttribute("data-node"))).toContain("0");
    expect(nodes[0]?.getAttribute("aria-label")).toContain("nan");
  });

  it("is told of a value where no gradient has it", () => {
    const host = document.createElement("div");
    document.body.append(host);
    render({ model: new FakeModel({ trace: JSON.stringify(lost()), step: 0 }), el: host });
    const words = [...host.querySelectorAll(".mg-node[data-broken=nan] .mg-word")].map((each) => each.textContent);
    expect(words).toEqual([]);
    const trace = lost();
    const tensor = trace.tensors[trace.nodes[0]?.outputs[0] ?? -1];
    if (!tensor) throw new Error("the first node has no output");
    tensor.value = trace.values.push(value([], "nan")) - 1;
    render({ model: new FakeModel({ trace: JSON.stringify(trace), step: 0 }), el: host });
    expect([...host.querySelectorAll(".mg-node[data-broken=nan] .mg-word")].map((each) => each.textContent)).toContain("value nan");
  });

  it("stands alone in a box that has no room for the state beside it", () => {
    const box = { x: 0, y: 0, width: 163, title: "AddBackward0", caption: "scalar" };
    expect([fits("waits: 1 · nan", box), fits("waits: 1", box), fits("waits: 1 · nan", { ...box, width: 214 })]).toEqual([false, true, true]);
  });

  it("is found where only a leaf’s .grad holds it", () => {
    const trace = square();
    trace.values[3] = value([], "nan");
    for (const event of trace.events) {
      if (event.kind === "flow") event.sum = 0;
      if (event.kind === "accumulate") event.gradient = 0;
    }
    const host = document.createElement("div");
    document.body.append(host);
    render({ model: new FakeModel({ trace: JSON.stringify(trace), step: 11 }), el: host });
    const field = host.querySelector<HTMLInputElement>(".mg-find") as HTMLInputElement;
    field.value = "nan";
    field.dispatchEvent(new Event("input"));
    expect(host.querySelector(".mg-found")?.textContent).toBe("1 found");
    const table = host.querySelector<HTMLDetailsElement>(".mg-summary") as HTMLDetailsElement;
    table.open = true;
    table.dispatchEvent(new Event("toggle"));
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    const row = table.querySelector("tr.mg-chosen");
    expect(row?.textContent).toContain("x leaf");
    expect(row?.textContent).toContain("nan");
  });

  it("is found by its name", () => {
    const host = document.createElement("div");
    document.body.append(host);
    render({ model: new FakeModel({ trace: JSON.stringify(lost()) }), el: host });
    const field = host.querySelector<HTMLInputElement>(".mg-find");
    if (!field) throw new Error("no field");
    for (const [text, count] of [["nan", "2 found"], ["inf", "0 found"]] as const) {
      field.value = text;
      field.dispatchEvent(new Event("input"));
      expect(host.querySelector(".mg-found")?.textContent).toBe(count);
    }
  });
});
