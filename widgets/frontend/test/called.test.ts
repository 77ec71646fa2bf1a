import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../src/index";
import { Called } from "../src/inspector/source";
import { FakeModel, square } from "./fake";
import type { Moment } from "../src/inspector/lens";
import type { Maybe, Trace } from "../src/trace/types";

function shown(trace: Trace, step: number): HTMLElement {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step }), el: place });
  return place.querySelector(".mg-root") as HTMLElement;
}

const fixture = (name: string): Trace => (JSON.parse(readFileSync(`test/fixtures/${name}.json`, "utf8")) as { trace: Trace }).trace;
const press = (target: Element, key: string): boolean => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const tray = (root: Element): [string | null, string | null, string | null] => {
  const [group, level, frame] = [".mg-grad", ".mg-tray-level", ".mg-tray"].map((each) => root.querySelector(each) as Element);
  const share = Number(level?.getAttribute("width")) / Number(frame?.getAttribute("width"));
  return [group?.getAttribute("data-grad") ?? null, group?.querySelector("text")?.textContent ?? null, share.toFixed(1)];
};
const lit = (root: Element): string[] =>
  [...root.querySelectorAll("[data-called]:not(text)")].map((each) => each.getAttribute("data-edge") ?? each.getAttribute("data-node") ?? "");

it("draws .grad at its leaf, which fills as gradients arrive", () => {
  const root = shown(square(), 2);
  expect(tray(root)).toEqual(["none", ".grad None", "0.0"]);
  const seen = [3, 4, 5, 6, 7, 8, 9, 10, 11].map(() => {
    press(root, "ArrowRight");
    return tray(root);
  });
  expect(seen.slice(3)).toEqual([
    ["coming", ".grad None", "0.5"],
    ["coming", ".grad None", "1.0"],
    ["coming", ".grad None", "1.0"],
    ["coming", ".grad None", "1.0"],
    ["held", ".grad 6.", "1.0"],
    ["held", ".grad 6.", "1.0"],
  ]);
  press(root, "ArrowLeft");
  press(root, "ArrowLeft");
  expect(tray(root)).toEqual(["coming", ".grad None", "1.0"]);
});

it("follows what a program does to .grad between two passes", () => {
  const trace = fixture("zeroed");
  const root = shown(trace, 0);
  root.querySelector<HTMLElement>('[data-lens="all"]')?.click();
  press(root, "Home");
  const texts = new Map<string, string | null>();
  trace.events.forEach((event, step) => {
    if (step > 0) press(root, "ArrowRight");
    if (event.kind === "grad" || event.kind === "accumulate") texts.set(`${step} ${event.kind}`, tray(root)[1]);
  });
  expect([...texts.values()]).toEqual([".grad [2., 4.]", ".grad [1., 2.]", ".grad [3., 4.]", ".grad None", ".grad [3., 3.]"]);
});

it("does not call .grad None where it held something before the recording", () => {
  const trace = square();
  trace.tensors = trace.tensors.map((tensor) => ({ ...tensor, filled: true }));
  const root = shown(trace, 2);
  expect(tray(root)).toEqual(["held", ".grad set before", "1.0"]);
  root.querySelector<SVGElement>('[data-node="1"]')?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const rows = [...root.querySelectorAll(".mg-details dt")].map((each) => [each.textContent, each.nextSibling?.textContent]);
  expect(rows).toContainEqual([".grad", "set before"]);
});

it("lights node, gradients and .grad of a name that the pointer or the focus is on", () => {
  const root = shown(square(), 7);
  const names = [...root.querySelectorAll<HTMLElement>(".mg-called")];
  expect(names.map((each) => each.textContent)).toEqual(["x", "y", "x", "x", "y"]);
  const card = root.querySelector(".mg-card") as HTMLElement;
  expect(card.hidden).toBe(true);
  names[0]?.dispatchEvent(new Event("pointerover", { bubbles: true }));
  expect(lit(root)).toEqual(["1", "0:0", "0:1"].sort((a, b) => lit(root).indexOf(a) - lit(root).indexOf(b)));
  expect([...card.querySelectorAll("dd")].map((each) => each.textContent)).toEqual([
    "scalar tensor(3.)", "AccumulateGrad(x)", "tensor(3.) + tensor(3.)", "None"]);
  root.querySelector(".mg-code")?.dispatchEvent(new Event("pointerleave"));
  expect(lit(root)).toEqual([]);
  expect(card.hidden).toBe(true);

  expect(names.map((each) => each.tabIndex)).toEqual([0, -1, -1, -1, -1]);
  names[0]?.focus();
  press(names[0] as HTMLElement, "ArrowDown");
  expect(document.activeElement).toBe(names[1]);
  expect(lit(root)).toEqual(["0"]);
  press(names[1] as HTMLElement, "ArrowRight");
  expect(root.getAttribute("data-step")).toBe("8");
  expect(lit(root)).toEqual(["0"]);
  press(names[1] as HTMLElement, "Enter");
  expect(root.querySelector(".mg-selected")?.getAttribute("data-node")).toBe("0");
});

it("takes a name inside of a function for what the function means by it", () => {
  const trace = square();
  const lines = ["x = tensor(3.)", "y = x * x", "def f(x):", "    return x + y", "def g(z):", "    y = z", "    return y * x", 'print("x")  # x', "f(lambda x: x)", "a.x"];
  trace.files = [{ name: "cell 1", lines }];
  const called = new Called(trace, () => undefined, () => null, () => undefined);
  const found = lines.map((line, at) => called.pieces(0, at + 1, line).filter((piece) => typeof piece !== "string").map((piece) => (piece as Element).textContent).join(" "));
  expect(found).toEqual(["x", "y x x", "", "y", "", "", "x", "", "", ""]);
  expect(called.pieces(0, 2, "y = x * x").map((piece) => (typeof piece === "string" ? piece : piece.textContent)).join("")).toBe("y = x * x");
});

/** By the words of a line that can be pointed at: the tensors that they mean at a step. */
function meant(trace: Trace, at: number, step: number): string[] {
  const seen: number[][] = [];
  const called = new Called(trace, (nodes) => seen.push([...nodes]), () => null, () => undefined);
  const moment = { now: step, nodeOf: (tensor: number) => tensor, look: () => ({}), value: () => null, grad: () => undefined, edge: () => undefined, version: () => 0 };
  called.show(moment as unknown as Moment);
  const body = document.createElement("div");
  body.append(...called.pieces(0, at, trace.files[0]?.lines[at - 1] ?? ""));
  called.listen(body);
  return [...body.querySelectorAll(".mg-called")].map((word) => {
    word.dispatchEvent(new Event("pointerover", { bubbles: true }));
    return `${word.textContent} ${seen.at(-1)?.join(" ")}`;
  });
}

/** h = f(x); h = f(h); for ...: h = h * h; with f(y): y = y * 2; return y. */
function again(): Trace {
  const lines = ["def f(y):", "    y = y * 2", "    return y", "h = f(x)", "h = f(h)", "for _ in range(2):", "    h = h * h", "print(h, g(h=x))", "loss = h.sum()"];
  const leaf = square().tensors[0] as Trace["tensors"][number];
  const op = (line: number, given: number[], made: number) => ({ kind: "forward" as const, op: "mul", node: null, inputs: given, outputs: [made], file: 0, line });
  const bound = (step: number, call: number, line: Maybe, ...names: [string, Maybe][]) => ({ step, call, file: 0, line, names });
  return {
    ...square(),
    files: [{ name: "cell 1", lines }],
    tensors: ["x", null, null, null, "h", "loss"].map((name) => ({ ...leaf, name })),
    events: [op(2, [0], 1), op(2, [1], 2), op(7, [2, 2], 3), op(7, [3, 3], 4), op(9, [4], 5)],
    bindings: [bound(0, 0, 4, ["x", 0]), bound(0, 1, 2, ["y", 0]), bound(1, 0, 5, ["h", 1]), bound(1, 2, 2, ["y", 1]),
      bound(2, 0, 7, ["h", 2]), bound(3, 0, 7, ["h", 3]), bound(4, 0, 9, ["h", 4]), bound(5, 0, null, ["loss", 5])],
  };
}

it("takes a name that is assigned again for what it holds on each line", () => {
  const trace = again();
  expect(meant(trace, 4, 4)).toEqual(["h 1", "x 0"]);
  expect(meant(trace, 5, 4)).toEqual(["h 2", "h 1"]);
  expect(meant(trace, 9, 4)).toEqual(["loss 5", "h 4"]);
});

it("takes a name in a loop for what it holds in the turn of the step", () => {
  expect(meant(again(), 7, 2)).toEqual(["h 3", "h 2", "h 2"]);
  expect(meant(again(), 7, 4)).toEqual(["h 4", "h 3", "h 3"]);
});

it("takes a name in a function for what it holds in the call of the step", () => {
  expect(meant(again(), 2, 0)).toEqual(["y 1", "y 0"]);
  expect(meant(again(), 2, 4)).toEqual(["y 2", "y 1"]);
});

it("takes a name on a line without an op for what it holds then, and the name of an argument for none", () => {
  expect(meant(again(), 8, 4)).toEqual(["h 4", "x 0"]);
});

it("lights one tensor of a list where the text names one", () => {
  const trace = again();
  trace.tensors.forEach((tensor, id) => (tensor.name = [`w[${id}]`, "p['a']"][id] ?? null));
  trace.files = [{ name: "cell 1", lines: ['loss = w[0] * p["a"] + w[1]'] }];
  trace.bindings = [];
  expect(meant(trace, 1, 4)).toEqual(["w[0] 0", 'p["a"] 1', "w 0"]);
});

/** A program of one file, in which ops ran at these lines and names held these tensors. */
function program(lines: string[], ops: [line: number, made: number][], bindings: NonNullable<Trace["bindings"]>, names: string[] = []): Trace {
  const leaf = square().tensors[0] as Trace["tensors"][number];
  return {
    ...square(),
    files: [{ name: "cell 1", lines }],
    tensors: Array.from({ length: 9 }, (_, id) => ({ ...leaf, name: names[id] ?? null })),
    events: ops.map(([line, made]) => ({ kind: "forward" as const, op: "mul", node: null, inputs: [0], outputs: [made], file: 0, line })),
    bindings,
  };
}

it("takes what a function returns for what its last op gave", () => {
  const trace = program(["def f(x):", "    h = x * 2", "    h = h + 1", "    return h", "y = f(a)"], [[2, 1], [3, 2]], [
    { step: 0, call: 0, file: 0, line: 5, names: [["a", 0]] }, { step: 0, call: 1, file: 0, line: 2, names: [["x", 0]] },
    { step: 1, call: 1, file: 0, line: 3, names: [["h", 1]] }]);
  expect(meant(trace, 4, 1)).toEqual(["h 2"]);
  expect(meant(trace, 1, 1)).toEqual(["x 0"]);
});

it("takes no line that did not run for another turn, and an alias for what it stands for", () => {
  const trace = program(["best = None", "if flag:", "    d = a", "else:", "    d = b", "for x in xs:", "    best = x * d"], [[6, 5], [7, 3], [7, 4]], [
    { step: 0, call: 0, file: 0, line: 6, names: [["a", 0], ["b", 1], ["d", 0]] }, { step: 1, call: 0, file: 0, line: 7, names: [["x", 6]] },
    { step: 2, call: 0, file: 0, line: 7, names: [["x", 7], ["best", 3]] }]);
  expect(meant(trace, 1, 2)).toEqual(["best "]);
  expect(meant(trace, 5, 2)).toEqual(["d 1", "b 1"]);
  expect(meant(trace, 6, 2)).toEqual(["x 7"]);
});

it("reads lines that go on with a call, and no words of strings and comprehensions", () => {
  const trace = program(["h = scale(", "    h=h,", ")", '"""h is', "so is h.", '"""', "z = [h * 2 for h in hs]"], [[1, 1], [7, 2]], [
    { step: 0, call: 0, file: 0, line: 1, names: [["h", 0]] }, { step: 1, call: 0, file: 0, line: 7, names: [["h", 1]] }]);
  expect([1, 2, 4, 5, 7].map((line) => meant(trace, line, 1))).toEqual([["h 1"], ["h 0"], [], [], []]);
});

it("says nothing of a list whose items the program exchanges, and of one that a call gives", () => {
  const lines = ["loss = w[0] * p[0]", "w[0] = w[0] - 1", "def f(p):", "    return p[0]"];
  const trace = program(lines, [], [], ["w[0]", "p[0]"]);
  expect(lines.map((_, at) => meant(trace, at + 1, 0))).toEqual([["p[0] 1"], [], [], []]);
});

it("says of a gradient that it has not come so far, or that none will", () => {
  const trace = square();
  trace.tensors.push({ ...(trace.tensors[0] as Trace["tensors"][number]), name: "k", requires_grad: false, storage: 2 });
  trace.files[0]?.lines.push("k");
  const root = shown(trace, 2);
  const gradient = (name: string): string | null | undefined => {
    const at = [...root.querySelectorAll(".mg-called")].find((each) => each.textContent === name);
    at?.dispatchEvent(new Event("pointerover", { bubbles: true }));
    return [...root.querySelectorAll(".mg-card dt")].find((each) => each.textContent === "gradient")?.nextElementSibling?.textContent;
  };
  expect([gradient("x"), gradient("k")]).toEqual(["none so far", "none: it has no node"]);
});
