/** Attributes of nodes and edges besides their state: what a number reaches, what differs from another graph. */
import { mark, svg } from "../page/dom";
import type { Drawing } from "../layout/geometry";
import type { BoxId, Groups } from "../trace/groups";

export interface Annotation {
  nodes: ReadonlyMap<number, string>;
  edges?: ReadonlyMap<string, string>;
  /** By value, the sign at a node, so that colour is not the only mark. */
  signs?: Readonly<Record<string, string>>;
}

export class Annotations {
  /** By the name of the attribute. */
  private readonly all = new Map<string, Annotation>();

  set(name: string, annotation: Annotation): void {
    this.all.set(name, annotation);
  }

  /** A box has the attribute of the first of its nodes that has one. */
  draw(
    groups: Groups,
    drawing: Drawing,
    boxes: ReadonlyMap<BoxId, { group: SVGGElement }>,
    edges: ReadonlyMap<string, { keys: readonly string[]; line: SVGElement }>,
  ): void {
    for (const [name, annotation] of this.all) {
      for (const [box, { group }] of boxes) {
        const first = (groups.members.get(box) ?? [box]).find((id) => annotation.nodes.has(id));
        const value = first === undefined ? null : (annotation.nodes.get(first) ?? null);
        mark(group, name, value);
        group.querySelector(`.mg-sign[data-of="${name}"]`)?.remove();
        const sign = value === null ? undefined : annotation.signs?.[value];
        const left = -(drawing.boxes.get(box)?.width ?? 0) / 2;
        if (sign) group.append(svg("text", { class: "mg-sign", "data-of": name, x: left - 8, y: 6, "text-anchor": "end" }, sign));
      }
      for (const { line, keys } of edges.values()) mark(line, name, keys.flatMap((key) => annotation.edges?.get(key) ?? [])[0] ?? null);
    }
  }
}
