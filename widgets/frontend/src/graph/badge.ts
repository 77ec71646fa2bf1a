/** A badge next to a box: a short text in a rounded frame. */
import { svg } from "../page/dom";

export function paintBadge(badge: SVGGElement, text: string, toLeft = false): void {
  if ((badge.lastChild?.textContent ?? "") === text) return;
  if (text === "") {
    badge.replaceChildren();
    return;
  }
  const width = text.length * 6.4 + 12;
  const x = toLeft ? -width : 0;
  const box = svg("rect", { x, y: -9, width, height: 18, rx: 9 });
  badge.replaceChildren(box, svg("text", { x: x + width / 2, y: 4, "text-anchor": "middle" }, text));
}
