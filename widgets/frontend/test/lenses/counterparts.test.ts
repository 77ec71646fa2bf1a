/** The graphs of two recordings side by side. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../../src/index";
import { besideStep, counterparts, differences } from "../../src/trace/differences";
import type { Trace } from "../../src/trace/types";
import { FakeModel, square } from "../fake";

const fixture = (name: string): Trace => (JSON.parse(readFileSync(`test/fixtures/${name}.json`, "utf8")) as { trace: Trace }).trace;
const between = (a: Trace, b: Trace) => counterparts(a, b, differences(a, b));

it("finds each node of a recording in itself, and nothing that differs", () => {
  for (const name of ["diamond", "checkpointed", "views", "twice"]) {
    const { nodes, marks } = between(fixture(name), fixture(name));
    expect(new Map([...nodes[0]].map(([a, b]) => [b, a]))).toEqual(nodes[1]);
    expect([...nodes[0]].every(([a, b]) => a === b)).toBe(true);
    for (const { nodes: others, edges } of marks) expect([others.size, edges.size]).toEqual([0, 0]);
  }
});

it("marks the nodes and edges of one recording alone, and those with other numbers", () => {
  const other = square();
  other.values[3] = { shape: [], dtype: "float32", data: [7] };
  expect(between(square(), other).marks.map(({ nodes }) => [...nodes])).toEqual([[[1, "other"]], [[1, "other"]]]);
  const cut = square();
  cut.nodes[0] = { ...(cut.nodes[0] as Trace["nodes"][number]), next: [[1, 0], null] };
  const { marks } = between(square(), cut);
  expect([...marks[0].edges]).toEqual([["0:1", "only"]]);
  expect([...marks[1].edges]).toEqual([]);
});

it("marks what belongs to a checkpoint in one of the two only", () => {
  const inside = square();
  const call = { call: 0, file: 0, line: 2 };
  inside.events = [{ kind: "checkpoint_begin", name: "f", reentrant: false, ...call }, ...inside.events.slice(0, 2), { kind: "checkpoint_end", ...call }, ...inside.events.slice(2)];
  expect(between(square(), inside).marks.map(({ nodes }) => [...nodes])).toEqual([[[0, "other"]], [[0, "other"]]]);
});

it("puts the second at the event of the first, and at its end with it", () => {
  const longer = square();
  longer.events = [...longer.events.slice(0, 2), { kind: "grad", tensor: 0, grad: null, file: 0, line: 3 }, ...longer.events.slice(2)];
  const pairs = differences(square(), longer);
  const last = [square().events.length - 1, longer.events.length - 1] as const;
  expect(besideStep(pairs, 0, last)).toBe(0);
  const run = square().events.findIndex((event) => event.kind === "run");
  expect(longer.events[besideStep(pairs, run, last)]?.kind).toBe("run");
  expect(besideStep(pairs, last[0], last)).toBe(last[1]);
});

it("draws both, with a sign at what differs; a choice holds for both", () => {
  const other = square();
  other.values[3] = { shape: [], dtype: "float32", data: [7] };
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ traces: { with: JSON.stringify(square()), without: JSON.stringify(other) } }), el: place });
  const sides = [...place.querySelectorAll(".mg-side")];
  expect(sides.map((side) => [...side.querySelectorAll("[data-differs] .mg-sign")].map((sign) => sign.textContent))).toEqual([["≠"], ["≠"]]);
  sides[0]?.querySelector('[data-node="1"]')?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(sides.map((side) => side.querySelector(".mg-selected")?.getAttribute("data-node"))).toEqual(["1", "1"]);
});

it("draws the graphs of more than two, or of large ones, when they are asked for", () => {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  const trace = JSON.stringify(square());
  render({ model: new FakeModel({ traces: { a: trace, b: trace, c: trace } }), el: place });
  const graphs = [...place.querySelectorAll<HTMLDetailsElement>(".mg-graphs")];
  expect(graphs.map((each) => [each.open, each.querySelectorAll(".mg-graph").length])).toEqual([[false, 0], [false, 0]]);
  (graphs[0] as HTMLDetailsElement).open = true;
  graphs[0]?.dispatchEvent(new Event("toggle"));
  expect(graphs[0]?.querySelectorAll(".mg-graph")).toHaveLength(2);
});
