import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../src/index";
import { Called } from "../src/inspector/called";
import { FakeModel, square } from "./fake";
import type { Trace } from "../src/trace/types";

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
  const trace = { ...square(), storages: [4, 4, 4] };
  (trace.events[0] as { held?: unknown }).held = [[2, 3, 0]];
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
    "scalar tensor(3.)", "AccumulateGrad of x", "tensor(3.) + tensor(3.)", "None"]);
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
