// @vitest-environment node
/**
 * Real programs, recorded in Python: everything that both sides compute must be equal. The fixtures are written by
 * scripts/golden.py.
 */
import { readdirSync, readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe as group, expect, it } from "vitest";
import { describe } from "../src/trace/describe";
import { FORWARD, OF_A_PASS } from "../src/trace/events";
import { lensSteps, Replay, type Frame } from "../src/trace/frame";
import { bend, draw } from "../src/layout/geometry";
import { labelSpots } from "../src/layout/labels";
import { Groups } from "../src/trace/groups";
import { Holders, type Held } from "../src/trace/holders";
import { tieRegions, tieSpots } from "../src/graph/links";
import { Walk, type Traversal } from "../src/trace/traverse";
import { parseTrace } from "../src/trace/file";
import type { Trace, TraceEvent } from "../src/trace/types";

interface Fixture {
  trace: Trace;
  frames: Frame[];
  texts: string[];
  steps: Record<string, number[]>;
  wires: Record<string, [number, number][]>;
  spots: Record<string, [x: number, y: number, left: boolean]>;
  links: [from: number, to: number, x: number, y: number, left: boolean][];
  held: Held[][];
  file: string;
  walks: { calls: number[]; gives: Traversal }[];
}

const folder = new URL("fixtures/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
const read = (name: string): Fixture => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as Fixture;

/** Whether frames differ from Python's when the fold meets another kind in place of this one. */
function differs(name: string, kind: string): boolean {
  const { trace, frames } = read(name);
  const events = trace.events.map((event) => (event.kind === kind ? { ...event, kind: "another" } : event)) as TraceEvent[];
  const replay = new Replay({ ...trace, events });
  return frames.some(({ kind: _, gradient: __, ...frame }, step) => {
    replay.goTo(step);
    const { kind: ___, gradient: ____, ...found } = replay.frame();
    return !isDeepStrictEqual(found, frame);
  });
}

/** The kinds that only say something: the fold has no rule for them. */
const SILENT: readonly string[] = [
  "mode", "capture", "error", "checkpoint_begin", "checkpoint_end", "holder_filled", "early_stop",
  "collective_start", "collective_wait",
];
const KINDS = [...new Set(names.flatMap((name) => read(name).trace.events.map((event) => event.kind)))];

it("has an event of every kind", () => expect(KINDS).toEqual(expect.arrayContaining([...FORWARD, ...OF_A_PASS])));

it.each(KINDS)("notices a fold without a rule for %s", (kind) => {
  expect(names.some((name) => differs(name, kind))).toBe(!SILENT.includes(kind));
});

it("has programs to compare", () => expect(names.length).toBeGreaterThanOrEqual(8));

group.each(names)("%s", (name) => {
  const fixture = read(name);
  const trace = parseTrace(JSON.stringify(fixture.trace));

  it("gives Python's frame at every step, forwards and backwards", () => {
    const replay = new Replay(trace);
    fixture.frames.forEach((frame, step) => {
      replay.goTo(step);
      expect(replay.frame()).toEqual(frame);
    });
    for (let step = fixture.frames.length - 1; step >= 0; step--) {
      replay.goTo(step);
      expect(replay.frame()).toEqual(fixture.frames[step]);
    }
  });

  it("gives Python's frame after jumps", () => {
    const replay = new Replay(trace);
    const count = fixture.frames.length;
    for (let jump = 0; jump < 60; jump++) {
      const step = (jump * 7919 + (jump % 3) * 31) % count;
      replay.goTo(step);
      expect(replay.frame()).toEqual(fixture.frames[step]);
    }
  });

  it("says what Python says", () => {
    expect(trace.events.map((event) => describe(trace, event))).toEqual(fixture.texts);
    for (const [lens, steps] of Object.entries(fixture.steps)) expect(lensSteps(trace, lens)).toEqual(steps);
  });

  it("reads the file that Python writes", () => expect(parseTrace(fixture.file)).toEqual(trace));

  it("knows who holds what, forwards and backwards", () => {
    const holders = new Holders(trace);
    const steps = fixture.held.map((_, step) => step);
    for (const step of [...steps, ...steps.reverse()]) {
      holders.goTo(step);
      expect(holders.held()).toEqual(fixture.held[step]);
    }
  });

  it("walks as Python walks", () => {
    for (const { calls, gives } of fixture.walks) {
      const { pending, grads, early, python, calls: made } = new Walk(trace).play(calls);
      expect({ calls: made, pending, grads, early, python }).toEqual(gives);
    }
  });

  it("draws edges where Python draws them", () => {
    const wires = draw(new Groups(trace), trace.layout).wires.map((wire) => [wire.key, wire.points.map(([x, y]) => [x, y])]);
    expect(Object.fromEntries(wires)).toEqual(fixture.wires);
    expect(bend([5, 50])).toEqual([[5, 27], [5, 73]]);
  });

  it("puts gradients where Python puts them", () => {
    const drawing = draw(new Groups(trace), trace.layout);
    const beside = tieSpots(trace.links ?? [], drawing);
    const spots = [...labelSpots(drawing, () => 100, tieRegions(beside))];
    expect([...beside].map(([{ from, to }, { x, y, left }]) => [from, to, x, y, left])).toEqual(fixture.links);
    expect(Object.fromEntries(spots.map(([wire, { x, y, left }]) => [wire.key, [x, y, left]]))).toEqual(fixture.spots);
  });
});
