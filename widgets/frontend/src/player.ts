/** Inspectors in a standalone page, with models that live in the page: no kernel, no requests. */
import { html } from "./page/dom";
import { leavesUs } from "./page/keys";
import { stateOf } from "./page/share";
import { PageModel, type Model, type Program } from "./page/link";

type Render = (widget: { model: Model; el: HTMLElement }) => () => void;

/** A view that steps; a question card does not. */
const STEPPED = ".mg-root[data-step]";

/** Between two steps that a view takes by itself, in milliseconds. */
const PAUSE = 1400;

/** The running program, if the page contains it; a module does not know its own element. */
const own = document.currentScript ?? document.querySelector("script[type=module]:not([src])");

/** The part of a page that handles the cards of a lesson. */
export interface PageLesson {
  join(place: string, model: PageModel): void;
  open(): void;
}

/** The text of a page's script and of its styles; on a site it is fetched, which fails in a folder without a host. */
async function programOf(script: Element | null): Promise<Program | null> {
  const text = async (element: Element | null, address: string): Promise<string> => {
    const from = element?.getAttribute(address);
    return from ? (await fetch(new URL(from, document.baseURI))).text() : (element?.textContent ?? "");
  };
  const style = document.querySelector("style[data-minigrad-style], link[href*='inspector.css']") ?? document.querySelector("style");
  try {
    const program = { script: await text(script, "src"), style: await text(style, "href"), module: script?.getAttribute("type") === "module" };
    return program.script === "" ? null : program;
  } catch {
    return null;
  }
}

const program = (): Promise<Program | null> => programOf(own);

// A site's own theme switch, if there is one, takes precedence over the system's preference.
function followTheme(): void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const dress = (): void => {
    const chosen = document.body.dataset["theme"];
    document.documentElement.classList.toggle("mg-dark", chosen === "dark" || (chosen !== "light" && dark.matches));
  };
  dark.addEventListener("change", dress);
  new MutationObserver(dress).observe(document.body, { attributeFilter: ["data-theme"] });
  dress();
}

/** The contents of a page; if they cannot be parsed, their text is treated as a trace, and refused as one. */
function held(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { trace: text };
  }
}

/** Shows the contents of the address's fragment, and again when it changes. */
function follow(place: HTMLElement, render: Render): void {
  let leave = (): void => undefined;
  const show = async (): Promise<void> => {
    leave();
    leave = () => undefined;
    place.replaceChildren();
    const fragment = location.hash.slice(1);
    if (fragment === "") return place.append(html("p", { class: "mg-error" }, "A link that was copied from an inspector is shown here."));
    try {
      const state = await stateOf(fragment);
      leave = render({ model: new PageModel({ ...state, player: location.href.split("#")[0] }, program), el: place });
    } catch (error) {
      place.append(html("p", { class: "mg-root mg-error", role: "alert" }, `This link cannot be shown: ${String(error)}`));
    }
  };
  window.addEventListener("hashchange", () => void show());
  void show();
}

/** Steps through a view by itself until somebody touches it; not for readers who ask for less motion. */
function playUnattended(el: HTMLElement): void {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const timer = setInterval(() => {
    const next = el.querySelector<HTMLButtonElement>(".mg-onward");
    if (next?.ariaDisabled === "true") stop();
    else next?.click();
  }, PAUSE);
  const stop = (): void => {
    clearInterval(timer);
    el.removeAttribute("data-minigrad-plays");
  };
  for (const touch of ["pointerdown", "keydown"]) el.addEventListener(touch, stop, { once: true, capture: true });
}

/** How much of an element is in the window, in pixels of its height. */
function inView(element: Element): number {
  const { top, bottom } = element.getBoundingClientRect();
  return Math.max(0, Math.min(bottom, window.innerHeight) - Math.max(top, 0));
}

/**
 * Keys work before anything has the focus: all of them in a page that is one inspector; among other things on a page
 * those that step, since the others scroll it. They go to the view that was used last, if it is in the window, else to
 * the one of which most is in the window.
 */
function takeKeys(): void {
  let last: HTMLElement | null = null;
  const use = (event: Event): void => {
    last = (event.target as Element | null)?.closest?.<HTMLElement>(STEPPED) ?? last;
  };
  for (const touch of ["pointerdown", "focusin"]) document.addEventListener(touch, use, true);
  window.addEventListener("keydown", (event) => {
    const all = [...document.querySelectorAll<HTMLElement>(STEPPED)];
    const [most] = all.sort((a, b) => inView(b) - inView(a));
    const root = last && all.includes(last) && inView(last) > 0 ? last : most;
    if (!root || document.activeElement !== document.body || event.altKey || leavesUs(event, root)) return;
    if (!root.closest("main[data-minigrad]") && (inView(root) === 0 || !["ArrowLeft", "ArrowRight"].includes(event.key))) return;
    root.focus({ preventScroll: true });
    root.dispatchEvent(new KeyboardEvent("keydown", event));
    event.preventDefault();
  });
}

/** Fills every element of the page that waits for a view. */
export function play(render: Render, lessonAt?: (place: HTMLElement) => PageLesson): void {
  followTheme();
  const around = document.querySelector<HTMLElement>("[data-minigrad-lesson]");
  const lesson = around && lessonAt ? lessonAt(around) : null;
  const all = [...document.querySelectorAll<HTMLElement>("[data-minigrad]")].map((el) => {
    const data = document.getElementById(el.dataset["minigrad"] ?? "");
    const model = new PageModel(held(data?.textContent ?? "{}"), program);
    lesson?.join(el.dataset["minigrad"] ?? "", model);
    return { model, el };
  });
  lesson?.open();
  takeKeys();
  for (const each of all) {
    render(each);
    if (each.el.hasAttribute("data-minigrad-plays")) playUnattended(each.el);
  }
  for (const place of document.querySelectorAll<HTMLElement>("[data-minigrad-link]")) follow(place, render);
}
