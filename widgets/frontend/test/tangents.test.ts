/** Forward mode: tangents go up the edges, both products of a Jacobian, and frames around what transforms run. */
import { beforeEach, describe, expect, it } from "vitest";
import { framesOf, outside, widen } from "../src/layout/frames";
import { draw, outlook } from "../src/layout/geometry";
import { Groups } from "../src/trace/groups";
import { render } from "../src/index";
import type { Trace } from "../src/trace/types";
import { FakeModel, square } from "./fake";

/** y = x * x, where x moves by 2. */
function moving(): Trace {
  const trace = square();
  const number = (data: number) => ({ shape: [], dtype: "float32", data: [data] });
  trace.values.push(number(2), number(12));
  trace.tensors.push({ ...trace.tensors[0]!, name: null, value: 4 }, { ...trace.tensors[1]!, name: null, value: 5 });
  trace.tensors[0]!.tangent = 2;
  trace.tensors[1]!.tangent = 3;
  trace.tangents = [{ node: 0, index: 0, value: 4 }, { node: 0, index: 1, value: 4 }];
  return trace;
}

function show(state: Record<string, unknown>, trace: Trace): HTMLElement {
  const root = document.createElement("div");
  document.body.append(root);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), ...state }), el: root });
  return root;
}

beforeEach(() => document.body.replaceChildren());

describe("tangents", () => {
  const label = (root: HTMLElement): string => root.querySelector(".mg-gradient")?.textContent ?? "";
  const flow = (root: HTMLElement): string | null | undefined => root.querySelector('[data-edge="0:0"]')?.getAttribute("data-flow");

  it("arrive when the op runs, and stay beside the gradient that comes back", () => {
    const root = show({ step: 0, lens: "forward" }, moving());
    expect([label(root), flow(root)]).toEqual(["↑ 2.", "rises"]);
    expect(root.querySelector(".mg-badge[data-tangent]")?.textContent).toBe("↑ 12.");
    const later = show({ step: 6, lens: "backward" }, moving());
    expect([label(later), flow(later)]).toEqual(["↑ 2.   ↓ 3.", "now"]);
    expect([label(show({ step: 0, lens: "forward" }, square()))]).toEqual([""]);
  });

  it("are said in the sentence of the op", () => {
    expect(show({ step: 0, lens: "forward" }, moving()).querySelector(".mg-text")?.textContent).toContain("makes y = tensor(9.), moved by tensor(12.); recorded as");
  });

  it("and gradients are two products of one Jacobian, which meet in one number", () => {
    const told = (step: number): string => show({ step, selected: 0 }, moving()).querySelector(".mg-products")?.textContent ?? "";
    expect(told(4)).toContain("two products of one Jacobian, 1 × 2");
    expect(told(4)).toContain("nothing yet");
    expect(told(11)).toContain("tangent · gradient: 12. at its output, 12. at its inputs");
    expect(show({ step: 11, selected: 0 }, square()).querySelector(".mg-products")).toBeNull();
  });
});

describe("frames", () => {
  function framed(names: readonly string[]): Trace {
    const trace = square();
    trace.scopes = names.map((name, at) => ({ name, module: name.split(" ")[0] as string, parent: at === 0 ? null : at - 1 }));
    for (const node of trace.nodes) node.scope = names.length - 1;
    return trace;
  }

  it("have one title for transforms that run the same boxes, and cards for a batch", () => {
    const root = show({ step: 11 }, framed(["vmap ×64", "grad"]));
    expect(root.querySelector("[data-transform]")?.getAttribute("data-transform")).toBe("vmap ×64 › grad");
    expect(root.querySelectorAll(".mg-frame").length).toBe(3);
    expect(show({ step: 11 }, framed(["grad"])).querySelectorAll(".mg-frame").length).toBe(1);
    expect(show({ step: 11 }, framed(["Linear"])).querySelector(".mg-frame")).toBeNull();
  });

  it("are in view, with the labels inside them", () => {
    const trace = framed(["vmap ×2"]);
    const groups = new Groups(trace);
    const drawing = draw(groups, trace.layout);
    const frames = framesOf(groups, drawing.boxes);
    const [frame] = frames;
    const { over, part } = outlook(drawing, null, undefined, outside(frames));
    expect(over?.top).toBeLessThan(frame!.region.top);
    expect(part.top).toBe(over?.top);
    widen(frame!, { left: -500, right: 0, top: 0, bottom: 0 });
    expect(frame!.region.left).toBeLessThan(-500);
  });

  it("are left out where another box lies between theirs", () => {
    const trace = framed(["grad"]);
    delete trace.nodes[0]!.scope;
    const boxes = draw(new Groups(trace), { nodes: { 0: [120, 151], 1: [120, 151] }, edges: {}, size: [240, 200] } as never).boxes;
    expect(framesOf(new Groups(trace), boxes)).toEqual([]);
  });
});
