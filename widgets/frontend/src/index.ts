/** The widget's entry: anywidget calls `render` once for each view of it. */
import { Inspector } from "./inspector";
import { Link } from "./link";
import type { Model } from "./link";
import { html } from "./dom";
import { parseTrace } from "./types";

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  try {
    const inspector = new Inspector(parseTrace(String(model.get("trace"))), new Link(model));
    el.append(inspector.element);
    return () => inspector.dispose();
  } catch (error) {
    el.append(html("p", { class: "mg-root mg-error", role: "alert" }, `The inspector cannot show this: ${String(error)}`));
    return () => undefined;
  }
}

export default { render };
