/** The widget's entry: anywidget takes what it exports. */
import { render } from "./index";
import { play } from "./player";

// A page created by "copy as page" contains this very module, and nobody calls it there.
if (import.meta.url === document.URL && document.documentElement.hasAttribute("data-minigrad-page")) play(render);

export default { render };
