import { beforeEach, describe, expect, it } from "vitest";
import { Holders, Makers } from "../src/trace/holders";
import { render } from "../src/index";
import { FakeModel, square } from "./fake";

const trace = square();
trace.storages = [4, 8];
trace.events[0] = { ...trace.events[0]!, held: [[0, 1, 0], [0, 1, 1]], bytes: [0, 4, 0, 0] };
trace.events[1] = { kind: "save", node: 0, file: 0, line: 2, held: [[0, 2, 0]], bytes: [0, 0, 4, 0] };
trace.events[7] = { ...trace.events[7]!, held: [[1, 4, 1]], dropped: [[0, 2, 0]], bytes: [0, 4, 0, 8] };
trace.events[10] = { ...trace.events[10]!, held: [[0, 5, 0]], bytes: [0, 0, 0, 8, 4] };

describe("who holds what", () => {
  const all = new Holders(trace);
  const at = (step: number): unknown[] => {
    all.goTo(step);
    return all.held();
  };

  it("tells each storage once, with all that hold it, forwards and backwards", () => {
    const tensors = [[1, 0], [1, 1]];
    const first = [{ storage: 0, bytes: 4, kind: "activations", holders: tensors }];
    const saved = [{ storage: 0, bytes: 4, kind: "saved", holders: [...tensors, [2, 0]] }];
    const last = [...first, { storage: 1, bytes: 8, kind: "gradients", holders: [[4, 1]] }];
    expect(at(0)).toEqual(first);
    expect(at(6)).toEqual(saved);
    expect(at(9)).toEqual(last);
    expect(at(10)).toEqual([{ ...first[0], kind: "optimizer", holders: [...tensors, [5, 0]] }, last[1]]);
    expect(at(1)).toEqual(saved);
    expect(at(-1)).toEqual([]);
  });

  it("names what lies there, what made it, and who holds it", () => {
    const makers = new Makers(trace);
    const held = { storage: 0, bytes: 4, kind: "saved", holders: [] };
    expect(makers.what(held)).toBe("x scalar");
    expect(makers.maker(held)).toBeNull();
    expect(makers.holder([2, 0])).toEqual({ text: "saved by MulBackward0 #0", node: 0 });
    expect(makers.holder([4, 1])).toEqual({ text: "waits at AccumulateGrad(x)", node: 1 });
    expect([makers.holder([3, 0]).text, makers.holder([2, null]).text]).toEqual(["x.grad", "a checkpoint"]);
    expect([makers.holder([5, 0]).text, makers.holder([5, null]).text]).toEqual(["optimizer state of x", "optimizer state"]);
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
    expect(kinds()).toEqual([{ kind: "saved", bytes: "4" }]);
    (root.querySelector(".mg-holders .mg-link") as HTMLElement).click();
    expect(root.querySelector(".mg-selected")?.getAttribute("data-node")).toBe("0");
    for (let step = 0; step < 6; step++) root.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    expect(kinds()).toEqual([{ kind: "activations", bytes: "4" }, { kind: "gradients", bytes: "8" }]);
    root.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
    expect(kinds()).toEqual([{ kind: "optimizer", bytes: "4" }, { kind: "gradients", bytes: "8" }]);
    expect(root.querySelector(".mg-kinds")?.textContent).toContain("optimizer 4 B");
    button.click();
    expect((root.querySelector(".mg-holders") as HTMLElement).hidden).toBe(true);
  });

  it("has its chart over the slider: each step is above its place there, in each lens", () => {
    const [plot, head, slider] = [".mg-plot", ".mg-playhead", ".mg-slider"].map((name) => root.querySelector(name) as HTMLInputElement) as [HTMLInputElement, HTMLInputElement, HTMLInputElement];
    const percent = (text: string): number => Number.parseFloat(text);
    const gaps = (): number[] => ["Home", ...Array<string>(4).fill("ArrowRight"), "End"].map((key) => {
      root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      const over = percent(plot.style.marginLeft) + (percent(plot.style.width) * percent(head.style.left)) / 100;
      return Math.abs(over - (100 * Number(slider.value)) / Number(slider.max));
    });
    expect(Math.max(...gaps())).toBeLessThan(1e-6);
    (root.querySelector('[data-lens="forward"]') as HTMLElement).click();
    expect(Number(slider.max)).toBeLessThan(trace.events.length - 1);
    expect(Math.max(...gaps())).toBeLessThan(1e-6);
  });

  it("agrees with the details on what a node has saved, and as what it counts", () => {
    const weights = square();
    weights.storages = [4];
    weights.events[0] = { ...weights.events[0]!, held: [[0, 0, 0]], bytes: [4, 0, 0, 0] };
    weights.events[1] = { ...weights.events[1]!, held: [[0, 2, 0]] };
    weights.events[3] = { ...weights.events[3]!, dropped: [[0, 0, 0]], bytes: [0, 0, 4, 0] };
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    render({ model: new FakeModel({ trace: JSON.stringify(weights), lens: "all", step: 0 }), el: place });
    const shown = place.querySelector(".mg-root") as HTMLElement;
    const seen = (): string[] => [shown.querySelector("[data-saved] dl, [data-saved] p")?.textContent ?? "", shown.querySelector(".mg-kinds")?.textContent ?? ""];
    const step = (): boolean => shown.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    expect(seen()).toEqual(["none yet: this node is about to save self, other", "saved 0 Bparameters 4 B"]);
    step();
    expect(seen()).toEqual(["selfx = tensor(3.) counts as a parameterotherx = tensor(3.) counts as a parameter", "saved 0 Bparameters 4 B"]);
    step(), step(), step();
    expect(seen()).toEqual(["selfx = tensor(3.)otherx = tensor(3.)", "saved 4 Bparameters 0 B"]);
  });

  it("shows the first of many, and the rest when asked", () => {
    const many = square();
    const count = 250;
    many.storages = Array.from({ length: count }, (_, at) => at + 1);
    many.events[1] = { ...many.events[1]!, held: many.storages.map((_, at) => [at, 1, 0]), bytes: [0, count, 0, 0] };
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    render({ model: new FakeModel({ trace: JSON.stringify(many), lens: "all", step: 1 }), el: place });
    (place.querySelector(".mg-toggle") as HTMLElement).click();
    const rows = (): number => place.querySelectorAll("[data-kind=activations] [data-storage]").length;
    const seen = [rows()];
    for (let more; (more = place.querySelector<HTMLElement>("[data-more=activations]")); seen.push(rows())) more.click();
    expect(seen).toEqual([8, 108, 208, 250]);
  });
});
