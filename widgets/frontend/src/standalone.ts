/** The same inspector in a page of its own, with a model that lives in the page: no kernel, no requests. */
import { render } from "./index";
import type { Model } from "./page/link";

class PageModel implements Model {
  constructor(private readonly state: Record<string, unknown>) {}

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
  }

  save_changes(): void {}

  on(): void {}

  off(): void {}
}

// A site's own switch of themes, where there is one, goes before what the system prefers.
const dark = matchMedia("(prefers-color-scheme: dark)");
const dress = (): void => {
  const chosen = document.body.dataset["theme"];
  document.documentElement.classList.toggle("mg-dark", chosen === "dark" || (chosen !== "light" && dark.matches));
};
dark.addEventListener("change", dress);
new MutationObserver(dress).observe(document.body, { attributeFilter: ["data-theme"] });
dress();

/** What a page holds; where that cannot be read, its text stands for a trace, and is refused as one. */
function stateOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { trace: text };
  }
}

for (const place of document.querySelectorAll<HTMLElement>("[data-minigrad]")) {
  const data = document.getElementById(place.dataset["minigrad"] ?? "");
  render({ model: new PageModel(stateOf(data?.textContent ?? "{}")), el: place });
}
