import { beforeEach, describe, expect, it } from "vitest";
import { render } from "../src/index";
import { FakeModel } from "./fake";

/** Two states: `t.flip()` goes to and fro, `t.stay()` stays, `t.fail()` is forbidden in the second. */
const exploration = {
  attributes: ["is_leaf", "grad_fn"],
  starts: ["t = <b>one</b>", "t = other"],
  calls: ["t.flip()", "t.stay()", "t.fail()"],
  states: [
    { values: [true, false], recipe: ["t = <b>one</b>"] },
    { values: [false, true], recipe: ["t = <b>one</b>", "t.flip()"] },
  ],
  moves: [
    { from: 0, call: 0, to: 1, error: null },
    { from: 0, call: 1, to: 0, error: null },
    { from: 0, call: 2, to: 0, error: null },
    { from: 1, call: 0, to: 0, error: null },
    { from: 1, call: 1, to: 1, error: null },
    { from: 1, call: 2, to: null, error: "RuntimeError: no" },
  ],
  drawing: {
    words: [["False", "True"], ["None", "a node"]],
    size: [460, 330],
    places: [[42, 165], [418, 165]],
    arrows: [
      { from: 0, to: 1, calls: [0], points: [[67, 160], [230, 100], [390, 160]], letters: [230, 130] },
      { from: 1, to: 0, calls: [0], points: [[390, 170], [230, 230], [67, 170]], letters: [230, 200] },
    ],
  },
};
let place: HTMLElement;

beforeEach(() => {
  place = document.createElement("div");
  document.body.replaceChildren(place);
});

function show(calls: number[] = [0]): [FakeModel, HTMLElement] {
  const model = new FakeModel({ exploration, calls });
  render({ model, el: place });
  return [model, place.querySelector(".mg-explorer") as HTMLElement];
}

function press(target: Element, key: string): void {
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
}

const calls = (root: HTMLElement): HTMLButtonElement[] => [...root.querySelectorAll<HTMLButtonElement>(".mg-call")];
const lines = (root: HTMLElement): string => root.querySelector(".mg-lines")?.textContent ?? "";

describe("the state explorer", () => {
  it("shows a state, what each call does in it, and the lines that lead there", () => {
    const [, root] = show([0, 0]);
    expect(root.dataset["state"]).toBe("1");
    expect(root.querySelector(".mg-text")?.textContent).toBe("state 2: is_leaf False, grad_fn a node");
    expect(calls(root).map((call) => call.dataset["gives"])).toEqual(["state", "same", "error"]);
    expect(calls(root)[2]?.textContent).toContain("RuntimeError: no");
    expect(lines(root)).toBe("t = <b>one</b>\nt.flip()");
    expect(root.querySelector("b.mg-letter")?.textContent).toBe("a");
    expect([...root.querySelectorAll("b")].every((each) => each.className === "mg-letter")).toBe(true);
  });

  it("makes calls, takes them back and makes them again", () => {
    const [model, root] = show();
    calls(root)[0]?.click();
    calls(root)[0]?.click();
    expect(root.dataset["calls"]).toBe("0 0 0");
    press(root, "ArrowLeft");
    expect(root.dataset["state"]).toBe("1");
    press(root, "Home");
    expect(root.dataset["calls"]).toBe("0");
    calls(root)[0]?.click();
    press(root, "ArrowLeft");
    press(root, "ArrowRight");
    expect(root.dataset["calls"]).toBe("0 0");
    expect(model.get("calls")).toEqual([0]);
  });

  it("says the error of a call that is forbidden, and stays", () => {
    const [, root] = show([0, 0]);
    calls(root)[2]?.click();
    expect(root.querySelector(".mg-text")?.textContent).toBe("in state 2, t.fail() raises RuntimeError: no");
    expect(root.dataset["calls"]).toBe("0 0");
  });

  it("goes to a state by its shortest lines, from the table and from the graph", () => {
    const [, root] = show([0, 0, 0, 0, 0]);
    root.querySelector<SVGElement>("[data-state='1']")?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(root.dataset["calls"]).toBe("0 0");
    root.querySelector<HTMLButtonElement>(".mg-all-states tbody button")?.click();
    expect(root.dataset["calls"]).toBe("0");
    expect(root.querySelector("tr[aria-current]")?.textContent).toContain("1");
  });

  it("moves the focus along the calls with the arrow keys", () => {
    const [, root] = show();
    press(root, "ArrowDown");
    expect(document.activeElement).toBe(calls(root)[0]);
    press(calls(root)[0] as Element, "ArrowDown");
    expect(document.activeElement).toBe(calls(root)[1]);
    press(calls(root)[1] as Element, "ArrowUp");
    press(calls(root)[0] as Element, "ArrowUp");
    expect(document.activeElement).toBe(calls(root)[2]);
  });

  it("shows the walk that Python sets", () => {
    const [model, root] = show();
    model.set("calls", [0, 0]);
    expect(root.dataset["state"]).toBe("1");
  });
});
