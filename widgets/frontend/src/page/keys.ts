/**
 * The keyboard. JupyterLab's own shortcuts listen further out (`b` inserts a cell, `d d` deletes one), so every key
 * pressed inside the inspector is stopped here, except those that lead out of it or belong to the browser.
 */

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

/** Whether a key is not a view's own: Tab and Escape lead out of it, and Ctrl or ⌘ belong to the browser and JupyterLab. */
export function leavesUs(event: KeyboardEvent, root: HTMLElement): boolean {
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
  return (target?.matches(".mg-code, .mg-details-body, .mg-nodelist-body, .mg-meanings") ?? false) && /^(ArrowUp|ArrowDown|Page)/.test(event.key);
}

/** Redrawing may remove the focused element. The focus then stays in the inspector, so that the next key does not leave it. */
function hold(root: HTMLElement): void {
  const { activeElement } = root.getRootNode() as Document | ShadowRoot;
  if (activeElement === null || activeElement === document.body) root.focus({ preventScroll: true });
}

/** Notebook 7 intercepts keys before they arrive here, except from elements with this mark. */
export function shield(root: HTMLElement): () => void {
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

// ---- The position of a view in a notebook, and how the keyboard focus enters it and moves on. A student who runs a
// cell by Shift-Enter is in the cell below; the cell's output then does not receive its keys.
const CELL = ".jp-Cell";
const PAGE_CELL = ".cell";  // of the site
const CARD = ".mg-question-card:not([data-done])";

/**
 * Whether the cell of a view was just run by the keyboard: not when a page is opened, when all cells are run, or by the
 * mouse. A notebook next runs the cell with the focus, so a cell that took it from the mouse would run again.
 */
function isFresh(cell: Element, notebook: Element): boolean {
  const focused = document.activeElement;
  if (!notebook.matches(".jp-mod-commandMode") || !notebook.contains(focused) || !focused?.matches(":focus-visible")) return false;
  return cell.matches(".jp-mod-active") || (cell.nextElementSibling?.matches(".jp-mod-active") ?? false);
}

/** Calls back once a view is in its cell: a notebook draws an output first and inserts it afterwards. */
function whenPlaced(root: HTMLElement, then: (cell: Element, notebook: Element) => void, tries = 120): void {
  setTimeout(() => {
    const [cell, notebook] = [root.closest(CELL), root.closest(".jp-Notebook")];
    if (cell && notebook) then(cell, notebook);
    else if (tries > 0) whenPlaced(root, then, tries - 1);
  }, 25);
}

/** A lesson has a still picture under its first inspector, after these words, for pages on which nothing runs: it gives way to the live one. */
const STILL = "If nothing runs where you read this";

/** Hides the still picture of the cell below a view, as soon as it is there; returns how it is shown again. */
export function replaceStill(root: HTMLElement): () => void {
  let below: Element | null = null;
  const look = (tries: number): void => {
    const found = root.closest(CELL)?.nextElementSibling;
    if (found?.querySelector("p > em")?.textContent.startsWith(STILL)) {
      below = found;
      below.setAttribute("data-mg-live", "");
    } else if (tries > 0 && below === null) setTimeout(() => look(tries - 1), 50);
  };
  setTimeout(() => look(120));
  return () => below?.removeAttribute("data-mg-live");
}

/** Moves the focus into a view that has just appeared, if its cell was run by hand; once for each cell. */
export function arrive(root: HTMLElement, target: () => HTMLElement | null, firstOf: "cell" | "notebook"): void {
  whenPlaced(root, (cell, notebook) => {
    const all = firstOf === "cell" ? cell : notebook;
    if (all.querySelector(".mg-root") !== root || !isFresh(cell, notebook)) return;
    target()?.focus({ preventScroll: true });
    root.scrollIntoView({ block: "nearest" });
  });
}

/**
 * Moves the focus out of a view: to the next open question of its cell, or to the next cell. In a page, where a cell
 * takes no focus, to an open question of the next cell; false if there is none.
 */
export function advance(root: HTMLElement): boolean {
  const cell = root.closest(CELL) ?? root.closest(PAGE_CELL);
  const cards = [...(cell?.querySelectorAll(".mg-question-card") ?? [])];
  const next = cards.slice(cards.indexOf(root) + 1).find((card) => card.matches(CARD));
  const below = cell?.nextElementSibling;
  const start = (next ?? (cell?.matches(PAGE_CELL) ? below?.querySelector(CARD) : null))?.querySelector<HTMLElement>(".mg-choice, .mg-field");
  const target = start ?? (cell?.matches(CELL) ? below : null);
  if (!(target instanceof HTMLElement)) return false;
  target.focus({ preventScroll: true });
  if (target === start) target.closest(".mg-root")?.scrollIntoView({ block: "nearest" });
  return true;
}
