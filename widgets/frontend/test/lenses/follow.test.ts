/** One number, followed through tensors of any size. */
import { readFileSync } from "node:fs";
import { afterEach, expect, it } from "vitest";
import { render } from "../../src/index";
import { entryArithmetic } from "../../src/inspector/entry";
import { make } from "../../src/live/arrays";
import { reached } from "../../src/live/follow";
import { Live } from "../../src/live/live";
import { fragmentOf, stateOf } from "../../src/page/share";
import { parseTrace } from "../../src/trace/file";
import type { Trace } from "../../src/trace/types";
import { FakeModel } from "../fake";

const read = (name: string): Trace => {
  const text = readFileSync(`${import.meta.dirname}/../fixtures/${name}.json`, "utf8");
  return parseTrace((JSON.parse(text) as { trace: unknown }).trace);
};

afterEach(() => document.body.replaceChildren());

function inspector(trace: Trace): HTMLElement {
  const el = document.createElement("div");
  document.body.append(el);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: trace.events.length - 1 }), el });
  return el.querySelector(".mg-root") as HTMLElement;
}

function open(root: HTMLElement): HTMLDetailsElement {
  const list = root.querySelector(".mg-follow") as HTMLDetailsElement;
  list.open = true;
  list.dispatchEvent(new Event("toggle"));
  return list;
}

const rows = (list: Element): string[] => [...list.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent).join(" | "));

function choose(list: Element, dim: number, to: number): void {
  const field = list.querySelectorAll<HTMLInputElement>("input")[dim] as HTMLInputElement;
  field.value = String(to);
  field.dispatchEvent(new Event("input"));
}

it("knows all numbers of a tensor that no op made, though its preview has statistics", () => {
  const live = new Live(read("network"));
  const weight = live.trace.tensors.findIndex(({ shape }) => shape.join() === "12,8");
  expect(live.trace.values[live.trace.tensors[weight]?.value ?? -1]?.stats).toBeDefined();
  expect(live.numbers(weight)).toHaveLength(96);
  expect(live.numbers(weight).slice(0, 5)).toEqual([-0.5, -0.25, 0, 0.25, 0.5]);
});

it("finds the entries that a number reaches", () => {
  const live = new Live(read("network"));
  const weight = live.trace.tensors.findIndex(({ shape }) => shape.join() === "12,8");
  const found = reached(live, weight, 2 * 8 + 3);
  expect(found[0]).toEqual({ tensor: weight, count: 1, at: 19 });
  const at = (tensor: number): string => live.trace.tensors[tensor]?.shape.join() ?? "";
  expect(found.slice(1).map(({ tensor, count, at: first }) => [at(tensor), count, first])).toEqual([
    ["8,12", 1, 3 * 12 + 2], // the transpose
    ["16,12", 16, 2], // a column: one entry for each row of the batch
    ["16,12", 16, 2],
    ["16,1", 16, 0],
    ["", 1, 0],
  ]);
  expect(live.changed).toBe(false);
});

it("shows the value and the gradient of the entry at each tensor, and marks their nodes", () => {
  const root = inspector(read("network"));
  const list = open(root);
  choose(list, 0, 2);
  choose(list, 1, 3);
  const [first, ...others] = rows(list);
  expect(first).toMatch(/^\w.* \| \[2, 3\] \| 0\.5 \| -?\d/);
  expect(others.map((row) => row.split(" | ")[1])).toEqual(["[3, 2]", "[0, 2] of 16", "[0, 2] of 16", "[0, 0] of 16", ""]);
  expect(root.querySelectorAll(".mg-node[data-followed]").length).toBeGreaterThan(4);
  list.open = false;
  list.dispatchEvent(new Event("toggle"));
  expect(root.querySelectorAll(".mg-node[data-followed]")).toHaveLength(0);
});

it("writes the arithmetic of the entry that is followed", () => {
  const root = inspector(read("network"));
  const list = open(root);
  [...list.querySelectorAll<HTMLElement>("tbody button")].find((button) => button.textContent === "Addmm")?.click();
  const line = root.querySelector(".mg-entry-line")?.textContent ?? "";
  expect(line).toMatch(/^at \[0, 0\]-?\d.*·.* \+ … \(16 products\)-?\d/);
});

it("tells products, terms and entries apart", () => {
  const held = { grad: make([2, 3], "float32", (at) => at), other: make([3], "float32", (at) => at + 10) };
  const of = (expression: Parameters<typeof entryArithmetic>[0], shape: number[], at: number) =>
    entryArithmetic(expression, shape, at, (name) => held[name as keyof typeof held]);
  expect(of(["mul", "grad", "other"], [2, 3], 4)).toBe("4. · 11.");
  expect(of(["sum", "grad", ["tuple", 0]], [3], 1)).toBe("1. + 4.");
  expect(of(["sum", "grad", ["tuple", 1], true], [2, 1], 1)).toBe("3. + 4. + 5.");
  expect(of(["matmul", ["swapaxes", "grad", -1, -2], "grad"], [3, 3], 1)).toBe("0.·1. + 3.·4.");
  expect(of(["swapaxes", ["mul", "grad", "other"], 0, 1], [3, 2], 3)).toBe("4. · 11.");
  expect(of(["mul", "grad", "nowhere"], [2, 3], 0)).toBe("0. · nowhere");
  expect(of(["matmul", "grad", "nowhere"], [2, 3], 0)).toBeNull();
  expect(of(["cumsum", "grad", 0], [2, 3], 0)).toBeNull();
});

it("leaves the numbers of large tensors out of a link that is too long with them", async () => {
  const trace = read("network");
  const numbers = Array.from({ length: 5_000 }, (_, at) => Math.sin(at * at));
  const large = { shape: [5_000], dtype: "float32", stats: { min: -1, max: 1, mean: 0, norm: 50, nan: 0, inf: 0 } };
  const bytes = new Uint8Array(Float32Array.from(numbers).buffer);
  const blob = btoa([...bytes].map((byte) => String.fromCharCode(byte)).join(""));
  const table = { fields: [["shape", "dtype", "stats", "at"]], rows: [[0, large.shape, large.dtype, large.stats, 0]] };
  const packed = { ...trace, tensors: [], nodes: [], events: [], scopes: [], bindings: [], links: [], values: table, numbers: blob };
  const state = await stateOf(await fragmentOf(packed, "backward", 0));
  expect((state["trace"] as Trace).values).toEqual([large]);
});

it("does not compute the large tensors of a program that makes too many numbers", () => {
  const trace = read("network");
  const forward = trace.events.find((event) => event.kind === "forward");
  const many = { ...trace, events: [...trace.events, ...new Array<Trace["events"][number]>(15_000).fill(forward as Trace["events"][number])] };
  const large = { ...many, tensors: trace.tensors.map((record) => ({ ...record, shape: record.shape.join() === "8,12" ? [80, 12] : record.shape })) };
  const weight = trace.tensors.findIndex(({ shape }) => shape.join() === "12,8");
  expect(Live.of(trace)?.leaves).toContain(weight);
  expect(Live.of(large)?.leaves).not.toContain(weight);
});
