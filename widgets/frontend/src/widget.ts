/** The widget's entry: anywidget takes what it exports. */
import { render } from "./index";
import type { Model } from "./page/link";
import { find, keep } from "./page/saved_state";
import { play } from "./player";

// A page of its own contains this very module, and nobody calls it there.
if (document.documentElement.hasAttribute("data-minigrad-page")) play(render);

export default {
  initialize: ({ model }: { model: Model }): void => find(model),
  render(shown: { model: Model; el: HTMLElement }): () => void {
    keep(shown.model);
    return render(shown);
  },
};
