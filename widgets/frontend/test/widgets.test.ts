import { beforeEach, describe, expect, it } from "vitest";
import { render } from "../src/index";
import type { Trace } from "../src/trace/types";
import { FakeModel, square } from "./fake";

let place: HTMLElement;

beforeEach(() => {
  place = document.createElement("div");
  document.body.replaceChildren(place);
});

function show(state: Record<string, unknown>): [FakeModel, HTMLElement] {
  const model = new FakeModel(state);
  render({ model, el: place });
  return [model, place.querySelector(".mg-root") as HTMLElement];
}

function press(root: Element, ...keys: string[]): void {
  for (const key of keys) root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

const texts = (root: ParentNode, selector: string): string[] => [...root.querySelectorAll(selector)].map((each) => each.textContent ?? "");
const visible = (root: ParentNode, selector: string): HTMLElement[] =>
  [...root.querySelectorAll<HTMLElement>(selector)].filter((each) => !each.closest("[hidden]"));

describe("the alias view", () => {
  const seen = { shape: "[2]", counter: 0, cells: [0, 1] };
  const aliases = {
    storages: [
      {
        storage: 3,
        size: 2,
        tensors: [
          { ...seen, tensor: 0, name: "<b>y</b>", kind: "the first", since: 0 },
          { ...seen, tensor: 1, name: "v", kind: "a view of y", since: 2, cells: [1] },
        ],
        writes: [[0, { 0: "1.", 1: "2." }], [4, { 1: "5." }]],
        saves: [{ node: "MulBackward0", name: "self", tensor: 0, counter: 0, version: 0, step: 1, released: null, raised: 6, wrong: null }],
      },
    ],
    versions: [[0, 0, 0], [4, 0, 1]],
    steps: [[0, "mul"], [1, "save"], [2, "view"], [4, "written"], [6, "error"]],
  };

  it("shows who looks at a memory, and what was written there", () => {
    const [, root] = show({ aliases, step: 0 });
    expect(texts(root, ".mg-cell")).toEqual(["1.", "2."]);
    expect(visible(root, ".mg-alias").map((row) => row.querySelector(".mg-owner b, .mg-owner span")?.textContent)).toEqual(["<b>y</b>"]);
    press(root, "ArrowRight", "ArrowRight", "ArrowRight");
    expect(root.dataset["step"]).toBe("4");
    expect(texts(root, ".mg-cell")).toEqual(["1.", "5."]);
    expect(texts(root, ".mg-cell[data-fresh]")).toEqual(["5."]);
    expect(texts(root, ".mg-version")).toEqual(["version 1", "version 1"]);
    expect(root.querySelector("[data-tensor='1'] .mg-cells")?.getAttribute("aria-label")).toBe("looks at elements 1");
  });

  it("says what becomes of a saved tensor, and takes it back", () => {
    const [, root] = show({ aliases, step: 0 });
    const fates: string[] = [];
    for (const _ of aliases.steps) {
      fates.push(visible(root, ".mg-fate")[0]?.textContent ?? "");
      press(root, "ArrowRight");
    }
    expect(fates).toEqual(["", "✓ unchanged", "✓ unchanged", "✗ now at version 1: backward will raise", "✗ raised: it is at version 1"]);
    press(root, "Home");
    expect(visible(root, ".mg-fate")).toEqual([]);
  });

  it("follows the step that Python sets", () => {
    const [model, root] = show({ aliases, step: 3 });
    expect(root.dataset["step"]).toBe("2");
    model.set("step", 100);
    expect(root.dataset["step"]).toBe("6");
  });
});

describe("the parameter ledger", () => {
  const row = { shape: "[1]", parameter: true, value: "1.", grad: "–", version: 0 };
  const ledger = {
    rows: [{ ...row, tensor: 0, name: "w" }, { ...row, tensor: 1, name: "<b>" }],
    moments: [
      { start: 2, end: 5, place: "cell 1, line 3", source: "loss.backward()", changes: [{ row: 0, value: "1.", grad: "2.", version: 0, new: ["grad"] }] },
      { start: 6, end: 7, place: "cell 1, line 4", source: "step()", changes: [{ row: 0, value: "0.5", grad: "2.", version: 1, new: ["value"] }] },
      { start: 8, end: 8, place: "cell 1, line 5", source: "", changes: [{ row: 0, value: "0.5", grad: "None", version: 1, new: ["cleared"] }] },
    ],
  };
  const rows = (root: HTMLElement): string[][] => [...root.querySelectorAll("tbody tr")].map((each) => texts(each, "td"));

  it("shows what each tensor has at a moment, and what of it is new", () => {
    const [, root] = show({ ledger, step: 0 });
    expect(rows(root)).toEqual([["1.", "–", "0"], ["1.", "–", "0"]]);
    expect(root.querySelector(".mg-text")?.textContent).toBe("before the first change");
    press(root, "ArrowRight");
    expect(rows(root)[0]).toEqual(["1.", "2.", "0"]);
    expect(texts(root, "td[data-new]")).toEqual(["2."]);
    expect(root.querySelector(".mg-text")?.textContent).toBe("1. loss.backward() writes the .grad of w");
    press(root, "End");
    expect(rows(root)[0]).toEqual(["0.5", "None", "1"]);
    expect(root.querySelector(".mg-text")?.textContent).toBe("3. cell 1, line 5 takes off the .grad of w");
    press(root, "Home");
    expect(rows(root)[0]).toEqual(["1.", "–", "0"]);
  });

  it("has a mark for each change, which leads there", () => {
    const [, root] = show({ ledger, step: 0 });
    const columns = [...root.querySelectorAll<HTMLButtonElement>(".mg-moment")];
    expect(columns.map((column) => column.textContent)).toEqual(["●", "▲", "○"]);
    columns[1]?.click();
    expect(root.dataset["step"]).toBe("7");
    expect(root.querySelector(".mg-moment[aria-current]")).toBe(columns[1]);
    expect(root.querySelectorAll(".mg-moment[data-over]").length).toBe(2);
    expect(texts(root, "th b")).toEqual(["w", "<b>"]);
  });
});

describe("the ribbon of grad modes", () => {
  const trace: Trace = { ...square(), modes: [[0, "on"], [2, "off"], [11, "inference"]] };

  it("shows the mode of each step that the lens stops at", () => {
    const [, root] = show({ trace: JSON.stringify(trace), lens: "all", step: 1 });
    const runs = [...root.querySelectorAll<HTMLElement>(".mg-mode-run")];
    expect(runs.map((run) => run.dataset["mode"])).toEqual(["on", "off", "inference"]);
    expect(runs[0]?.style.width).toBe("13.64%");
    expect(root.querySelector(".mg-mode")?.textContent).toBe("grad mode on");
    press(root, "ArrowRight");
    expect(root.querySelector(".mg-mode")?.textContent).toBe("grad mode off");
    press(root, "End");
    expect(root.querySelector(".mg-ribbon")?.getAttribute("aria-label")).toBe("inference mode at this step");
  });

  it("is there in the lenses of the whole program only, and where a mode was switched", () => {
    const [, root] = show({ trace: JSON.stringify(trace), lens: "backward" });
    expect((root.querySelector(".mg-ribbon") as HTMLElement).hidden).toBe(true);
    place.replaceChildren();
    const [, plain] = show({ trace: JSON.stringify({ ...square(), modes: [[0, "on"]] }), lens: "forward" });
    expect((plain.querySelector(".mg-ribbon") as HTMLElement).hidden).toBe(true);
    expect((plain.querySelector(".mg-mode") as HTMLElement).hidden).toBe(true);
  });
});

describe("what happens at a node, in order", () => {
  const plain = square();
  const hook = { kind: "hook" as const, node: 1, tensor: 0, gradient: [3] };
  const hooked: Trace = {
    ...plain,
    events: [
      ...plain.events.slice(0, 10),
      { ...hook, hook: "tensor", name: "<i>double" },
      ...plain.events.slice(10, 11),
      { ...hook, hook: "post_accumulate", name: "" },
      ...plain.events.slice(11),
    ],
  };
  const turns = (root: HTMLElement): [string, string][] =>
    [...root.querySelectorAll<HTMLElement>(".mg-turn")].map((turn) => [turn.textContent?.trim() ?? "", turn.dataset["turn"] ?? ""]);

  it("lists what has happened with its gradient, and what is ahead without", () => {
    const [, root] = show({ trace: JSON.stringify(hooked), step: 10 });
    expect(turns(root)).toEqual([
      ["gradient taken → 6.", "over"],
      ["tensor hook <i>double → 6.", "now"],
      ["added to .grad", "ahead"],
      ["post-accumulate hook", "ahead"],
    ]);
    root.querySelectorAll<HTMLButtonElement>(".mg-turn button")[2]?.click();
    expect(root.dataset["step"]).toBe("11");
  });

  it("is left out where no hook runs, and while a question is open", () => {
    const [, root] = show({ trace: JSON.stringify(plain), step: 9 });
    expect(turns(root)).toEqual([]);
    place.replaceChildren();
    const [, asked] = show({ trace: JSON.stringify(hooked), step: 10, ask: [{ kind: "grad", step: 11 }], answers: [] });
    expect(turns(asked)).toEqual([]);
  });
});
