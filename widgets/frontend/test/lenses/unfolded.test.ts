import { describe, expect, it } from "vitest";
import { unfolded } from "../../src/trace/groups";
import type { Trace } from "../../src/trace/types";

/** Blocks of so many nodes in a row of blocks, which is in a model. */
function model(blocks: number, nodes: number): Trace {
  const scopes = [{ name: "net", module: "Net", parent: null }, { name: "row", module: "", parent: 0 }];
  const rest = Array.from({ length: blocks }, (_, at) => ({ name: `h.${at}`, module: "Block", parent: 1 }));
  const all = Array.from({ length: blocks * nodes }, (_, at) => ({ scope: 2 + Math.floor(at / nodes) }));
  return { scopes: [...scopes, ...rest], nodes: all } as unknown as Trace;
}

describe("a folded call that is unfolded", () => {
  it("shows what is in it folded, if that is much", () => {
    expect([...unfolded(model(12, 9), new Set([1]), 1)]).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
    expect([...unfolded(model(12, 9), new Set([0]), 0)]).toEqual([1]);
  });

  it("shows its ops, if they are few", () => {
    expect([...unfolded(model(3, 9), new Set([1]), 1)]).toEqual([]);
    expect([...unfolded(model(12, 9), new Set([4, 5]), 4)]).toEqual([5]);
  });
});
