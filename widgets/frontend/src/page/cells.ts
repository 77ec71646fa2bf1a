/**
 * The position of a view in a notebook, and how the keyboard focus enters it and moves on. A student who runs a cell by
 * Shift-Enter is in the cell below; the cell's output then does not receive its keys.
 */
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
  if (target === start && !cell?.matches(CELL)) target.closest(".mg-root")?.scrollIntoView({ block: "nearest" });
  return true;
}
