// @vitest-environment jsdom
import { expect, it, vi } from "vitest";

it("gives no name twice in a document, though each widget has a copy of the script", async () => {
  const first = await import("../../src/page/dom");
  vi.resetModules();
  const second = await import("../../src/page/dom");
  expect(second.unique).not.toBe(first.unique);
  expect(new Set([first.unique("card"), second.unique("card"), first.unique("card")]).size).toBe(3);
});

it("sends a form by Enter in a field, but not by Shift+Enter, and not from a button", async () => {
  const { html, sendsOnEnter } = await import("../../src/page/dom");
  const [field, button] = [html("input"), html("button", { type: "button" })];
  const form = html("form", {}, field, button);
  document.body.append(form);
  const sent = vi.fn((event: Event) => event.preventDefault());
  form.addEventListener("submit", sent);
  sendsOnEnter(form);
  const press = (on: HTMLElement, shiftKey = false): boolean => on.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey, bubbles: true, cancelable: true }));
  expect([press(field, true), press(button)]).toEqual([true, true]);
  expect(sent).not.toHaveBeenCalled();
  expect(press(field)).toBe(false); // the browser does not send it once more
  expect(sent).toHaveBeenCalledTimes(1);
});
