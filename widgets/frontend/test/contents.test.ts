import { expect, it } from "vitest";
import { render } from "../src/index";
import { Live } from "../src/live/live";
import { Contents } from "../src/trace/received";
import { Replay } from "../src/trace/frame";
import { FakeModel, square } from "./fake";
import type { Trace } from "../src/trace/types";

/** y = x * x, then x is written to through x.detach(), then z = x * x, then z.backward(). */
function written(): Trace {
  const trace = square();
  const [product, save, ...pass] = trace.events as [Trace["events"][number], Trace["events"][number], ...Trace["events"]];
  const value = trace.values.push({ shape: [], dtype: "float32", data: [5] }) - 1;
  const first = trace.nodes[0] as Trace["nodes"][number];
  trace.tensors.push({ ...(trace.tensors[0] as Trace["tensors"][number]), name: "d" }, { ...(trace.tensors[1] as Trace["tensors"][number]), name: "z", node: 2 });
  trace.nodes.push({ ...first, inputs: [0, 0], outputs: [3], sequence_nr: 1, saved: [], derivatives: [0, null] });
  trace.expressions = [["mul", "grad", "inputs[1]"]];
  const again = { ...product, node: 2, outputs: [3] } as Trace["events"][number];
  const moved = pass.map((event) => ({ ...event, ...("node" in event && event.node === 0 ? { node: 2 } : {}) }));
  (moved[0] as { roots: unknown; needs: unknown }).roots = [[2, 0, 2]];
  (moved[0] as { roots: unknown; needs: unknown }).needs = [[2, 0], [1, 2]];
  trace.events = [product, save, { kind: "version", tensor: 2, version: 1, value, others: [[0, value]] }, again, ...(moved as Trace["events"])];
  trace.layout = null;
  return trace;
}

it("knows what an operand held when its op ran", () => {
  const contents = new Contents(written());
  expect([contents.given(0, 0), contents.given(2, 0)]).toEqual([0, 4]);
});

it("walks over what was written through another tensor, both ways", () => {
  const replay = new Replay(written());
  const seen = [1, 2, 3, 1].map((step) => {
    replay.goTo(step);
    return replay.contents.get(0) ?? null;
  });
  expect(seen).toEqual([null, 4, 4, null]);
});

it("computes with what an operand held then", () => {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(written()), step: 6, selected: 2 }), el: place });
  const lines = [...place.querySelectorAll(".mg-arithmetic .mg-equals")].map((line) => line.textContent);
  expect(lines).toContain("1. · 5.");
});

/** y = x * x, then x and its .grad are summed over the ranks, then z = x * x. */
function summed(): Trace {
  const trace = written();
  const version = trace.events.findIndex((event) => event.kind === "version");
  const pair: [number, number] = [0, 4];
  trace.expressions = [["mul", "inputs[0]", "inputs[1]"]];
  trace.values.push({ shape: [], dtype: "float32", data: [25] });
  (trace.tensors[3] as Trace["tensors"][number]).value = 5;
  for (const event of trace.events) if (event.kind === "forward") event.expressions = [0];
  trace.events[version] = { kind: "collective_end", call: 0, written: [pair], grads: [pair] };
  trace.events.length = version + 2;
  return trace;
}

it("shows what other ranks have written, in the tensor and in its .grad", () => {
  const replay = new Replay(summed());
  const seen = [1, 2, 1].map((step) => {
    replay.goTo(step);
    return [replay.contents.get(0) ?? null, replay.grads.get(0) ?? null];
  });
  expect(seen).toEqual([[null, null], [4, 4], [null, null]]);
});

it("computes nothing from what other ranks have written", () => {
  const live = new Live(summed());
  expect(live.trace.values[live.trace.tensors[3]?.value ?? -1]?.data).toEqual([25]);
  live.run(new Map([[0, [2]]]));
  const numbers = (tensor: number) => live.trace.values[live.trace.tensors[tensor]?.value ?? -1];
  expect([numbers(1)?.data, numbers(1)?.stale]).toEqual([[4], undefined]);
  expect([numbers(3)?.data, numbers(3)?.stale]).toEqual([[25], true]);
  const [tensor, value] = (live.trace.events[2] as { written: [number, number][] }).written[0] ?? [];
  expect([tensor, live.trace.values[value ?? -1]?.stale]).toEqual([0, true]);
  expect(live.kept).toEqual([{ what: "x", why: "other ranks have written to it" }, { what: "x.grad", why: "other ranks have written to it" }]);
});
