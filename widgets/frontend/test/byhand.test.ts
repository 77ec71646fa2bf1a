import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { render } from "../src/index";
import type { Trace } from "../src/trace/types";
import { FakeModel, square } from "./fake";

/** z = x * x + x: the accumulator waits for three gradients, along two ways. */
function diamond(): Trace {
  const trace = square();
  const [mul, leaf] = trace.nodes;
  const start = trace.events[2]!;
  if (!mul || !leaf || start.kind !== "backward_start") throw new Error("the fixture has changed");
  trace.nodes.push({ ...mul, name: "AddBackward0", sequence_nr: 1, next: [[0, 0], [1, 0]], saved: [], outputs: [2] });
  trace.tensors.push({ ...trace.tensors[1]!, name: "z", node: 2 });
  trace.layout = { nodes: { 2: [200, 47], 0: [120, 150], 1: [200, 250] }, size: [400, 300] };
  const flow = { kind: "flow", output_nr: 0 } as const;
  trace.events.splice(
    2, 6,
    { ...start, roots: [[2, 0, 2]], needs: [[2, 1], [0, 1], [1, 3]] },
    { kind: "run", node: 2, gradient: [2] },
    { ...flow, node: 2, index: 0, to: 0, gradient: 2, sum: 2 },
    { ...flow, node: 2, index: 1, to: 1, gradient: 2, sum: 2 },
    { kind: "run", node: 0, gradient: [2] },
    { ...flow, node: 0, index: 0, to: 1, gradient: 0, sum: 1 },
    { ...flow, node: 0, index: 1, to: 1, gradient: 0, sum: 3 },
  );
  return trace;
}

let root: HTMLElement;
let model: FakeModel;

beforeEach(() => {
  vi.useFakeTimers();
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  model = new FakeModel({ trace: JSON.stringify(diamond()), lens: "traversal" });
  render({ model, el: place });
  root = place.querySelector(".mg-root") as HTMLElement;
});

const click = (node: number): void =>
  void root.querySelector(`[data-node="${node}"] .mg-box`)?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
const press = (key: string): void => void root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const said = (): string => root.querySelector("output")?.textContent ?? "";
const status = (node: number): string | null | undefined => root.querySelector(`[data-node="${node}"]`)?.getAttribute("data-status");
const code = (): string[] => [...root.querySelectorAll(".mg-line code")].map((line) => line.textContent ?? "");

describe("calling nodes by hand", () => {
  it("begins with the root's gradient", () => {
    expect(said()).toBe("no call yet: click the node that you would call first");
    expect(root.dataset["ready"]).toBe("2");
    expect([status(2), status(0), status(1)]).toEqual(["ready", "recorded", "recorded"]);
  });

  it("passes gradients on, piles them up and writes the same in Python", () => {
    click(2);
    expect(said()).toBe("call 1: AddBackward0 #2 received tensor(1.) and passed it on along 2 edges");
    expect([status(2), status(0), status(1)]).toEqual(["running", "ready", "waiting"]);
    expect(root.querySelector('[data-node="1"] .mg-word')?.textContent).toBe("1 of 3");
    click(0);
    click(1);
    expect(said()).toBe("call 3: x.grad is now tensor(6.). Every gradient has arrived, as the engine does it");
    expect(code()).toEqual([
      "import minigrad as torch",
      "n2 = z.grad_fn  # AddBackward0",
      "r1 = n2(torch.ones_like(z))",
      "n0 = n2.next_functions[0][0]  # MulBackward0",
      "r2 = n0(r1[0])",
      "n1 = n2.next_functions[1][0]  # AccumulateGrad",
      "n1(r1[1] + r2[0] + r2[1])",
    ]);
  });

  it("says when a call comes too early, and that nothing is lost once the rest has come", () => {
    click(2);
    click(1);
    expect(said()).toContain("AccumulateGrad(x) was called too early: 1 of 3 gradients had arrived");
    expect(status(1)).toBe("early");
    click(0);
    click(1);
    expect(said()).toBe(
      "call 4: x.grad is now tensor(6.). Every gradient has arrived, some of them in parts: the sums are right, but the engine calls each node once",
    );
    expect(status(1)).toBe("running");
  });

  it("refuses a call where no gradient is, and says why", () => {
    click(1);
    expect(said()).toBe("AccumulateGrad(x) cannot be called now: no gradient has arrived there");
    click(2);
    click(2);
    expect(said()).toBe("AddBackward0 #2 cannot be called now: it has passed on what it had");
    expect(root.dataset["position"]).toBe("1");
  });

  it("undoes by a step back, and makes the call again by a step forward", () => {
    click(2);
    click(0);
    press("ArrowLeft");
    expect([root.dataset["lit"], status(0)]).toEqual(["2", "ready"]);
    press("ArrowRight");
    expect([root.dataset["lit"], status(0)]).toEqual(["0", "running"]);
    press("Home");
    expect(status(2)).toBe("ready");
    click(2);
    press("End");
    expect(root.dataset["position"]).toBe("1");
  });

  it("tells Python the calls, and takes calls from it", () => {
    click(2);
    click(0);
    vi.advanceTimersByTime(250);
    expect([model.saves, model.state["calls"]]).toEqual([1, [2, 0]]);
    model.set("calls", [0, 2]);
    expect([root.dataset["lit"], root.dataset["position"]]).toEqual(["2", "1"]);
  });

  it("calls the selected node with Enter, and walks with up and down", () => {
    press("Enter");
    expect(said()).toContain("no call yet");
    press("ArrowDown");
    click(2);
    press("ArrowDown");
    press("Enter");
    expect(root.dataset["lit"]).toBe("0");
  });
});

it("tells the gradients of several outputs apart", () => {
  const fixture = JSON.parse(readFileSync(`${import.meta.dirname}/fixtures/outputs.json`, "utf8")) as { trace: Trace };
  const at = (name: string): number => fixture.trace.nodes.findIndex((node) => node.name === name);
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  model = new FakeModel({ trace: JSON.stringify(fixture.trace), lens: "traversal" });
  render({ model, el: place });
  root = place.querySelector(".mg-root") as HTMLElement;
  click(at("MulBackward0"));
  expect(root.querySelector(`[data-node="${at("UnbindBackward0")}"] .mg-badge text`)?.textContent).toBe("Σ [3., -2.] | [1., -1.]");
  click(at("UnbindBackward0"));
  expect(said()).toContain("received tensor([3., -2.]) and tensor([1., -1.]) and passed it on along 1 edge");
});
