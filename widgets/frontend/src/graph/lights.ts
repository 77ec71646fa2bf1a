/** Marks on what is drawn: each name of a mark has the elements that bear it now. */
import { mark } from "../page/dom";

export class Lights {
  private readonly lit = new Map<string, readonly Element[]>();

  /** Gives the mark to these elements, and takes it from those that had it. */
  show(name: string, elements: readonly Element[]): void {
    for (const element of this.lit.get(name) ?? []) mark(element, name, null);
    for (const element of elements) mark(element, name, "true");
    this.lit.set(name, elements);
  }
}
