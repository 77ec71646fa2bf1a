import { expect, it } from "vitest";
import { NodeList } from "../src/inspector/nodelist";
import { square } from "./fake";
import type { Scene } from "../src/graph/look";
import type { Maybe, Trace } from "../src/trace/types";

const COUNT = 500;

/** A graph of many nodes. */
function many(): Trace {
  const trace = square();
  const node = trace.nodes[0] as Trace["nodes"][number];
  trace.nodes = Array.from({ length: COUNT }, () => ({ ...node, next: [], inputs: [], outputs: [] }));
  return trace;
}

function scene(lit: Maybe, selected: Maybe): Scene {
  const look = { look: "recorded", known: true, word: "", broken: "", badge: "", saved: "" };
  return { node: () => look, edge: () => undefined, lit, selected, now: new Set() } as unknown as Scene;
}

const rows = (list: NodeList): number[] => [...list.element.querySelectorAll("tbody tr")].map((row) => Number(row.getAttribute("data-row")));

it("moves to a node that is chosen, and stays where it was scrolled to otherwise", () => {
  const list = new NodeList(many(), () => undefined);
  document.body.replaceChildren(list.element);
  const body = list.element.querySelector(".mg-nodelist-body") as HTMLElement;
  list.element.open = true;
  list.show(scene(COUNT - 1, null));
  expect(rows(list)).toContain(COUNT - 1);
  list.show(scene(COUNT - 1, 3));
  expect(rows(list)).toContain(3);
  expect(list.element.querySelector(".mg-chosen")?.getAttribute("data-row")).toBe("3");
  body.scrollTop = 777;
  list.show(scene(COUNT - 1, 3));
  expect(body.scrollTop).toBe(777);
  expect(rows(list)).toContain(3);
});
