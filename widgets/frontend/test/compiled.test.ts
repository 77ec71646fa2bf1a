import { beforeEach, describe, expect, it } from "vitest";
import { render } from "../src/index";
import { countByOp, endedBy, pieces, related, rowsOf, stays, type Compiled } from "../src/lenses/compiled_step";
import { FakeModel } from "./fake";

// y = relu(x * w); y.backward(): one statement is dead, one is written elsewhere, and two run in a loop in the end.
const statement = (id: number, code: string, ops: number[], more: object = {}) => ({ id, code, origin: `op ${ops[0]}, step.py:2`, ops, ...more });
const found: Compiled = {
  name: "step",
  backend: "numba",
  files: [{ name: "step.py", lines: [[1, "    def step(x):"], [2, "        y = relu(x * w)"], [3, "        y.backward()"]] }],
  ops: [
    { name: "Mul", phase: "forward", file: 0, line: 2, recorded_by: null },
    { name: "Relu", phase: "forward", file: 0, line: 2, recorded_by: null },
    { name: "View", phase: "forward", file: 0, line: 2, recorded_by: null },
    { name: "MulBackward0", phase: "backward", file: 0, line: 3, recorded_by: 0 },
  ],
  head: ["def step(x):", "x_v = view(x, (3,), (4,), 0, float32)"],
  statements: [
    statement(0, "multiply(x, w, out=t1)", [0]),
    statement(1, "maximum(t1, 0, out=t2)", [1]),
    statement(2, "multiply(x, t2, out=t3)", [3]),
    statement(2, "multiply(x, t2, out=t4)", [3]),
    statement(3, "loop1(x, w, t2)", [0, 1], { loop: ["def loop1(x1, x2, y1):", "    for i in range(3):"], parts: [0, 1] }),
  ],
  steps: [
    { name: "traced", sentence: "As it was traced.", statements: [0, 1, 2], buffers: 3, bytes: 36 },
    { name: "copies forwarded", sentence: "One changed.", statements: [0, 1, 3], buffers: 2, bytes: 24 },
    { name: "loops", sentence: "Two share a loop.", statements: [4, 3], buffers: 1, bytes: 12 },
    { name: "dead code", sentence: "1 of 2 statements wrote what nobody reads.", statements: [4], buffers: 1, bytes: 12 },
    { name: "memory plan", sentence: "One place.", statements: [4], buffers: 1, bytes: 64 },
  ],
  names: { x: "x", w: "w", t1: "t1", t2: "t2", t3: "t3", t4: "t4", x_v: "x" },
  buffers: {
    x: { kind: "input", type: "float32 (3,)", bytes: 12 }, w: { kind: "input", type: "float32 (3,)", bytes: 12 },
    t1: { kind: "temporary", type: "float32 (3,)", bytes: 12 }, t3: { kind: "temporary", type: "float32 (3,)", bytes: 12 },
    t4: { kind: "kept", type: "float32 (3,)", bytes: 12 },
    t2: { kind: "temporary", type: "float32 (3,)", bytes: 12, place: 0, offset: 0, first: 0, last: 0 },
  },
};

describe("a compiled step", () => {
  it("keeps what a pass has removed where it stood", () => {
    const rows = (step: number) => rowsOf(found, step).map(({ statement: { id }, change }) => `${id} ${change}`);
    expect(rows(0)).toEqual(["0 same", "1 same", "2 same"]);
    expect(rows(1)).toEqual(["0 same", "1 same", "2 changed"]);
    expect(rowsOf(found, 1)[2]?.was).toBe("multiply(x, t2, out=t3)");
    expect(rows(2)).toEqual(["0 removed", "1 removed", "3 new", "2 same"]);
    expect(rows(3)).toEqual(["3 same", "2 removed"]);
    expect(rows(4)).toEqual(["3 same"]);
  });

  it("knows what belongs to what", () => {
    const sets = (target: Parameters<typeof related>[1]) => {
      const { ops, kin } = related(found, target);
      return [[...ops], [...kin]];
    };
    expect(sets({ line: "0:2" })).toEqual([[0, 1, 2], [3]]);
    expect(sets({ op: 3 })).toEqual([[3], [0]]);
    expect(sets({ statement: 3 })).toEqual([[0, 1], [3]]);
    expect(sets(null)).toEqual([[], []]);
    expect(countByOp(found, 2)).toEqual([1, 1, 0, 1]);
    expect([endedBy(found, 3, 4), endedBy(found, 2, 4), endedBy(found, 0, 4)]).toEqual(["dead code", null, null]);
  });

  it("finds names of memory in a statement, and no others", () => {
    expect(pieces(found, "copyto(x_v, t2_T)")).toEqual([
      { text: "copyto", buffer: null }, { text: "(", buffer: null }, { text: "x_v", buffer: "x" }, { text: ", ", buffer: null }, { text: "t2_T", buffer: null }, { text: ")", buffer: null },
    ]);
    expect(pieces(found, "constructor(t1)").map(({ buffer }) => buffer)).toEqual([null, null, "t1", null]);
  });

  it("lays temporaries apart, and after the plan where it puts them", () => {
    expect(stays(found, 0).map(({ buffer, first, last, offset, place }) => [buffer, first, last, offset, place])).toEqual([["t1", 0, 1, 0, null], ["t2", 1, 2, 12, null], ["t3", 2, 2, 24, null]]);
    expect(stays(found, 4).map(({ buffer, offset, place }) => [buffer, offset, place])).toEqual([["t2", 0, 0]]);
  });
});

describe("its view", () => {
  let root: HTMLElement;

  beforeEach(() => {
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    render({ model: new FakeModel({ compiled: found, step: 0 }), el: place });
    root = place.querySelector(".mg-root") as HTMLElement;
  });

  const press = (key: string) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const looks = (name: string) => [...root.querySelectorAll<HTMLElement>(`[${name}]`)].map((each) => each.dataset["look"] ?? "");
  const at = (selector: string): HTMLElement => root.querySelector(selector) as HTMLElement;
  const point = (selector: string): boolean => at(selector).dispatchEvent(new Event("pointerover", { bubbles: true }));
  const told = () => at(".mg-told").textContent;
  const program = () => [...root.querySelectorAll("[data-statement]")].map((each) => `${each.querySelector(".mg-change")?.textContent}${each.querySelector("code")?.textContent}`);

  it("goes through the passes, and says what each did", () => {
    expect(at(".mg-text").textContent).toBe("As it was traced.");
    expect(program()).toEqual(["multiply(x, w, out=t1)", "maximum(t1, 0, out=t2)", "multiply(x, t2, out=t3)"]);
    press("ArrowRight");
    expect(program()[2]).toBe("~multiply(x, t2, out=t4)");
    press("ArrowRight");
    expect(program()).toEqual(["−multiply(x, w, out=t1)", "−maximum(t1, 0, out=t2)", "+loop1(x, w, t2)", "multiply(x, t2, out=t4)"]);
    expect(at("[data-statement='3'] .mg-loop").textContent).toBe("def loop1(x1, x2, y1):\n    for i in range(3):");
    (root.querySelectorAll(".mg-pass")[3] as HTMLElement).click();
    expect(root.dataset["step"]).toBe("3");
    expect(at(".mg-column:last-child .mg-heading").textContent).toBe("program · 1 statement · 1 temporary, 12 B");
    expect([...root.querySelectorAll(".mg-count")].map((each) => each.textContent)).toEqual(["1", "1", "–", "–"]);
    press("End");
    expect(at(".mg-column:last-child .mg-heading").textContent).toBe("what runs · 1 statement · 1 place, 64 B");
    expect(at("[data-planned] .mg-buffer[data-place]").textContent).toBe("t2");
  });

  it("lights what belongs to what is pointed at, for as long as it is", () => {
    point("[data-line='0:2'] code");
    expect([looks("data-line"), looks("data-op"), looks("data-statement")]).toEqual([["here", "kin"], ["lit", "lit", "lit", "kin"], ["lit", "lit", "kin"]]);
    expect(told()).toBe("Line 2 calls 3 ops: 2 statements here; and 1 statement of the nodes that they recorded, in the backward pass.");
    point("[data-op='3']");
    expect([looks("data-line"), looks("data-op"), looks("data-statement")]).toEqual([["kin", "lit"], ["kin", "", "", "here"], ["kin", "", "lit"]]);
    expect(told()).toBe("MulBackward0, backward, line 3: 1 statement here; recorded by Mul, line 2.");
    point("[data-op='2']");
    expect(told()).toBe("View, forward, line 2: no statement: it writes no memory.");
    at(".mg-column:nth-child(2) .mg-list").dispatchEvent(new Event("pointerleave"));
    expect([...looks("data-line"), ...looks("data-op"), ...looks("data-statement")].join("")).toBe("");
  });

  it("says what a pass has made of a statement, and of an op", () => {
    press("ArrowRight");
    point("[data-statement='2']");
    expect(told()).toBe("op 3, step.py:2; changed by this pass, before: multiply(x, t2, out=t3)");
    press("End");
    point("[data-op='3']");
    expect(told()).toBe("MulBackward0, backward, line 3: nothing of it is left since “dead code”; recorded by Mul, line 2.");
  });

  it("shows where a buffer is read and written, and where it lies", () => {
    point("[data-statement='1'] [data-buffer='t1']");
    expect([...root.querySelectorAll("[data-same]")].map((each) => each.closest("[data-statement]")?.getAttribute("data-statement"))).toEqual(["0", "1"]);
    expect(told()).toBe("t1: a temporary, float32 (3,), 12 bytes.");
    expect(root.querySelector(".mg-room rect[data-look]")?.getAttribute("data-buffer")).toBe("t1");
    point("[data-statement='1'] [data-buffer='t2']");
    expect(told()).toBe("t2: a temporary, float32 (3,), 12 bytes; in the plan place 0, from byte 0, needed from statement 1 to 1.");
  });

  it("goes through a list by the arrows", () => {
    press("ArrowDown");
    expect(looks("data-statement")).toEqual(["here", "", "kin"]);
    press("ArrowDown");
    expect(looks("data-statement")).toEqual(["", "here", ""]);
    expect(looks("data-op")).toEqual(["", "lit", "", ""]);
    const list = at(".mg-column:first-child .mg-list");
    list.focus();
    list.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true, cancelable: true }));
    const chosen = document.getElementById(list.getAttribute("aria-activedescendant") ?? "");
    expect(chosen?.dataset).toMatchObject({ line: "0:3", look: "here" });
    expect(root.querySelectorAll("[aria-selected=true]")).toHaveLength(1);
  });
});
