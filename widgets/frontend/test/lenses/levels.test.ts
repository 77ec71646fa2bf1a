/** From one box for the model to every op. */
import { beforeEach, expect, it } from "vitest";
import { Levels } from "../../src/graph/controls";
import type { Trace } from "../../src/trace/types";
import { square } from "../fake";

/** A model (0) of two blocks (1 and 2), of which the first has a module inside (3); an op that is in none. */
function nested(): Trace {
  const trace = square();
  const [node, leaf] = trace.nodes as [Trace["nodes"][number], Trace["nodes"][number]];
  const scope = (name: string, parent: number | null) => ({ name, module: "Block", parent });
  trace.scopes = [scope("net", null), scope("0", 0), scope("1", 0), scope("inner", 1)];
  trace.nodes = [node, { ...leaf, scope: 1 }, { ...node, scope: 2 }, { ...node, scope: 3 }];
  return trace;
}

let folded: Set<number>;
let levels: Levels;

beforeEach(() => {
  folded = new Set();
  levels = new Levels(nested(), (wanted) => {
    folded = wanted;
    levels.show(folded);
  });
});

const pressed = (): string[] => [...levels.element.querySelectorAll('[aria-pressed="true"]')].map((each) => each.textContent ?? "");
const sorted = (): number[] => [...folded].sort();

it("has a level for each depth of modules, and one for ops", () => {
  expect([...levels.element.children].map((each) => each.textContent)).toEqual(["model", "block", "inner block", "op"]);
  for (const [level, wanted] of [[0], [1, 2], [3], []].entries()) {
    levels.choose(level);
    expect(sorted()).toEqual(wanted);
    expect(pressed()).toHaveLength(1);
  }
  levels.choose(4);
  expect(sorted()).toEqual([]);
});

it("is not there without modules", () => {
  expect(new Levels(square(), () => undefined).element.hidden).toBe(true);
});

it("folds the innermost open modules where all is too small, level by level", () => {
  const out = (time: number): boolean => levels.zoom(0.5, 0.6, folded, null, time);
  expect(levels.zoom(0.5, 2, folded, null, 0)).toBe(false);
  const seen: number[][] = [];
  for (const time of [1000, 2000, 3000]) {
    expect(out(time)).toBe(true);
    seen.push(sorted());
  }
  expect(seen).toEqual([[3], [1, 2, 3], [0, 1, 2, 3]]);
  expect(out(4000)).toBe(false);
  expect(pressed()).toEqual(["model"]);
});

it("unfolds the module that one looks at where it is large, with what is inside folded", () => {
  levels.choose(0);
  const into = (box: number | null, time: number): boolean => levels.zoom(1.5, 1, folded, box, time);
  expect(levels.zoom(1.2, 1, folded, 0, 0)).toBe(false);
  expect(into(null, 500)).toBe(false);
  expect(into(0, 1000)).toBe(true);
  expect(sorted()).toEqual([1, 2]);
  expect(into(1, 2000)).toBe(true);
  expect(sorted()).toEqual([2, 3]);
  expect(pressed()).toEqual([]);
});

it("lets the wheel come to rest before it folds again", () => {
  expect(levels.zoom(0.5, 0.6, folded, null, 1000)).toBe(true);
  const once = sorted();
  expect(levels.zoom(0.5, 0.6, folded, null, 1100)).toBe(true);
  expect(sorted()).toEqual(once);
});
