import { beforeEach, describe, expect, it } from "vitest";
import { Replay } from "../src/frame";
import { holdings } from "../src/holders";
import { render } from "../src/index";
import type { Bytes } from "../src/types";
import { FakeModel, square } from "./fake";

const trace = square();
trace.events[1] = { kind: "save", node: 0, file: 0, line: 2, bytes: [0, 4, 4, 0] };
trace.events[7] = { kind: "flow", node: 0, index: 1, to: 1, output_nr: 0, gradient: 0, sum: 3, bytes: [0, 8, 0, 12] };

function at(step: number, held: Bytes) {
  const replay = new Replay(trace);
  replay.goTo(step);
  return holdings(trace, replay, held);
}

describe("who holds what", () => {
  it("names a saved tensor once, with each that saved it", () => {
    const who = "MulBackward0 (self), MulBackward0 (other)";
    expect(at(1, [0, 4, 4, 0])).toEqual([
      { kind: "activations", bytes: 4, parts: [], rest: 4 },
      { kind: "saved", bytes: 4, parts: [{ what: "x", who, bytes: 4, node: 0 }], rest: 0 },
    ]);
  });

  it("names gradients that wait and that were written, and says what is left", () => {
    const [, gradients] = at(7, [0, 8, 0, 12]);
    expect(gradients).toMatchObject({ parts: [{ who: "waits at AccumulateGrad of x", bytes: 4 }], rest: 8 });
    expect(at(10, [0, 0, 0, 4])).toMatchObject([{ parts: [{ what: "x.grad", bytes: 4 }], rest: 0 }]);
  });

  it("names parameters once each, and not as saved", () => {
    const own = square();
    for (const tensor of own.tensors) tensor.parameter = tensor.is_leaf;
    const replay = new Replay(own);
    replay.goTo(1);
    expect(holdings(own, replay, [4, 0, 4, 0])[1]).toMatchObject({ kind: "saved", parts: [], rest: 4 });
    expect(holdings(own, replay, [4, 0, 0, 0])).toMatchObject([{ kind: "parameters", parts: [{ what: "x" }], rest: 0 }]);
  });
});

describe("the memory pane", () => {
  let root: HTMLElement;
  beforeEach(() => {
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    render({ model: new FakeModel({ trace: JSON.stringify(trace), lens: "all", step: 1 }), el: place });
    root = place.querySelector(".mg-root") as HTMLElement;
  });
  const kinds = (): unknown[] => [...root.querySelectorAll<HTMLElement>("[data-kind]")].map((each) => ({ ...each.dataset }));

  it("opens by its button, follows the step, and leads to a node", () => {
    expect(kinds()).toEqual([]);
    const button = root.querySelector(".mg-toggle") as HTMLElement;
    button.click();
    expect(button.getAttribute("aria-expanded")).toBe("true");
    expect(kinds()).toEqual([{ kind: "activations", bytes: "4" }, { kind: "saved", bytes: "4" }]);
    (root.querySelector(".mg-holders .mg-link") as HTMLElement).click();
    expect(root.querySelector(".mg-selected")?.getAttribute("data-node")).toBe("0");
    for (let step = 0; step < 6; step++) root.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    expect(kinds()).toEqual([{ kind: "activations", bytes: "8" }, { kind: "gradients", bytes: "12" }]);
    button.click();
    expect((root.querySelector(".mg-holders") as HTMLElement).hidden).toBe(true);
  });
});
