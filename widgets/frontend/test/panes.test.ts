import { beforeEach, expect, it } from "vitest";
import { render } from "../src/index";
import { FakeModel, square } from "./fake";

let root: HTMLElement;

beforeEach(() => {
  const el = document.createElement("div");
  document.body.replaceChildren(el);
  render({ model: new FakeModel({ trace: JSON.stringify(square()), step: 2 }), el });
  root = el.querySelector(".mg-root") as HTMLElement;
});

/** Sends a key to an element; says whether it stayed inside the inspector. */
function press(target: Element, key: string): boolean {
  let inside = true;
  const leaked = (): void => void (inside = false);
  document.addEventListener("keydown", leaked);
  target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  document.removeEventListener("keydown", leaked);
  return inside;
}

const share = (name: string): string => root.querySelector<HTMLElement>(".mg-panes")!.style.getPropertyValue(name);

it("moves a bar by its arrow keys, within limits, and puts it back by a double click", () => {
  const bar = root.querySelector(".mg-bar[aria-orientation='vertical']")!;
  expect(share("--mg-graph-share")).toBe("67%");
  press(bar, "ArrowLeft");
  expect(share("--mg-graph-share")).toBe("63%");
  expect(bar.getAttribute("aria-valuenow")).toBe("63");
  expect(root.dataset["step"]).toBe("2");
  for (let count = 0; count < 20; count += 1) press(bar, "ArrowRight");
  expect(share("--mg-graph-share")).toBe("80%");
  bar.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  expect(share("--mg-graph-share")).toBe("67%");
});

it("leaves other keys to the inspector", () => {
  press(root.querySelector(".mg-bar")!, "End");
  expect(root.dataset["step"]).toBe("11");
});

it("fills the window with f or its button, and takes Escape only there", () => {
  const button = root.querySelector(".mg-whole")!;
  expect(press(root, "Escape")).toBe(false);
  press(root, "f");
  expect(root.hasAttribute("data-whole")).toBe(true);
  expect(root.getAttribute("popover")).toBe("manual");
  expect(button.getAttribute("aria-label")).toBe("back into the page (f or Escape)");
  expect(press(root, "Escape")).toBe(true);
  expect(root.hasAttribute("popover")).toBe(false);
  button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(root.hasAttribute("data-whole")).toBe(true);
  press(root, "f");
  expect(root.hasAttribute("data-whole")).toBe(false);
});

it("shows what the recorder has missed as one quiet line, and all of it where the pointer rests", () => {
  expect(root.querySelector(".mg-noted")).toBeNull();
  const notes = [{ text: "it has missed <b>", where: "ops.py:3", count: 2 }, { text: "another", where: "here", count: 1 }];
  const el = document.createElement("div");
  render({ model: new FakeModel({ trace: JSON.stringify({ ...square(), notes }), step: 2 }), el });
  const line = el.querySelector<HTMLElement>(".mg-noted")!;
  expect(line.textContent).toBe("Note: it has missed <b> (ops.py:3, 2 times); 1 more");
  expect(line.title).toBe("Note: it has missed <b> (ops.py:3, 2 times)\nNote: another (here)");
});
