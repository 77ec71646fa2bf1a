import { describe, expect, it } from "vitest";
import { render } from "../src/index";
import { FakeModel, square } from "./fake";
import type { Trace } from "../src/trace/types";

function show(state: Record<string, unknown>, trace: Trace): HTMLElement {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), lens: "forward", ...state }), el: place });
  return place.querySelector(".mg-root") as HTMLElement;
}

function press(root: Element, ...keys: string[]): void {
  for (const key of keys) root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

/** One op before the recorded one, under no_grad, and an in-place op behind the pass. */
function longer(): Trace {
  const trace = square();
  const place = { file: 0, line: 1 };
  trace.values.push({ shape: [], dtype: "float32", data: [4] });
  trace.events.unshift(
    { kind: "mode", mode: "grad", on: false, ...place },
    { kind: "forward", op: "relu", node: null, inputs: [0], outputs: [0], ...place },
    { kind: "mode", mode: "grad", on: true, ...place },
  );
  trace.events.push({ kind: "version", tensor: 0, version: 1, value: 4, ...place });
  return trace;
}

const known = (root: Element): unknown[] =>
  [...root.querySelectorAll("[data-node]")].map((node) => node.getAttribute("data-status"));

describe("the forward lens", () => {
  it("stops at what the program ran, and passes over the backward pass", () => {
    const root = show({ step: 0 }, longer());
    const steps = [root.dataset["step"]];
    for (let at = 0; at < 6; at++) {
      press(root, "ArrowRight");
      steps.push(root.dataset["step"]);
    }
    expect(steps).toEqual(["0", "1", "2", "3", "4", "15", "15"]);
    expect(root.querySelector("output")?.textContent).toBe("step 6 of 6, operation 2 of 2: x is changed in place: version 1, now tensor(4.)");
    press(root, "ArrowLeft");
    expect(root.dataset["step"]).toBe("4");
  });

  it("lets the graph grow and shrink", () => {
    const root = show({}, longer());
    expect(known(root)).toEqual(["unknown", "unknown"]);
    expect(root.querySelectorAll(".mg-edge.mg-absent")).toHaveLength(2);
    press(root, "ArrowRight", "ArrowRight", "ArrowRight");
    expect(root.querySelectorAll(".mg-absent")).toHaveLength(0);
    expect(known(root)).toEqual(["recorded", "recorded"]);
    press(root, "Home");
    expect(known(root)).toEqual(["unknown", "unknown"]);
  });

  it("shows the tensors of an op that recorded nothing, with what they hold now", () => {
    const root = show({ step: 1 }, longer());
    expect(root.querySelector(".mg-details")?.textContent).toContain("No node was recorded.tensor x");
    press(root, "End");
    expect(root.querySelector(".mg-details")?.textContent).toMatch(/valuetensor\(4\.\).*version1/);
  });

  it("says so where no op was recorded", () => {
    const trace = square();
    trace.events = trace.events.slice(2);
    const root = show({}, trace);
    expect(root.querySelector("output")?.textContent).toContain("no op was recorded");
    press(root, "ArrowRight", "End");
    expect(root.dataset["position"]).toBe("0");
  });

  it("keeps its place when the lens is switched", () => {
    const root = show({ lens: "all", step: 9 }, longer());
    (root.querySelector("[data-lens=forward]") as HTMLElement).click();
    expect([root.dataset["lens"], root.dataset["step"]]).toEqual(["forward", "4"]);
  });
});

describe("a recording in which nothing ran", () => {
  it.each([["minigrad 0.1.0", "no op of minigrad ran in the block; PyTorch’s tensors"], ["torch 2.13.0", "no op of PyTorch ran in the block; minigrad’s tensors"]])(
    "says whom the recorder of %s listens to", (library, said) => {
      const root = show({ lens: "backward" }, { ...square(), library, events: [], nodes: [], tensors: [], values: [], formulas: {}, layout: null });
      expect(root.querySelector("output")?.textContent).toContain(`nothing was recorded: ${said}`);
      expect(root.querySelector(".mg-counter")?.textContent).toBe("0 / 0");
      expect(root.querySelector(".mg-details")?.textContent).toBe("No node was recorded.");
    });
});

describe("what a pass has given", () => {
  const told = (root: HTMLElement): string[] => [...root.querySelectorAll(".mg-details .mg-part")].map((part) => part.textContent ?? "").filter((text) => /each .grad|gives/.test(text));

  it("is listed at the end of the pass, and again at the last step of the program", () => {
    const trace = longer();
    trace.events.push({ kind: "version", tensor: 0, version: 2, file: 0, line: 1 });
    const root = show({ lens: "all", step: 14 }, trace);
    expect(told(root)).toEqual(["each .grad after the passxtensor(6.)"]);
    press(root, "ArrowRight");
    expect(told(root)).toEqual([]);
    press(root, "End");
    expect(told(root)).toEqual(["each .grad at the endxtensor(6.)"]);
  });

  it("is what a hook made of it: DDP writes the mean of all processes into .grad, within the pass", () => {
    const trace = longer();
    const end = trace.events.findIndex(({ kind }) => kind === "backward_end");
    trace.events.splice(end, 0, { kind: "grad", tensor: 0, grad: trace.values.length - 1, file: 0, line: 3, depth: 1 });
    expect(told(show({ lens: "all", step: end + 1 }, trace))).toEqual(["each .grad after the passxtensor(4.)"]);
  });

  it("is no .grad where autograd.grad asked", () => {
    const trace = square();
    trace.events = trace.events.map((event) => event.kind === "accumulate" ? { kind: "capture", node: 1, tensor: 0, gradient: 3, file: 0, line: 3 } : event);
    expect(told(show({ lens: "all", step: 11 }, trace))).toEqual(["what autograd.grad givesxtensor(6.)"]);
  });
});
