/** The widget's entry: anywidget calls `render` once for each view of it. */
import { Comparison } from "./comparison";
import { Explorer } from "./explorer";
import type { Exploration } from "./explorer";
import { Inspector } from "./inspector";
import { Link } from "./link";
import type { Model } from "./link";
import { html } from "./dom";
import { parseTrace } from "./types";

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  try {
    const view = viewOf(model);
    el.append(view.element);
    return () => view.dispose();
  } catch (error) {
    el.append(html("p", { class: "mg-root mg-error", role: "alert" }, `The inspector cannot show this: ${String(error)}`));
    return () => undefined;
  }
}

/** Which view a model is of, by the traits that it has. */
function viewOf(model: Model): Comparison | Explorer | Inspector {
  if (model.get("traces")) return compare(model);
  if (model.get("exploration")) return new Explorer(model.get("exploration") as Exploration, new Link(model));
  return new Inspector(parseTrace(String(model.get("trace"))), new Link(model));
}

function compare(model: Model): Comparison {
  const traces = model.get("traces") as Record<string, string>;
  return new Comparison(Object.entries(traces).map(([name, text]) => [name, parseTrace(text)]), new Link(model));
}

export default { render };
