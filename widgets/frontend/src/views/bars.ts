/** Bars along a time axis, and times in words. */
import { html } from "../page/dom";

/** Milliseconds in a readable form. */
export function ms(time: number): string {
  return `${time.toFixed(Math.abs(time) < 10 ? 2 : Math.abs(time) < 100 ? 1 : 0)} ms`;
}

/** A bar from one time to another, in hundredths of the axis; a bar of no duration is still visible. */
export function bar(kind: string, begin: number, end: number, span: number): HTMLElement {
  const element = html("i", { class: "mg-span", "data-kind": kind });
  element.style.left = `${(100 * begin) / span}%`;
  element.style.width = `${Math.max(0, (100 * (end - begin)) / span)}%`;
  return element;
}
