import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { render } from "../src/index";
import type { Trace } from "../src/trace/types";
import { FakeModel, square } from "./fake";

const path = new URL("fixtures/checkpointed.json", `file://${process.cwd()}/test/`);
const trace = (JSON.parse(readFileSync(path, "utf8")) as { trace: Trace }).trace;
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

function click(chart: HTMLElement, part: number): void {
  chart.getBoundingClientRect = () => ({ left: 10, width: 200 }) as DOMRect;
  chart.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: 10 + 200 * part }));
}

describe("the checkpoint lens", () => {
  it("stacks nested runs and marks where one stops early", () => {
    const [, root] = show({ trace: JSON.stringify(trace), lens: "checkpoint" });
    const lanes = [...root.querySelectorAll(".mg-lane")].map((lane) => lane.querySelectorAll(".mg-run").length);
    expect(lanes.length).toBeGreaterThanOrEqual(2);
    const stops = [...root.querySelectorAll<HTMLElement>(".mg-run[data-stop]")].map((run) => Number(run.dataset["stop"]));
    expect(stops).toEqual(trace.events.flatMap((event, step) => (event.kind === "early_stop" ? [step] : [])));
    expect(root.querySelector(".mg-chart")?.getAttribute("aria-label")).toContain("runs again, steps");
    expect(root.querySelector(".mg-memory")?.getAttribute("data-tall")).toBe("true");
  });

  it("is offered only where something was checkpointed", () => {
    const [, root] = show({ trace: JSON.stringify(trace) });
    expect(root.querySelector(".mg-tab[data-lens=checkpoint]")).not.toBeNull();
    place.replaceChildren();
    const [, plain] = show({ trace: JSON.stringify(square()) });
    expect(plain.querySelector(".mg-tab[data-lens=checkpoint]")).toBeNull();
  });

  it("says of a node that a second run recorded it", () => {
    const again = trace.events.findIndex((event) => event.kind === "recompute_begin");
    const at = trace.events.findIndex((event, step) => step > again && event.kind === "forward" && event.node !== null);
    const event = trace.events[at];
    const [, root] = show({ trace: JSON.stringify(trace), lens: "checkpoint", step: at });
    const node = event?.kind === "forward" ? event.node : null;
    expect(root.querySelector(`[data-node="${node}"]`)?.getAttribute("data-status")).toBe("again");
    expect(root.querySelector(`[data-node="${node}"]`)?.textContent).toContain("recomputed");
  });

  it("goes to the step that was clicked in the chart", () => {
    const [, root] = show({ trace: JSON.stringify(trace), lens: "checkpoint" });
    click(root.querySelector(".mg-plot") as HTMLElement, 0.5);
    expect(root.dataset["step"]).toBe(String(Math.floor(trace.events.length / 2)));
  });
});

describe("a comparison", () => {
  const figures = { steps: 12, peak: 8, peakStep: 0, atBackward: 8, ops: 1, again: 0 };
  const traces = { plain: JSON.stringify({ ...square(), figures }), checkpointed: JSON.stringify(trace) };

  it("puts all traces on one axis, and rests where one is over", () => {
    const [, root] = show({ traces });
    expect([...root.querySelectorAll(".mg-row h3")].map((name) => name.textContent)).toEqual(["plain", "checkpointed"]);
    const views = [...root.querySelectorAll(".mg-bytes")].map((each) => each.getAttribute("viewBox"));
    expect(views).toEqual(Array(2).fill(`0 0 ${trace.events.length} 100`));
    press(root, "End");
    expect(root.dataset["step"]).toBe(String(trace.events.length - 1));
    expect(root.querySelector(".mg-event")?.textContent).toBe("over: backward ends");
    expect(root.querySelector(".mg-row")?.getAttribute("data-bytes")).toBe("8");
  });

  it("has its figures in a table, and follows Python", () => {
    const [model, root] = show({ traces, step: 3 });
    expect(root.querySelector("tbody tr")?.textContent).toBe("plain8 B8 B1012");
    expect(root.querySelector("output")?.textContent).toMatch(/^step 3 of \d+: plain holds 8 B; checkpointed holds/);
    model.set("step", 5);
    expect(root.dataset["step"]).toBe("5");
    press(root, "ArrowLeft", "b");
    expect(root.dataset["step"]).toBe("4");
  });

  it("shows names as text only", () => {
    const [, root] = show({ traces: { "<img src=x>": JSON.stringify(square()) } });
    expect([root.querySelector("img"), root.querySelector("h3")?.textContent]).toEqual([null, "<img src=x>"]);
  });
});
