/**
 * The keyboard. JupyterLab's own shortcuts listen further out (`b` inserts a cell, `d d` deletes one), so every key
 * pressed inside the inspector is stopped here, except those that lead out of it or belong to the browser.
 */
import { advance } from "./cells";

export interface Actions {
  back(): void;
  forward(): void;
  first(): void;
  last(): void;
  toggle(): void;
  choose(): void;
  walk(direction: 1 | -1): void;
  fold?(by: 1 | -1): void;
  /** A digit: the folding level, counted from 0. */
  level?(at: number): void;
  fill?(): void;
  slide?(): void;
  escape?(): void;
}

const PAGES: Record<string, string> = { PageUp: "ArrowLeft", PageDown: "ArrowRight" };
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9"];

function leavesUs(event: KeyboardEvent, root: HTMLElement): boolean {
  if (event.key === "Escape") return !root.hasAttribute("data-whole");
  return event.key === "Tab" || event.ctrlKey || event.metaKey;
}

/** A focused button, link or list uses Space, Enter and the up and down arrows itself. */
function ownKey(event: KeyboardEvent): boolean {
  const target = event.target as Element | null;
  if (target?.matches("select, textarea, input[type=search], input[type=text], input[type=number], input[type=radio]")) return true;
  if (target?.matches("button, summary")) return event.key === " " || event.key === "Enter";
  if (target?.matches(".mg-called")) return [" ", "Enter", "ArrowUp", "ArrowDown"].includes(event.key);
  if (target?.matches(".mg-rows")) return event.key === "ArrowLeft" || event.key === "ArrowRight";
  return (target?.matches(".mg-code, .mg-details-body, .mg-nodelist-body") ?? false) && /^(ArrowUp|ArrowDown|Page)/.test(event.key);
}

/** Redrawing may remove the focused element. The focus then stays in the inspector, so that the next key does not leave it. */
function hold(root: HTMLElement): void {
  const { activeElement } = root.getRootNode() as Document | ShadowRoot;
  if (activeElement === null || activeElement === document.body) root.focus({ preventScroll: true });
}

/** Notebook 7 intercepts keys before they arrive here, except from elements with this mark. */
function shield(root: HTMLElement): () => void {
  const mark = (event: KeyboardEvent): void => {
    if (!event.composedPath().includes(root)) return;
    if (leavesUs(event, root)) root.removeAttribute("data-lm-suppress-shortcuts");
    else root.setAttribute("data-lm-suppress-shortcuts", "true");
  };
  window.addEventListener("keydown", mark, true);
  return () => window.removeEventListener("keydown", mark, true);
}

export function listen(root: HTMLElement, actions: Actions): () => void {
  const table: Record<string, () => void> = {
    ArrowLeft: () => actions.back(),
    ArrowRight: () => actions.forward(),
    ArrowUp: () => actions.walk(-1),
    ArrowDown: () => actions.walk(1),
    "-": () => actions.fold?.(-1),
    "+": () => actions.fold?.(1),
    Home: () => actions.first(),
    End: () => actions.last(),
    " ": () => actions.toggle(),
    Enter: () => actions.choose(),
    f: () => actions.fill?.(),
    s: () => actions.slide?.(),
    Escape: () => actions.escape?.(),
    ...Object.fromEntries(DIGITS.map((digit, at) => [digit, () => actions.level?.(at)])),
  };
  const handle = (event: KeyboardEvent): void => {
    if (leavesUs(event, root)) return;
    event.stopPropagation();
    if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      advance(root);
      return;
    }
    // In the slide view a presenter's clicker steps with these keys; elsewhere they scroll the page.
    const paged = root.hasAttribute("data-slide") ? PAGES[event.key] : undefined;
    const act = table[paged ?? event.key];
    if (!act || event.altKey || ownKey(event)) return;
    event.preventDefault();
    act();
    hold(root);
  };
  const clicked = (): void => hold(root);
  root.addEventListener("keydown", handle);
  root.addEventListener("click", clicked);
  const unshield = shield(root);
  return () => {
    unshield();
    root.removeEventListener("keydown", handle);
    root.removeEventListener("click", clicked);
  };
}
