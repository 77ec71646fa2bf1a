/** Positions made in the browser: down the page, clear of one another, at once, with few crossings. */
import { describe, expect, it } from "vitest";
import { arrange } from "../src/layout/arrange";
import { HEIGHT, widthOf } from "../src/layout/geometry";
import { Groups } from "../src/trace/groups";
import type { Layout, Trace } from "../src/trace/types";

class Program {
  readonly next: number[][] = [];

  add(...inputs: number[]): number {
    return this.next.push(inputs) - 1;
  }

  linear(x: number): number {
    return this.add(this.add(x, this.add(this.add())), this.add());
  }

  get groups(): Groups {
    const nodes = this.next.map((inputs) => ({ name: "AddBackward0", sequence_nr: 0, next: inputs.map((to) => [to, 0]), inputs: [], outputs: [], saved: [] }));
    return new Groups({ nodes, tensors: [] } as unknown as Trace);
  }
}

function fan(width: number): Program {
  const program = new Program();
  const x = program.add();
  let level = Array.from({ length: width }, () => program.add(x));
  while (level.length > 1) level = level.flatMap((id, at) => (at % 2 ? [program.add(level[at - 1] as number, id)] : at === level.length - 1 ? [id] : []));
  return program;
}

function transformer(size: number): Program {
  const program = new Program();
  const norm = (x: number): number => program.add(x, program.add(), program.add());
  let x = program.add();
  while (program.next.length < size - 30) {
    const h = norm(x);
    const [q, k, v] = [program.linear(h), program.linear(h), program.linear(h)] as const;
    x = program.add(x, program.linear(program.add(program.add(program.add(program.add(q, program.add(k)))), v)));
    x = program.add(x, program.linear(program.add(program.linear(norm(x)))));
  }
  return program;
}

/** Every step uses the same weight and bias. */
function loop(steps: number): Program {
  const program = new Program();
  const [weight, bias] = [program.add(), program.add()];
  let h = program.add();
  for (let step = 0; step < steps; step++) h = program.add(program.add(program.add(h, weight), bias));
  return program;
}

function chain(size: number): Program {
  const program = new Program();
  for (let at = program.add(); at < size - 1; ) at = program.add(at);
  return program;
}

function crossings(program: Program, { nodes }: Layout): number {
  const pairs = program.next.flatMap((inputs, from) => inputs.map((to) => [from, to] as const));
  type Spot = [number, number];
  const side = (a: Spot, b: Spot, c: Spot): number => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  let found = 0;
  pairs.forEach(([a, b], at) => {
    for (const [c, d] of pairs.slice(at + 1)) {
      if (a === c || a === d || b === c || b === d) continue;
      const [p, q, r, s] = [a, b, c, d].map((id) => nodes[id]) as [Spot, Spot, Spot, Spot];
      if (side(p, q, r) * side(p, q, s) < 0 && side(r, s, p) * side(r, s, q) < 0) found += 1;
    }
  });
  return found;
}

/** Boxes that stand on one another or outside of the drawing. */
function touching(groups: Groups, { nodes, size }: Layout): number[] {
  const spots = Object.entries(nodes).map(([id, [x, y]]) => ({ id: Number(id), x, y, half: widthOf(groups, Number(id)) / 2 }));
  spots.sort((a, b) => a.y - b.y || a.x - b.x);
  return spots.flatMap((spot, at) => {
    const inside = spot.x >= spot.half && spot.x <= size[0] - spot.half && spot.y > 0 && spot.y < size[1];
    const next = spots[at + 1];
    const apart = !next || (next.y === spot.y ? next.x - spot.x >= next.half + spot.half : next.y - spot.y > HEIGHT);
    return inside && apart ? [] : [spot.id];
  });
}

/** How often `turn` could have run instead of this, in the processor's time, so that no limit depends on how fast a
 * machine is: the least of up to five tries. */
function turns(act: () => void, limit: number): number {
  let best = Infinity;
  for (let attempt = 0; attempt < 5 && best >= limit; attempt++) {
    const taken = [act, turn].map((each) => {
      const start = process.cpuUsage();
      each();
      const { user, system } = process.cpuUsage(start);
      return user + system;
    }) as [number, number];
    best = Math.min(best, taken[0] / taken[1]);
  }
  return best;
}

/** A tenth of a second's work, on the machine on which the limits were chosen. */
function turn(): void {
  let x = 1;
  for (let at = 0; at < 6_000_000; at++) x = (x * 16807) % 2147483647;
  expect(x).toBeGreaterThan(0);
}

describe("positions made in the browser", () => {
  it.each([
    ["a fan-out", fan(250), 4],
    ["a transformer", transformer(500), 90],
    ["a small transformer", transformer(110), 15],
    ["a loop", loop(165), Infinity],
    ["a chain", chain(500), 0],
  ] as const)("%s", { timeout: 30_000 }, (_, program, most) => {
    const groups = program.groups;
    let layout: Layout = { nodes: {}, size: [0, 0] };
    expect(turns(() => (layout = arrange(groups)), 3)).toBeLessThan(3);
    expect(crossings(program, layout)).toBeLessThanOrEqual(most);
    const spot = (id: number): [x: number, y: number] => layout.nodes[id] as [number, number];
    const upward = program.next.flatMap((inputs, from) => inputs.filter((to) => spot(to)[1] <= spot(from)[1]));
    expect(upward).toEqual([]);
    expect(touching(groups, layout)).toEqual([]);
  });
});
