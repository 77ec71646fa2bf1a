import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../src/index";
import { differences } from "../src/trace/differences";
import { FakeModel, square } from "./fake";
import type { Trace } from "../src/trace/types";

const fixture = (name: string): Trace => (JSON.parse(readFileSync(`test/fixtures/${name}.json`, "utf8")) as { trace: Trace }).trace;

it("finds nothing between a recording and itself", () => {
  for (const name of ["diamond", "checkpointed", "views"]) expect(new Set(differences(fixture(name), fixture(name)).map(({ kind }) => kind))).toEqual(new Set(["same"]));
});

it("tells other values from events that only one of them has", () => {
  const other = square();
  other.events = [...other.events.slice(0, 2), { kind: "grad", tensor: 0, grad: null, file: 0, line: 3 }, ...other.events.slice(2)];
  other.values[3] = { shape: [], dtype: "float32", data: [7] };
  const rows = differences(square(), other).filter(({ kind }) => kind !== "same");
  expect(rows).toEqual([
    { steps: [null, 2], texts: ["", "x.grad is now None"], kind: "second" },
    { steps: [9, 10], texts: ["AccumulateGrad(x) runs with tensor(6.)", "AccumulateGrad(x) runs with tensor(7.)"], kind: "other" },
    { steps: [10, 11], texts: ["x.grad becomes tensor(6.)", "x.grad becomes tensor(7.)"], kind: "other" },
  ]);
  const words = (a: Trace, b: Trace): string[] => differences(a, b).map(({ kind }) => kind);
  expect(words(other, square())).toEqual(words(square(), other).map((kind) => (kind === "second" ? "first" : kind)));
});

it("keeps all events of both, in their orders", () => {
  const [a, b] = [fixture("diamond"), fixture("twice")];
  const rows = differences(a, b);
  for (const at of [0, 1] as const) {
    const steps = rows.flatMap(({ steps }) => steps[at] ?? []);
    expect(steps).toEqual([...steps].sort((x, y) => x - y));
    expect(new Set(steps).size).toBe(steps.length);
  }
  expect(rows.some(({ kind }) => kind === "first") && rows.some(({ kind }) => kind === "second")).toBe(true);
});

it("shows them under the charts; a row leads to its step", () => {
  const other = square();
  other.values[3] = { shape: [], dtype: "float32", data: [7] };
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ traces: { with: JSON.stringify(square()), without: JSON.stringify(other) } }), el: place });
  const table = place.querySelector(".mg-differences") as HTMLElement;
  expect(table.querySelector("caption")?.textContent).toBe("with against without: 2 of 6 events differ");
  expect([...table.querySelectorAll("tbody tr")].map((row) => row.getAttribute("data-kind") ?? row.textContent)).toEqual(["3 events alike", "other", "other", "1 event alike"]);
  table.querySelector<HTMLElement>("tr[data-kind] button")?.click();
  expect(place.querySelector(".mg-root")?.getAttribute("data-step")).toBe("9");
});
