/** The question card as a widget of its own: a lesson has many, and the notebook stores the script with each. */
import type { Model } from "./page/link";
import { find, keep } from "./page/saved_state";
import { Card } from "./lenses/question_card";

export default {
  initialize: ({ model }: { model: Model }): void => find(model),
  render({ model, el }: { model: Model; el: HTMLElement }): () => void {
    const card = new Card(model);
    el.append(card.element);
    keep(model);
    return () => card.dispose();
  },
};
