import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../src/index";
import { Costs, costText } from "../src/trace/cost";
import { FakeModel } from "./fake";
import type { Trace } from "../src/trace/types";

const fixture = (name: string): Trace => (JSON.parse(readFileSync(`test/fixtures/${name}.json`, "utf8")) as { trace: Trace }).trace;
const named = (trace: Trace, name: string): number[] => trace.nodes.flatMap((node, id) => (node.name === name ? [id] : []));

function timed(): Trace {
  const trace = fixture("network");
  trace.nodes.forEach((node, id) => (node.seconds = [node.variable === undefined ? 1e-4 * (id + 1) : null, 2e-6]));
  return trace;
}

it("counts two FLOPs for each product and sum, none for views, and one for each result of other ops", () => {
  const trace = fixture("network");
  const costs = new Costs(trace);
  const linear = trace.nodes.flatMap((node, id) => (/^(Addmm|Linear)/.test(node.name) ? [id] : []));
  expect(linear.map((id) => costs.of("flops", [id])).sort((a, b) => a - b)).toEqual([2 * 16 * 12 * 1, 2 * 16 * 8 * 12]);
  expect(costs.of("flops", named(trace, "ReluBackward0"))).toBe(16 * 12);
  expect(costs.of("flops", [...named(trace, "TBackward0"), ...named(trace, "AccumulateGrad")])).toBe(0);
});

it("counts a storage once that several nodes saved, and no parameter", () => {
  const trace = fixture("network");
  const costs = new Costs(trace);
  const all = trace.nodes.map((_, id) => id);
  const each = all.reduce((sum, id) => sum + costs.of("saved", [id]), 0);
  const most = Math.max(...trace.events.map((event) => event.bytes?.[2] ?? 0));
  expect(costs.of("saved", all)).toBeLessThanOrEqual(each);
  expect(costs.of("saved", all)).toBeGreaterThanOrEqual(most);
  const parameters = new Set(trace.tensors.flatMap((tensor) => (tensor.parameter ? [tensor.storage] : [])));
  const held = new Set(trace.events.flatMap((event) => (event.held ?? []).flatMap(([storage, what]) => (what === 2 && !parameters.has(storage) ? [storage] : []))));
  expect(costs.of("saved", all)).toBe([...held].reduce((sum, storage) => sum + (trace.storages?.[storage] ?? 0), 0));
});

it("has times only where they were recorded", () => {
  expect(new Costs(fixture("network")).known).toEqual(["saved", "flops"]);
  expect(new Costs(timed()).known).toEqual(["forward", "backward", "saved", "flops"]);
});

it("writes costs with their units", () => {
  expect([costText("forward", 0.00123456), costText("backward", 2e-6), costText("forward", 2), costText("forward", 0)]).toEqual(["1.23 ms", "2 µs", "2 s", "0 s"]);
  expect([costText("flops", 3072), costText("flops", 2.5e9), costText("flops", 0), costText("saved", 2048)]).toEqual(["3.07 kFLOP", "2.5 GFLOP", "0 FLOP", "2.0 kB"]);
});

it("shades the boxes while its list is open, and lists the dearest first", () => {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(timed()), step: 5 }), el: place });
  const list = place.querySelector(".mg-costlist") as HTMLDetailsElement;
  const open = (on: boolean): void => {
    list.open = on;
    list.dispatchEvent(new Event("toggle"));
  };
  open(true);
  expect(place.querySelector(".mg-graph")?.classList.contains("mg-costs")).toBe(true);
  const shares = [...place.querySelectorAll<SVGElement>("[data-node]")].map((node) => Number(node.style.getPropertyValue("--mg-share")));
  expect(Math.max(...shares)).toBe(1);
  const costs = (): string[] => [...list.querySelectorAll("tbody tr")].map((row) => row.children[1]?.textContent ?? "");
  const amounts = costs().map((text) => Number.parseFloat(text) * (text.endsWith("ms") ? 1000 : 1));
  expect(amounts).toEqual([...amounts].sort((a, b) => b - a));
  list.querySelector<HTMLElement>('[data-cost="flops"]')?.click();
  expect(costs()[0]).toBe("3.07 kFLOP");
  expect(list.querySelector('[data-cost="flops"]')?.getAttribute("aria-pressed")).toBe("true");
  list.querySelector<HTMLElement>("tbody button")?.click();
  expect(place.querySelector(".mg-selected")?.getAttribute("data-node")).not.toBeUndefined();
  open(false);
  expect(place.querySelector(".mg-graph")?.classList.contains("mg-costs")).toBe(false);
});
