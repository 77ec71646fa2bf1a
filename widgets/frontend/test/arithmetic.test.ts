import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../src/index";
import { FakeModel, square } from "./fake";
import type { Trace } from "../src/trace/types";

function show(name: string, step: number, state: Record<string, unknown> = {}, change: (trace: Trace) => void = () => undefined): HTMLElement {
  const { trace } = JSON.parse(readFileSync(`test/fixtures/${name}.json`, "utf8")) as { trace: Trace };
  change(trace);
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step, ...state }), el: place });
  return place.querySelector(".mg-root") as HTMLElement;
}

function lines(root: HTMLElement): string[] {
  return [...root.querySelectorAll(".mg-arithmetic")].map((block) => [...block.children].map((line) => line.textContent).join(" = "));
}

const lit = (root: HTMLElement): string[] =>
  [...root.querySelectorAll("svg [data-operand]")].map((element) => element.getAttribute("data-edge") ?? element.getAttribute("class") ?? "");

it("shows a derivative with names, with numbers, and what came out", () => {
  expect(lines(show("diamond", 15))).toEqual(["grad of y = grad · c = [1., 1.] · 3."]);
  expect(lines(show("diamond", 17))).toEqual(["grad of y = grad · c = [1., 1.] · 3. = [3., 3.]"]);
});

it("shows names alone before the numbers are there", () => {
  expect(lines(show("diamond", 5, { selected: 2 }))).toEqual(["grad of y = grad · c"]);
});

it("adds up what came in one pass, not what came in one inside of it", () => {
  const { trace } = JSON.parse(readFileSync("test/fixtures/reentrant.json", "utf8")) as { trace: Trace };
  const leaf = trace.nodes.findIndex((node) => node.variable !== undefined && trace.tensors[node.variable]?.name === "w");
  const sums = trace.events.flatMap((_, step) => lines(show("reentrant", step, { selected: leaf })).filter((line) => line.includes("gradients meet")));
  expect(sums).toEqual([]);
  expect(lines(show("reentrant", trace.events.length - 2, { selected: leaf })).at(-1)).toBe("w.grad = [2.] + [2.] = [4.]");
});

it("shows graphs whose numbers it cannot compute", () => {
  const root = show("diamond", 25, {}, (trace) => {
    for (const each of [...trace.tensors, ...trace.values]) if (each.dtype === "float32") each.dtype = "float16";
  });
  expect(root.textContent).not.toContain("cannot show");
  expect(root.querySelectorAll(".mg-node").length).toBeGreaterThan(3);
});

it("shows the sum where gradients meet, and what is added to .grad", () => {
  expect(lines(show("diamond", 19))[0]).toBe("grad, where 2 gradients meet = [3., 3.] + [1., 1.] = [4., 4.]");
  expect(lines(show("diamond", 25)).at(-1)).toBe("x.grad = [8., 16.]");
  const again = show("diamond", 25, {}, (trace) => {
    const at = trace.events.findIndex((event) => event.kind === "backward_start");
    trace.events[at - 1] = { kind: "grad", tensor: trace.nodes.find((node) => node.variable !== undefined)?.variable ?? 0, grad: 0 };
  });
  expect(lines(again).at(-1)).toMatch(/^x\.grad = .+ \+ \[8\., 16\.\] = \[8\., 16\.\]$/);
});

it("takes the gradient that a hook has left", () => {
  expect(lines(show("hooks", 10)).at(-1)).toBe("grad of x = grad · 3 = 12. · 3");
  expect(lines(show("hooks", 14)).at(-1)).toBe("grad of x = grad · 3 = 120. · 3 = 360.");
});

it("says that a hook replaced what came out", () => {
  const root = show("diamond", 18, { selected: 2 }, (trace) => {
    const release = trace.events[16];
    if (release?.kind === "release") trace.events[16] = { kind: "hook", node: release.node, hook: "post", name: "f", gradient: [0], tensor: null };
  });
  expect(lines(root)).toEqual(["grad of y = grad · c = [1., 1.] · 3. = then a hook left [3., 3.]"]);
});

it("lights the operands of the node that runs, and the one that is pointed at", () => {
  const root = show("diamond", 19);
  const all = lit(root);
  expect(all).toHaveLength(5); // two edges with their labels, and the squares
  expect(all.filter((each) => each === "mg-saved")).toHaveLength(1);
  const saved = root.querySelector('.mg-operand[data-operand="saved"]') as HTMLElement;
  saved.dispatchEvent(new Event("pointerenter"));
  expect(lit(root)).toEqual(["mg-saved"]);
  saved.dispatchEvent(new Event("pointerleave"));
  expect(lit(root)).toEqual(all);
  expect(lit(show("diamond", 26))).toEqual([]);
});

it("says at a node that a hook of the program has run there", () => {
  const word = (step: number): string => show("hooks", step).querySelector('[data-node="1"] .mg-word')?.textContent ?? "";
  expect([11, 12, 18, 19, 36].map(word)).toEqual(["runs", "runs · hook", "done · hook", "waits: 2", "done · hook"]);
});

it("says at the end of a pass what it gave", () => {
  const given = (root: HTMLElement): string => root.querySelector(".mg-details dl")?.textContent ?? "";
  expect(given(show("diamond", 26))).toBe("xtensor([8., 16.])");
  expect(given(show("twice", 31))).toBe("xtensor([0.75, 6.75])");
  expect(given(show("hooks", 18))).toBe("ytensor(120.)xtensor(360.)");
});

it("lights the edges of one output for its gradient", () => {
  const root = show("outputs", 10);
  expect(lines(root)).toEqual(["grad of x = stack((grads[0], grads[1], grads[2]), 0) = stack(([3., -2.], [1., -1.], 0), 0)"]);
  const [first, second] = root.querySelectorAll<HTMLElement>('.mg-operand[data-operand="grad"]');
  first?.dispatchEvent(new Event("pointerenter"));
  const edges = lit(root);
  second?.dispatchEvent(new Event("pointerenter"));
  expect([edges.length, lit(root).length, edges[0] === lit(root)[0]]).toEqual([2, 2, false]);
});

it("gives no answer away while a question is open", () => {
  const asked = { ask: [{ kind: "grad", step: 25 }], answers: [], score: {} };
  expect(lines(show("diamond", 24))).not.toEqual([]);
  expect(lines(show("diamond", 24, asked))).toEqual([]);
  expect(lines(show("diamond", 19, asked))).not.toEqual([]);
});

it("follows calls by hand, without numbers for a node that was called in parts", () => {
  expect(lines(show("diamond", 0, { lens: "traversal", calls: [4, 3, 2] }))).toEqual(["grad of y = grad · c = [1., 1.] · 3. = [3., 3.]"]);
  const parts = show("diamond", 0, { lens: "traversal", calls: [4, 3, 1, 2, 1] });
  expect(lines(parts).slice(-2)).toEqual(["grad of x = grad · x", "grad of x = grad · x"]);
});

it.each([
  ["ConvolutionBackward0", "torch 2.13.0", [["mul", "grad", "a"]], "PyTorch computes it in C++, and no formula of minigrad’s stands for it"],
  ["ConvolutionBackward0", "torch 2.13.0", [], "this recording has kept no arithmetic"],
  ["ScaleBackward", "torch 2.13.0", [], "it is what the Function’s own backward does"],
  ["AsStridedBackward0", "minigrad 0.1.0", [["mul", "grad", "a"]], "it puts the gradient where the view lies in its base, and zeros elsewhere"],
  ["MedianBackward0", "minigrad 0.1.0", [["mul", "grad", "a"]], "its code looks at numbers, uses what is no array, or is too long for a line"],
])("says why the formula of %s in a recording of %s is not written out, and what came and went", (name, library, expressions, why) => {
  const trace = { ...square(), library, expressions: expressions as Trace["expressions"] & object };
  (trace.nodes[0] as Trace["nodes"][number]).name = name;
  const place = document.createElement("div");
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: 7, selected: 0 }), el: place });
  const block = place.querySelector("[data-unwritten]");
  expect(block?.firstChild?.textContent).toBe(`The formula of ${name} is not written out: ${why}. What came and went:`);
  expect([...(block?.querySelectorAll(".mg-equals") ?? [])].map((row) => row.textContent)).toEqual(["grad: 1.", "grad of x: 3.", "grad of x: 3."]);
});

it("says where the numbers that it knows do not give what was recorded", () => {
  const said = (root: HTMLElement): string[] => [...root.querySelectorAll(".mg-arithmetic .mg-quiet")].map((each) => each.textContent ?? "").filter((text) => text.includes("do not give this result"));
  const state = { selected: 0 };
  const written = (trace: Trace): void => {
    for (const [name, , value] of trace.nodes.flatMap(({ saved }) => saved)) if (name === "other" && value !== null) (trace.values[value]?.data as number[])[0] = 70;
  };
  const step = 26;
  expect(said(show("diamond", step, state))).toEqual([]);
  for (const name of ["hooks", "views", "checkpointed"]) {
    const { trace } = JSON.parse(readFileSync(`test/fixtures/${name}.json`, "utf8")) as { trace: Trace };
    trace.nodes.forEach((_, selected) => expect(said(show(name, trace.events.length - 1, { selected }))).toEqual([]));
  }
  const nodes = [0, 1, 2, 3, 4, 5].flatMap((selected) => said(show("diamond", step, { selected }, written)));
  expect(nodes.length).toBeGreaterThan(0);
});
