/**
 * Shows a model: `render` is called once for each view of it.
 *
 * The folders, each of which imports only those before it: `trace` reads a trace, without a page; `layout` positions
 * its boxes and edges; `page` has the parts of every view; `graph` draws the graph; `inspector` has the panes and
 * lenses around it; `views` the other widgets; `lesson` judges a lesson's cards in a page without a kernel.
 */
import { aliasView, type Aliases } from "./lenses/alias_view";
import { Card } from "./lenses/question_card";
import { Comparison } from "./lenses/comparison";
import { compiledView, type Compiled } from "./lenses/compiled_step";
import { Explorer, type Exploration } from "./lenses/state_explorer";
import { Inspector } from "./inspector/inspector";
import { lanesView, type Lanes } from "./lenses/rank_lanes";
import { ledgerView, type Ledger } from "./lenses/parameter_ledger";
import { Link, type Model } from "./page/link";
import { arrive, replaceStill } from "./page/keys";
import { html } from "./page/dom";
import type { Stepped } from "./lenses/stepped";
import { parseTrace } from "./trace/file";

export function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  try {
    const view = viewOf(model);
    el.append(view.element);
    // The first picture of a notebook can be stepped through at once; the others do not take the keyboard focus.
    if (!(view instanceof Card)) arrive(view.element, () => view.element, "notebook");
    const showStill = view instanceof Card ? null : replaceStill(view.element);
    return () => {
      showStill?.();
      view.dispose();
    };
  } catch (error) {
    el.append(html("p", { class: "mg-root mg-error", role: "alert" }, `The inspector cannot show this: ${String(error)}`));
    return () => undefined;
  }
}

/** The view of a model, chosen by its traits. */
function viewOf(model: Model): Card | Comparison | Explorer | Inspector | Stepped {
  if (model.get("face")) return new Card(model);
  if (model.get("traces")) return compare(model);
  if (model.get("exploration")) return new Explorer(model.get("exploration") as Exploration, new Link(model));
  if (model.get("aliases")) return aliasView(model.get("aliases") as Aliases, new Link(model));
  if (model.get("compiled")) return compiledView(model.get("compiled") as Compiled, new Link(model));
  if (model.get("lanes")) return lanesView(model.get("lanes") as Lanes, new Link(model));
  if (model.get("ledger")) return ledgerView(model.get("ledger") as Ledger, new Link(model));
  return new Inspector(parseTrace(model.get("trace")), new Link(model));
}

function compare(model: Model): Comparison {
  const traces = model.get("traces") as Record<string, unknown>;
  return new Comparison(Object.entries(traces).map(([name, text]) => [name, parseTrace(text)]), new Link(model));
}
