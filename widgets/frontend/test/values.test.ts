/** The lens "values" and what an inspector leaves out at first; tests/browser/test_values.py drags and turns. */
import { beforeEach, describe, expect, it } from "vitest";
import { render } from "../src/index";
import type { Calculation, Trace } from "../src/trace/types";
import { FakeModel, square } from "./fake";

let place: HTMLElement;

beforeEach(() => {
  place = document.createElement("div");
  document.body.replaceChildren(place);
});

const size = { y: 50, width: 160, height: 62, output_nr: 0 };
const calculation: Calculation = {
  boxes: [{ tensor: 0, name: "x", node: 1, x: 100, ...size }, { tensor: 1, name: "y", node: 0, x: 400, ...size }],
  signs: [{ sign: "×", node: 0, inputs: [0, 0], outputs: [1], ways: [[], []], x: 250, y: 50 }],
  root: 1,
  steps: [[1, "the numbers go in"], [2, "now backwards"], [7, "back through ×"], [11, "the end"]],
  size: [500, 120],
};

function show(state: Record<string, unknown> = {}, calculated: unknown = calculation): HTMLElement {
  const trace = { ...square(), calculation: calculated } as Trace;
  render({ model: new FakeModel({ trace: JSON.stringify(trace), lens: "values", step: 1, ...state }), el: place });
  return place.querySelector(".mg-root") as HTMLElement;
}

const texts = (root: ParentNode, selector: string): (string | null)[] => [...root.querySelectorAll(selector)].map((each) => each.textContent);
const click = (root: ParentNode, selector: string): void => root.querySelector<HTMLElement>(selector)?.click();

describe("the values", () => {
  it("stand in their boxes, and the result below", () => {
    const root = show();
    expect(root.querySelector(".mg-text")?.textContent).toBe("step 1 of 4: the numbers go in");
    expect(texts(root, ".mg-entryvalue")).toEqual(["3", "9"]);
    expect(texts(root, ".mg-entrygradient")).toEqual(["", ""]);
    expect(texts(root, ".mg-result")).toEqual(["y = 9"]);
    expect(root.querySelector(".mg-sign")?.hasAttribute("data-now")).toBe(false);
  });

  it("get their gradients sign by sign, with the terms of a sum", () => {
    const root = show();
    click(root, ".mg-onward");
    expect(texts(root, ".mg-entrygradient")).toEqual(["", "1"]);
    click(root, ".mg-onward");
    expect(texts(root, ".mg-entrygradient")).toEqual(["6", "1"]);
    expect(texts(root, ".mg-valuesum")).toEqual(["= 3 + 3", ""]);
    expect(root.querySelector(".mg-sign")?.getAttribute("data-now")).toBe("true");
    click(root, ".mg-back-step");
    expect(texts(root, ".mg-entrygradient")).toEqual(["", "1"]);
  });

  it("become the graph, at the same step, and come back", async () => {
    window.matchMedia = (() => ({ matches: true })) as unknown as typeof matchMedia;  // who asks for less motion
    const root = show({ step: 7 });
    click(root, ".mg-into-graph");
    await expect.poll(() => root.querySelector("[data-turning]")).toBeNull();
    expect(root.dataset["lens"]).toBe("backward");
    expect(root.dataset["step"]).toBe("7");
    click(root, ".mg-into-graph");
    await expect.poll(() => root.dataset["lens"]).toBe("values");
  });

  it("have no tab in a program that is not read so, and the backward lens is shown", () => {
    const root = show({}, null);
    expect(root.dataset["lens"]).toBe("backward");
    expect(root.querySelector('[data-lens="values"].mg-tab')).toBeNull();
  });

  it.each([
    ["a box of no tensor", { ...calculation, boxes: [{ ...calculation.boxes[0], tensor: 9 }, calculation.boxes[1]] }],
    ["a sign between no boxes", { ...calculation, signs: [{ ...calculation.signs[0], inputs: [2] }] }],
    ["a result that is no box", { ...calculation, root: 7 }],
    ["no lists", { ...calculation, boxes: 3 }],
  ])("are refused with %s", (_, calculated) => {
    show({}, calculated);
    expect(place.textContent).toMatch(/this is not a whole trace/);
  });
});

describe("the parts", () => {
  it("are all shown, with no button for more, unless a lesson names them", () => {
    const root = show();
    expect(root.hasAttribute("data-parts")).toBe(false);
    expect(root.querySelector<HTMLElement>(".mg-more")?.hidden).toBe(true);
  });

  it("appear and go by one button", () => {
    const root = show({ parts: ["source"] });
    expect(root.getAttribute("data-parts")).toBe("source");
    click(root, ".mg-more");
    expect(root.hasAttribute("data-parts")).toBe(false);
    expect(texts(root, ".mg-more")).toEqual(["less"]);
    click(root, ".mg-more");
    expect(root.getAttribute("data-parts")).toBe("source");
  });

  it("name a leaf alone, count from the first step, and have no queue, until more is shown", () => {
    const root = show({ parts: ["source", "details"], lens: "backward", step: 2 });
    const said = (): string => [root.outerHTML, ...[...root.querySelectorAll("[aria-label]")].map((each) => each.getAttribute("aria-label"))].join();
    const steps: (string | null)[] = [];
    for (let at = 0; at < 10; at++) {
      steps.push(...texts(root, ".mg-text"));
      expect(said()).not.toContain("AccumulateGrad(");
      click(root, ".mg-onward");
    }
    expect(steps.slice(0, 2)).toEqual(["step 1 of 10: backward starts at MulBackward0 #0 with tensor(1.)", "step 2 of 10: MulBackward0 #0 has all its gradients and can run"]);
    expect(said()).toContain('"the leaf x, done"');
    click(root, ".mg-more");
    expect(said()).toContain('"AccumulateGrad(x), done"');
  });
});
