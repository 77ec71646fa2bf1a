import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { render } from "../src/index";
import { FakeModel, square } from "./fake";

let place: HTMLElement;

beforeEach(() => {
  vi.useFakeTimers();
  place = document.createElement("div");
  document.body.replaceChildren(place);
});
afterEach(() => vi.useRealTimers());

function show(state: Record<string, unknown> = {}, trace = square()): [FakeModel, HTMLElement, () => void] {
  const model = new FakeModel({ trace: JSON.stringify(trace), step: 2, ...state });
  const dispose = render({ model, el: place });
  return [model, place.querySelector(".mg-root") as HTMLElement, dispose];
}

function press(root: Element, ...keys: string[]): boolean {
  let inside = true;
  const leaked = (): void => void (inside = false);
  document.addEventListener("keydown", leaked);
  for (const key of keys) root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  document.removeEventListener("keydown", leaked);
  return inside;
}

const text = (root: Element): string => root.querySelector("output")?.textContent ?? "";

describe("stepping by keyboard", () => {
  it("goes forward, back, to both ends", () => {
    const [, root] = show();
    press(root, "ArrowRight", "ArrowRight");
    expect(root.dataset).toMatchObject({ step: "4", lit: "0", ready: "", gradient: "2" });
    expect(text(root)).toBe("step 3 of 10: MulBackward0 #0 runs with tensor(1.)");
    press(root, "ArrowLeft");
    expect(root.dataset).toMatchObject({ step: "3", ready: "0", gradient: "" });
    press(root, "End");
    expect(root.dataset["step"]).toBe("11");
    press(root, "ArrowRight", "Home", "ArrowLeft");
    expect(root.dataset["step"]).toBe("2");
  });

  it("keeps its keys to itself, but not those that lead out", () => {
    const [, root] = show();
    expect(press(root, "b", "j", "d", "d", "ArrowRight", "Enter", "x")).toBe(true);
    expect(press(root, "Tab")).toBe(false);
    expect(press(root, "Escape")).toBe(false);
    expect(press(root.querySelector("svg.mg-svg")!, "ArrowRight")).toBe(true);
  });

  it("plays and pauses with space", () => {
    const [, root] = show();
    press(root, " ");
    vi.advanceTimersByTime(2050);
    expect(root.dataset["step"]).toBe("4");
    press(root, " ");
    vi.advanceTimersByTime(5000);
    expect(root.dataset["step"]).toBe("4");
    press(root, " ");
    vi.advanceTimersByTime(60_000);
    expect(root.dataset["step"]).toBe("11");
  });

  it("leaves space and enter to a focused button", () => {
    const [, root] = show();
    press(root.querySelector(".mg-forward")!, " ");
    vi.advanceTimersByTime(3000);
    expect(root.dataset["step"]).toBe("2");
  });
});

describe("the link to Python", () => {
  it("sends a step once, when the student rests", () => {
    const [model, root] = show();
    for (let i = 0; i < 9; i++) {
      press(root, "ArrowRight");
      vi.advanceTimersByTime(30);
    }
    expect(model.saves).toBe(0);
    vi.advanceTimersByTime(200);
    expect([model.saves, model.state["step"]]).toEqual([1, 11]);
  });

  it("follows Python", () => {
    const [model, root] = show();
    model.set("step", 7);
    expect(root.dataset["step"]).toBe("7");
    model.set("lens", "traversal");
    expect(root.dataset["lens"]).toBe("traversal");
    vi.advanceTimersByTime(1000);
    expect(model.saves).toBe(0);
  });

  it("steps on when the kernel is gone", () => {
    const [model, root] = show();
    vi.spyOn(console, "info").mockImplementation(() => undefined);
    model.save_changes = () => {
      throw new Error("the comm is closed");
    };
    press(root, "ArrowRight");
    vi.advanceTimersByTime(300);
    press(root, "ArrowRight");
    expect(root.dataset["step"]).toBe("4");
  });

  it("ends cleanly", () => {
    const [model, root, dispose] = show();
    press(root, "ArrowRight", " ");
    dispose();
    expect(model.saves).toBe(1);
    model.set("step", 9);
    vi.advanceTimersByTime(10_000);
    expect(root.dataset["step"]).toBe("3");
  });
});

describe("what is shown", () => {
  it("draws states, gradients and the integer of each edge", () => {
    const [, root] = show({ step: 7 });
    const status = (id: number): unknown => root.querySelector(`[data-node="${id}"]`)?.getAttribute("data-status");
    expect([status(0), status(1)]).toEqual(["running", "waiting"]);
    expect([...root.querySelectorAll(".mg-nr")].map((each) => each.firstChild?.textContent)).toEqual(["0", "0"]);
    expect([...root.querySelectorAll(".mg-gradient")].map((each) => each.textContent)).toEqual(["3.", "3."]);
    expect(root.querySelector('[data-edge="0:1"]')?.getAttribute("data-flow")).toBe("now");
    expect(root.querySelector(".mg-badge")?.parentElement?.getAttribute("aria-label")).toBe("MulBackward0 #0, runs");
  });

  it("lights the current line and shows the derivative", () => {
    const [, root] = show();
    expect(root.querySelector(".mg-current")?.textContent).toBe("3y.backward()");
    (root.querySelector('[data-node="0"] .mg-box') as Element).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    expect(root.querySelector(".mg-formula")?.textContent).toBe("return g * b, g * a");
    expect(root.querySelector(".mg-current")?.textContent).toBe("2y = x * x");
  });

  it("says that a chosen node is pinned, and unpins it", () => {
    const [model, root] = show();
    expect(root.querySelector(".mg-pin")).toBeNull();
    (root.querySelector('[data-node="0"] .mg-box') as Element).dispatchEvent(new MouseEvent("click", { bubbles: true }));
    press(root, "ArrowRight", "ArrowRight");
    expect(root.querySelector(".mg-pin")?.textContent).toBe("pinned: it stays while you stepunpin");
    expect(root.querySelector(".mg-details .mg-name")?.textContent).toContain("MulBackward0");
    (root.querySelector(".mg-unpin") as HTMLButtonElement).click();
    expect(root.querySelector(".mg-pin")).toBeNull();
    expect(model.get("selected")).toBeNull();
  });

  it("shows the tangent of a result beside its gradient", () => {
    const trace = square();
    trace.tensors.push({ ...trace.tensors[0]!, name: null, value: 3 });
    trace.tensors[1]!.tangent = 2;
    const [, root] = show({ step: 4, selected: 0 }, trace);
    const told = [...root.querySelectorAll(".mg-details dt")].map((name) => [name.textContent, name.nextElementSibling?.textContent]);
    expect(told).toContainEqual(["tangent", "tensor(6.)"]);
    expect(told).toContainEqual(["gradient", "tensor(1.)"]);
  });

  it.each(["constructor", "toString", "__proto__", "hasOwnProperty"])("shows a node of the name %s", (name) => {
    const trace = square("x");
    (trace.nodes[0] as { name: string }).name = name;
    const [, root] = show({ step: 7, selected: 0 }, trace);
    expect(root.querySelector(".mg-details")?.textContent).toContain(name);
    expect(root.querySelector(".mg-formula")).toBeNull();
  });

  it("puts nothing of a trace into the page as markup", () => {
    const name = "<img src=x onerror=alert(1)>";
    const [, root] = show({ step: 10, selected: 1 }, square(name));
    expect(root.querySelector("img")).toBeNull();
    expect(root.textContent).toContain(name);
  });

  it("says so when it cannot read a trace", () => {
    const model = new FakeModel({ trace: JSON.stringify({ format: "minigrad-trace", version: 2 }) });
    render({ model, el: place });
    expect(place.querySelector("[role=alert]")?.textContent).toContain("version 1");
  });

  it.each(["trace", "traces"])("says so when a damaged trace has a number where a list belongs, in %s", (trait) => {
    const trace = square();
    (trace.nodes[0] as { saved: unknown }).saved = 1.5;
    const text = JSON.stringify(trace);
    render({ model: new FakeModel(trait === "trace" ? { trace: text } : { traces: { one: JSON.stringify(square()), two: text } }), el: place });
    expect(place.querySelector("[role=alert]")?.textContent)
      .toBe("The inspector cannot show this: Error: this is not a whole trace: entry 0 of its nodes has no [(name:str,tensor?,value?)] as its saved");
  });
});

describe("the slider", () => {
  it("shares an axis with the bytes held, and stays out of what comes before the first step", () => {
    const [, root] = show({ lens: "backward" });
    const slider = root.querySelector(".mg-slider") as HTMLInputElement;
    const first = root.dataset["step"];
    expect([slider.value, slider.max]).toEqual([first, "11"]);
    expect(root.querySelector(".mg-counter")?.textContent).toBe("1 / 10");
    expect(slider.style.getPropertyValue("--mg-from")).toBe(slider.style.getPropertyValue("--mg-way")); // its line begins there
    press(root, "ArrowRight");
    expect(slider.value).toBe(root.dataset["step"]);
    for (const [moved, lands] of [["9", "9"], ["0", first]] as const) {
      slider.value = moved;
      slider.dispatchEvent(new Event("input"));
      expect([root.dataset["step"], slider.value]).toEqual([lands, lands]);
    }
  });
});

describe("the levels of a map", () => {
  it("has the map itself as one, where it is none of the others", () => {
    const trace = { ...square(), scopes: [{ name: "a", module: "A", parent: null }, { name: "b", module: "B", parent: 0 }, { name: "c", module: "C", parent: null }] };
    trace.nodes = trace.nodes.map((node, id) => ({ ...node, scope: id === 0 ? 1 : 2 }));
    const pressed = (root: Element): string[] => [...root.querySelectorAll(".mg-levels [aria-pressed=true]")].map((button) => button.textContent ?? "");
    const [, root] = show({}, { ...trace, folded: [1, 2] } as never);
    expect(pressed(root)).toEqual(["map"]);
    press(root, "1");
    expect(pressed(root)).toEqual(["model"]);
    (root.querySelector(".mg-levels button") as HTMLElement).click();
    expect(pressed(root)).toEqual(["map"]);
  });
});
