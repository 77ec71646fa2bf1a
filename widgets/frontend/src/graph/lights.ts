/** Marks on the drawing: for each name of a mark, the elements that have it now. */
import { mark } from "../page/dom";

export class Lights {
  private readonly lit = new Map<string, readonly Element[]>();

  /** Sets the mark on these elements, and removes it from the previous ones. */
  show(name: string, elements: readonly Element[]): void {
    for (const element of this.lit.get(name) ?? []) mark(element, name, null);
    for (const element of elements) mark(element, name, "true");
    this.lit.set(name, elements);
  }
}
