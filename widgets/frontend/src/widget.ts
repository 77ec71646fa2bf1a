/** The widget's entry: anywidget takes what it exports. */
import { render } from "./index";
import type { Model } from "./page/link";
import { keep } from "./page/saved_state";
import { play } from "./player";

// A page created by "copy as page" contains this very module, and nobody calls it there.
if (import.meta.url === document.URL && document.documentElement.hasAttribute("data-minigrad-page")) play(render);

export default {
  render(shown: { model: Model; el: HTMLElement }): () => void {
    keep(shown.model);
    return render(shown);
  },
};
