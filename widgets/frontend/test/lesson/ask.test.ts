import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { judge, truth, type Question } from "../../src/trace/questions";
import { render } from "../../src/index";
import { FakeModel, square } from "../fake";

const questions: Question[] = [
  { kind: "next", step: 4, text: "Which node runs next?", choices: [0, 1] },
  { kind: "shape", step: 6, text: "What shape has the gradient that MulBackward0 #0 sends to AccumulateGrad(x)?", choices: [] },
  { kind: "grad", step: 10, text: "What will x.grad be once this gradient is added?", choices: [] },
];
const [next, form, grad] = questions as [Question, Question, Question];

describe("the judge", () => {
  const trace = square();

  it("takes what the engine ran for the next node", () => {
    expect([judge(trace, next, "0"), judge(trace, next, "1"), judge(trace, next, "")]).toEqual([true, false, false]);
    expect(truth(trace, next)).toBe("MulBackward0 #0 runs: of the ready nodes it was recorded last");
  });

  it("reads shapes as students write them", () => {
    for (const given of ["scalar", "[]", "()", "torch.Size([])"]) expect(judge(trace, form, given), given).toBe(true);
    for (const given of ["[1]", "no idea", "", "0"]) expect(judge(trace, form, given), given).toBe(false);
    trace.values[0] = { shape: [2, 3], dtype: "float32", stats: { min: 0, max: 0, mean: 0, norm: 0, nan: 0, inf: 0 } };
    for (const given of ["[2, 3]", "2x3", "(2,3)", "torch.Size([2, 3])"]) expect(judge(trace, form, given), given).toBe(true);
    for (const given of ["[3, 2]", "6", "scalar"]) expect(judge(trace, form, given), given).toBe(false);
  });

  it("reads numbers up to rounding", () => {
    for (const given of ["6", "6.", "tensor(6.0)", "6.01"]) expect(judge(trace, grad, given), given).toBe(true);
    for (const given of ["-6", "5.9", "6, 6", "six"]) expect(judge(trace, grad, given), given).toBe(false);
    trace.values[3] = { shape: [3], dtype: "float32", data: [-0.3333, "nan", "-inf"] };
    expect(judge(trace, grad, "[-.333, nan, -inf]")).toBe(true);
    expect(judge(trace, grad, "[-.333, nan, inf]")).toBe(false);
  });
});

describe("ask mode", () => {
  let root: HTMLElement;
  let model: FakeModel;
  beforeEach(() => {
    vi.useFakeTimers();
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    model = new FakeModel({ trace: JSON.stringify(square()), step: 2, ask: questions, answers: [], score: {} });
    render({ model, el: place });
    root = place.querySelector(".mg-root") as HTMLElement;
  });
  afterEach(() => vi.useRealTimers());

  const press = (...keys: string[]): void => {
    for (const key of keys) root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  };
  const submit = (): boolean => root.querySelector("form")!.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  const write = (text: string): void => {
    (root.querySelector(".mg-field") as HTMLInputElement).value = text;
    submit();
  };
  const verdict = (): string => root.querySelector(".mg-verdict")?.textContent ?? "";

  it("lets nobody past an open question, by keys, by the slider or while it plays", () => {
    press("End");
    expect(root.dataset["step"]).toBe("3");
    press("ArrowRight");
    expect([root.dataset["step"], document.activeElement?.getAttribute("type")]).toEqual(["3", "radio"]);
    const slider = root.querySelector("input[type=range]") as HTMLInputElement;
    slider.value = "9";
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    expect([root.dataset["step"], slider.value]).toEqual(["3", "3"]); // the knob is back where the counter says
    press(" ");
    vi.advanceTimersByTime(9000);
    expect(root.dataset["step"]).toBe("3");
    press("ArrowLeft");
    expect(root.dataset["step"]).toBe("2");
  });

  it("does not show the queue while it asks who is next", () => {
    const queue = root.querySelector(".mg-queue") as HTMLElement;
    expect(queue.hidden).toBe(false);
    press("End");
    expect(queue.hidden).toBe(true);
  });

  it("judges, says what is so, counts, and tells Python", () => {
    press("End");
    expect(root.querySelector("legend")?.textContent).toBe("Which node runs next?");
    submit();
    expect(verdict()).toBe("");
    (root.querySelector("input[value='1']") as HTMLInputElement).checked = true;
    submit();
    expect(verdict()).toBe("✗ Not so: MulBackward0 #0 runs: of the ready nodes it was recorded last.");
    expect(document.activeElement).toBe(root);
    press("End");
    expect(root.dataset["step"]).toBe("5");
    write("scalar");
    press("End");
    expect(root.dataset["step"]).toBe("9");
    write("6");
    expect(verdict()).toBe("✓ Right: x.grad is tensor(6.).");
    expect(root.querySelector(".mg-points")?.textContent).toBe("2 of 3 right, 0 to come");
    vi.advanceTimersByTime(300);
    expect(model.state["score"]).toEqual({ right: 2, answered: 3, of: 3 });
    expect(model.state["answers"]).toMatchObject([{ step: 4, given: "1", right: false }, { right: true }, { given: "6" }]);
    press("End");
    expect(root.dataset["step"]).toBe("11");
  });

  it("begins anew when Python empties the answers", () => {
    press("End");
    (root.querySelector("input[value='0']") as HTMLInputElement).checked = true;
    submit();
    vi.advanceTimersByTime(300);
    model.set("answers", []);
    model.set("step", 2);
    expect(root.dataset["score"]).toBe("0/0");
    press("End");
    expect(root.dataset["step"]).toBe("3");
  });

  it("leaves the keys of its fields alone, and keeps them inside", () => {
    press("End");
    const field = root.querySelector("input[type=radio]") as HTMLElement;
    let leaked = false;
    document.addEventListener("keydown", () => (leaked = true), { once: true });
    const event = new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true, cancelable: true });
    field.dispatchEvent(event);
    expect([root.dataset["step"], event.defaultPrevented, leaked]).toEqual(["3", false, false]);
  });
});

it("shows no question where none is asked", () => {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(square()), step: 2 }), el: place });
  expect((place.querySelector(".mg-ask") as HTMLElement).hidden).toBe(true);
});
