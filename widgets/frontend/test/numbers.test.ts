/** Numbers that are changed in the browser: what is shown follows them, or says that it does not. */
import { readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { render } from "../src/index";
import { Live } from "../src/live/live";
import { parseTrace } from "../src/trace/file";
import type { Trace } from "../src/trace/types";
import { FakeModel, square } from "./fake";

const read = (name: string): Trace => {
  const text = readFileSync(`${import.meta.dirname}/fixtures/${name}.json`, "utf8");
  return parseTrace((JSON.parse(text) as { trace: unknown }).trace);
};

afterEach(() => document.body.replaceChildren());

function inspector(trace: Trace, state: Record<string, unknown> = {}): HTMLElement {
  const el = document.createElement("div");
  document.body.append(el);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: trace.events.length - 2, ...state }), el });
  return el.querySelector(".mg-root") as HTMLElement;
}

const frame = (): Promise<unknown> => new Promise((resolve) => requestAnimationFrame(resolve));

async function type(root: HTMLElement, name: string, text: string): Promise<void> {
  const field = root.querySelector<HTMLInputElement>(`input[aria-label="${name}"]`) as HTMLInputElement;
  field.value = text;
  field.dispatchEvent(new Event("input"));
  await frame();
}

const said = (root: HTMLElement): string => root.querySelector(".mg-livesaid")?.textContent ?? "";
const bar = (root: HTMLElement): HTMLElement => root.querySelector(".mg-livebar") as HTMLElement;
const sentence = (root: HTMLElement): string => root.querySelector(".mg-text")?.textContent ?? "";
const labels = (root: HTMLElement): string[] => [...root.querySelectorAll(".mg-labels [data-live]")].map((each) => `${each.textContent} ${each.getAttribute("data-live")}`);

it("changes every number that follows", async () => {
  const root = inspector(read("diamond"));
  expect(bar(root).hidden).toBe(true);
  expect(sentence(root)).toContain("becomes tensor([8., 16.])");
  await type(root, "x[0]", "3");
  expect(said(root)).toBe("Changed: x[0] = 3 (it was 1).");
  expect(sentence(root)).toContain("becomes tensor([24., 16.])");
  expect(root.querySelector(".mg-details")?.textContent).toContain("tensor([3., 2.])");
  expect(root.querySelector(".mg-details")?.textContent).toContain("[12., 8.] + [12., 8.]");
  expect(labels(root)).toContain("[12., 8.] live");
});

it("puts the recorded numbers back", async () => {
  const root = inspector(read("diamond"));
  await type(root, "x[1]", "-1");
  root.querySelector<HTMLElement>(".mg-reset")?.click();
  await frame();
  expect(bar(root).hidden).toBe(true);
  expect(labels(root)).toEqual([]);
  expect(sentence(root)).toContain("becomes tensor([8., 16.])");
  expect(root.querySelector<HTMLInputElement>('input[aria-label="x[1]"]')?.value).toBe("2");
});

it("goes on stepping with them", async () => {
  const root = inspector(read("diamond"));
  await type(root, "x[0]", "3");
  root.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
  for (let i = 0; i < 30 && !sentence(root).includes("MulBackward0 #2 runs"); i++) root.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  expect(said(root)).toContain("x[0] = 3 (it was");
  expect(sentence(root)).toContain("MulBackward0 #2 runs with tensor([1., 1.])");
});

it("leaves keys in a field to the field", () => {
  const root = inspector(read("diamond"));
  const before = sentence(root);
  root.querySelector('input[aria-label="x[0]"]')?.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
  expect(sentence(root)).toBe(before);
});

it("says what a hook keeps as it was", async () => {
  const trace = read("hooks");
  trace.events = trace.events.filter((event) => event.kind !== "forward" || !event.depth);  // the hook computes without ops
  const root = inspector(trace);
  expect(root.querySelector(".mg-limits")?.textContent).toContain("the hook <lambda>: it is a function of Python");
  await type(root, "x", "5");
  expect(root.querySelector(".mg-livenotes")?.textContent).toContain("the hook <lambda> keeps its recorded numbers");
  expect(sentence(root)).toContain("(as recorded)");
});

it("computes what the ops in a hook do", async () => {
  const root = inspector(read("hooks"));
  expect(root.querySelector(".mg-limits")).toBeNull();
  await type(root, "x", "5");
  expect(root.querySelector(".mg-livenotes")?.textContent).toBe("");
  expect(said(root)).toContain("x = 5 (it was");
});

it("has no list for a trace without expressions, or where it is not wanted", () => {
  expect(inspector(square()).querySelector(".mg-numbers")).toBeNull();
  expect(inspector(read("diamond"), { live: false }).querySelector(".mg-numbers")).toBeNull();
  expect(inspector(read("diamond"), { live: true }).querySelector<HTMLDetailsElement>(".mg-numbers")?.open).toBe(true);
});

it("never shows what it computes otherwise than Python did", () => {
  const trace = read("diamond");
  trace.expressions = trace.expressions?.map((each) => (JSON.stringify(each) === '["mul","inputs[0]","inputs[1]"]' ? ["add", "inputs[0]", "inputs[1]"] : each)) ?? [];
  const live = new Live(trace);
  expect(live.limits.map(({ why }) => why)).toContain("it does not give here what was recorded");
  live.run(new Map([[live.leaves[0] as number, [5, 5]]]));
  expect(live.trace.values.filter((value) => value.live && JSON.stringify(value.data) === "[10,10]")).toEqual([]);
});

it("knows what it cannot compute before anything is changed", () => {
  const limits = (name: string): string[] => new Live(read(name)).limits.map(({ what }) => what);
  for (const name of ["by_hand", "diamond", "failing", "outputs", "twice", "zeroed"]) expect(limits(name), name).toEqual([]);
  expect(limits("views")).toEqual(["CopySlices"]);
  expect(limits("nested")).toEqual(["the hook inner"]);
});

it("computes what lies in memory that is written to", () => {
  const live = new Live(read("views"));
  const leaf = live.leaves[0] as number;
  live.run(new Map([[leaf, [1, 2, 3, -4]]]));
  const shown = live.trace.events.flatMap((event) => (event.kind === "version" ? [live.trace.values[event.value ?? -1]] : []));
  expect(shown.map((value) => value?.data)).toEqual([[18, -24], [3, 19], [3, 4, 19, 0]]);
  expect(shown.every((value) => value?.live)).toBe(true);
});
