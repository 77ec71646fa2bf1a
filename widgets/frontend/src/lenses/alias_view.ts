/** The tensors that share one memory, its version, and the saved tensors in it. The data comes from aliases.py. */
import { html, mark, write } from "../page/dom";
import type { Link } from "../page/link";
import { Stepped } from "./stepped";

interface Seen {
  tensor: number;
  name: string;
  shape: string;
  kind: string;
  counter: number;
  since: number;
  cells: number[] | null;
}

interface Save {
  node: string;
  name: string;
  tensor: number;
  counter: number;
  version: number;
  step: number;
  released: number | null;
  raised: number | null;
  wrong: number | null;
}

interface Storage {
  storage: number;
  size: number;
  tensors: Seen[];
  writes: [step: number, cells: Record<string, string>][];
  saves: Save[];
}

export interface Aliases {
  storages: Storage[];
  versions: [step: number, counter: number, version: number][];
  steps: [step: number, text: string][];
}

/** The state of a saved tensor; alias_view.py uses the same words. */
function status(save: Save, version: number, step: number): [look: string, text: string] {
  const by = (when: number | null): boolean => when !== null && when <= step;
  if (by(save.raised)) return ["bad", `✗ raised: it is at version ${version}`];
  if (by(save.released)) return ["gone", "– released"];
  if (version !== save.version) return ["bad", `✗ now at version ${version}: backward will raise`];
  if (by(save.wrong)) return ["bad", "! changed, and the version does not tell: the gradient will be wrong"];
  return ["good", "✓ unchanged"];
}

/** One storage: its elements, the tensors that view it, the saves; created once, then only updated. */
class Block {
  readonly element = html("section", { class: "mg-storage" });
  readonly #cells: HTMLElement[];
  readonly #rows: [Seen, HTMLElement, HTMLElement][] = [];
  readonly #saves: [Save, HTMLElement, HTMLElement][] = [];

  constructor(private readonly storage: Storage) {
    const { size, tensors } = storage;
    mark(this.element, "aria-label", `storage ${storage.storage}`);
    mark(this.element, "data-storage", storage.storage);
    this.element.style.setProperty("--mg-cells", String(Math.max(1, size)));
    this.#cells = Array.from({ length: size }, () => html("span", { class: "mg-cell" }));
    const name = html("h3", { class: "mg-heading" }, `storage ${storage.storage}`);
    this.element.append(html("div", { class: "mg-memory-row" }, name, html("div", { class: "mg-cells" }, ...this.#cells)));
    for (const seen of tensors) this.element.append(this.#tensor(seen));
    for (const save of storage.saves) this.element.append(this.#save(save));
  }

  /** The state at a step; a storage without a tensor yet is not shown. */
  show(step: number, version: (counter: number) => number): void {
    this.element.hidden = !this.storage.tensors.some((seen) => seen.since <= step);
    const contents = new Map<number, string>();
    const fresh = new Set<number>();
    for (const [when, cells] of this.storage.writes) {
      if (when > step) break;
      for (const [cell, text] of Object.entries(cells)) {
        contents.set(Number(cell), text);
        if (when === step) fresh.add(Number(cell));
      }
    }
    this.#cells.forEach((cell, at) => {
      write(cell, contents.get(at) ?? "?");
      mark(cell, "data-fresh", fresh.has(at) ? "true" : null);
    });
    for (const [seen, row, text] of this.#rows) {
      row.hidden = seen.since > step;
      write(text, `version ${version(seen.counter)}`);
    }
    for (const [save, row, text] of this.#saves) {
      row.hidden = save.step > step;
      const [look, says] = status(save, version(save.counter), step);
      write(text, says);
      mark(row, "data-look", look);
    }
  }

  #tensor(seen: Seen): HTMLElement {
    const version = html("span", { class: "mg-version" });
    const kind = html("span", { class: "mg-quiet" }, `${seen.shape} · ${seen.kind}`);
    const who = html("div", { class: "mg-owner" }, html("b", {}, seen.name), kind);
    const windows = (seen.cells ?? []).map((cell) => html("i", { class: "mg-window", style: `grid-column:${cell + 1}` }));
    const label = seen.cells ? `looks at elements ${seen.cells.join(" ")}` : "too large to be drawn";
    const strip = html("div", { class: "mg-cells", role: "img", "aria-label": label }, ...windows);
    const row = html("div", { class: "mg-alias", "data-tensor": seen.tensor }, who, strip, version);
    this.#rows.push([seen, row, version]);
    return row;
  }

  #save(save: Save): HTMLElement {
    const name = this.storage.tensors.find((seen) => seen.tensor === save.tensor)?.name ?? "";
    const text = html("span", { class: "mg-fate" });
    const who = html("div", { class: "mg-owner" }, html("span", {}, `${save.node} saved ${name}`));
    who.append(html("span", { class: "mg-quiet" }, `as ${save.name}, at version ${save.version}`));
    const row = html("div", { class: "mg-alias mg-save" }, who, text);
    this.#saves.push([save, row, text]);
    return row;
  }
}

export function aliasView(found: Aliases, link: Link): Stepped {
  const blocks = found.storages.map((storage) => new Block(storage));
  const none = html("p", { class: "mg-quiet" }, "No memory is shared, written to or saved.");
  none.hidden = blocks.length > 0;
  const label = { class: "mg-storages", tabindex: 0, role: "group", "aria-label": "storages" };
  const body = html("div", label, none, ...blocks.map((block) => block.element));
  const draw = (step: number): void => {
    const versions = new Map<number, number>();
    for (const [when, counter, version] of found.versions) if (when <= step) versions.set(counter, version);
    for (const block of blocks) block.show(step, (counter) => versions.get(counter) ?? 0);
  };
  const stops = found.steps.map(([step, text]) => ({ step, text })); // the counter numbers them
  return new Stepped("alias view", stops, link, body, draw);
}
