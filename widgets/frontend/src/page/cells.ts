/**
 * Where a view is in a notebook, and how the keyboard gets into it and on to what comes next. A student who runs a cell
 * by Shift-Enter stands in the cell below; what the cell shows is then out of reach of the keys that it wants.
 */
const CELL = ".jp-Cell";
const PAGE_CELL = ".cell";  // of the site
const CARD = ".mg-question-card:not([data-done])";

/**
 * Whether the cell of a view was run just now, by the keyboard: not so when a page is opened, when all cells are run, or
 * by the mouse. Where the focus is, there a notebook runs next, so a cell that took it from the mouse would run again.
 */
function isFresh(cell: Element, notebook: Element): boolean {
  const focused = document.activeElement;
  if (!notebook.matches(".jp-mod-commandMode") || !notebook.contains(focused) || !focused?.matches(":focus-visible")) return false;
  return cell.matches(".jp-mod-active") || (cell.nextElementSibling?.matches(".jp-mod-active") ?? false);
}

/** Calls back once a view stands in its cell: a notebook draws first and puts what it drew in place afterwards. */
function whenPlaced(root: HTMLElement, then: (cell: Element, notebook: Element) => void, tries = 120): void {
  setTimeout(() => {
    const [cell, notebook] = [root.closest(CELL), root.closest(".jp-Notebook")];
    if (cell && notebook) then(cell, notebook);
    else if (tries > 0) whenPlaced(root, then, tries - 1);
  }, 25);
}

/** Leads the keyboard into a view that has just come onto the page, if its cell was run by hand; once for each cell. */
export function arrive(root: HTMLElement, target: () => HTMLElement | null, firstOf: "cell" | "notebook"): void {
  whenPlaced(root, (cell, notebook) => {
    const all = firstOf === "cell" ? cell : notebook;
    if (all.querySelector(".mg-root") !== root || !isFresh(cell, notebook)) return;
    target()?.focus({ preventScroll: true });
    root.scrollIntoView({ block: "nearest" });
  });
}

/**
 * Leads the keyboard out of a view: to the next open question of its cell, or to the next cell. In a page, where a cell
 * takes no keyboard, to an open question of the next cell; false where there is none.
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
