import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../src/index";
import { rootMeanSquare, sizeOf } from "../src/trace/format";
import { FakeModel } from "./fake";
import type { Scalar, Trace } from "../src/trace/types";

const value = (...data: Scalar[]) => ({ shape: [data.length], dtype: "float32", data });

it("sorts gradients by the root mean square of their entries", () => {
  const sizes = [0, 1e-9, 1e-4, 1, 50, 1e5].map((entry) => sizeOf(value(entry, -entry)));
  expect(sizes).toEqual(["zero", "tiny", "small", "usual", "large", "huge"]);
  expect([sizeOf(value(1, "nan")), sizeOf(value("-inf")), sizeOf(undefined), sizeOf(value())]).toEqual(["broken", "broken", "", ""]);
  expect(rootMeanSquare(value(3, 4))).toBeCloseTo(Math.sqrt(12.5));
  const large = { shape: [10, 10], dtype: "float32", stats: { min: 0, max: 1, mean: 0, norm: 20, nan: 0, inf: 0 } };
  expect(rootMeanSquare(large)).toBe(2);
});

it("colours the edges while its list is open, and fills the list as gradients come", () => {
  const { trace } = JSON.parse(readFileSync("test/fixtures/diamond.json", "utf8")) as { trace: Trace };
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: 20 }), el: place });
  const root = place.querySelector(".mg-root") as HTMLElement;
  const list = root.querySelector(".mg-heatlist") as HTMLDetailsElement;
  const cells = (): string[] => [...list.querySelectorAll("tr")].map((row) => row.textContent ?? "");
  expect(cells()).toEqual([]);
  list.open = true;
  list.dispatchEvent(new Event("toggle"));
  expect(root.querySelector(".mg-graph")?.classList.contains("mg-heat")).toBe(true);
  expect(cells()).toEqual(["xNone"]);
  expect(root.querySelectorAll('.mg-edge[data-heat="usual"]').length).toBeGreaterThan(2);
  root.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
  expect(cells()).toEqual(["x12.6"]);
  list.open = false;
  list.dispatchEvent(new Event("toggle"));
  expect(root.querySelector(".mg-graph")?.classList.contains("mg-heat")).toBe(false);
});

it("says where a gradient was not kept, as with detail=\"modules\"", () => {
  const { trace } = JSON.parse(readFileSync("test/fixtures/diamond.json", "utf8")) as { trace: Trace };
  const stats = { min: null, max: null, mean: null, norm: null, nan: 0, inf: 0 };
  for (const event of trace.events) if (event.kind === "accumulate") event.grad = trace.values.push({ shape: [9, 9], dtype: "float32", stats }) - 1;
  const place = document.createElement("div");
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: trace.events.length - 1 }), el: place });
  const list = place.querySelector(".mg-heatlist") as HTMLDetailsElement;
  list.open = true;
  list.dispatchEvent(new Event("toggle"));
  expect([...list.querySelectorAll("tr")].map((row) => row.textContent)).toEqual(["xnot kept"]);
  expect(place.querySelector(".mg-details")?.textContent).toContain("tensor of [9, 9]: values not kept");
});
