/** The widget's entry: anywidget calls `render` once for each view of it. */
import { aliasView } from "./aliasview";
import type { Aliases } from "./aliasview";
import { Comparison } from "./comparison";
import { Explorer } from "./explorer";
import type { Exploration } from "./explorer";
import { Inspector } from "./inspector";
import { ledgerView } from "./ledger";
import type { Ledger } from "./ledger";
import { Link } from "./link";
import type { Model } from "./link";
import { html } from "./dom";
import type { Stepped } from "./stepped";
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
function viewOf(model: Model): Comparison | Explorer | Inspector | Stepped {
  if (model.get("traces")) return compare(model);
  if (model.get("exploration")) return new Explorer(model.get("exploration") as Exploration, new Link(model));
  if (model.get("aliases")) return aliasView(model.get("aliases") as Aliases, new Link(model));
  if (model.get("ledger")) return ledgerView(model.get("ledger") as Ledger, new Link(model));
  return new Inspector(parseTrace(model.get("trace")), new Link(model));
}

function compare(model: Model): Comparison {
  const traces = model.get("traces") as Record<string, unknown>;
  return new Comparison(Object.entries(traces).map(([name, text]) => [name, parseTrace(text)]), new Link(model));
}

export default { render };
