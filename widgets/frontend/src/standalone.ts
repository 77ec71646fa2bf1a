/** The same inspector in a page of its own, with a model that lives in the page: no kernel, no requests. */
import { render } from "./index";
import type { Model } from "./link";

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

const dark = matchMedia("(prefers-color-scheme: dark)");
const dress = (): void => void document.documentElement.classList.toggle("mg-dark", dark.matches);
dark.addEventListener("change", dress);
dress();

for (const place of document.querySelectorAll<HTMLElement>("[data-minigrad]")) {
  const data = document.getElementById(place.dataset["minigrad"] ?? "");
  render({ model: new PageModel(JSON.parse(data?.textContent ?? "{}")), el: place });
}
