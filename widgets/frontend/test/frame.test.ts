import { describe, expect, it } from "vitest";
import { lensSteps, Replay } from "../src/trace/frame";
import type { TraceEvent } from "../src/trace/types";
import { square } from "./fake";

describe("the fold", () => {
  it("counts, queues and sums as the engine did", () => {
    const replay = new Replay(square());
    replay.goTo(2);
    expect(replay.frame()).toMatchObject({ status: { 0: "waiting", 1: "waiting" }, needs: { 0: 0, 1: 2 }, pending: { 0: [2] } });
    replay.goTo(3);
    expect(replay.ready).toEqual([0]);
    replay.goTo(7);
    expect(replay.frame()).toMatchObject({ needs: { 1: 0 }, pending: { 1: [3] }, edges: { "0:0": 0, "0:1": 0 }, gradient: 0, lit: 0 });
    expect(replay.frame().saved).toEqual({ 0: "released" });
    replay.goTo(10);
    expect(replay.frame()).toMatchObject({ grads: { 0: 3 }, status: { 0: "done", 1: "running" }, pending: {}, gradient: 3 });
    replay.goTo(11);
    expect(replay.frame()).toMatchObject({ status: { 0: "done", 1: "done" }, ready: [], kind: "backward_end", bytes: [0, 8, 0, 0] });
  });

  it("comes back to the same frames from any side", () => {
    const trace = square();
    const frames = trace.events.map((_, step) => {
      const fresh = new Replay(trace);
      fresh.goTo(step);
      return fresh.frame();
    });
    const replay = new Replay(trace);
    for (const step of [11, 0, 5, 4, 3, 2, 1, 8, 7, 10, 2, 11, 9]) {
      replay.goTo(step);
      expect(replay.frame()).toEqual(frames[step]);
    }
  });

  it("tells only what changed", () => {
    const replay = new Replay(square());
    replay.goTo(6);
    replay.take();
    replay.goTo(7);
    expect(replay.take()).toEqual({ nodes: new Set([1]), edges: new Set(["0:1"]) });
    replay.goTo(6);
    expect(replay.take()).toEqual({ nodes: new Set([1]), edges: new Set(["0:1"]) });
    expect(replay.take()).toEqual({ nodes: new Set(), edges: new Set() });
  });

  it("stays inside the trace and passes over kinds that it does not know", () => {
    const trace = square();
    trace.events.splice(5, 0, { kind: "early_stop" } as unknown as TraceEvent);
    const replay = new Replay(trace);
    replay.goTo(99);
    expect(replay.step).toBe(12);
    expect(replay.frame().grads).toEqual({ 0: 3 });
    replay.goTo(-7);
    expect(replay.step).toBe(-1);
    expect(replay.frame().status).toEqual({});
  });

  it("gives the outer pass its state back when a nested one is over, or ended in an error", () => {
    for (const closing of [[{ kind: "backward_end", depth: 1 }], []] as TraceEvent[][]) {
      const trace = square();
      const start = { ...(trace.events[2] as TraceEvent), roots: [[1, 0, 2]], needs: [[1, 0]], depth: 1 } as TraceEvent;
      trace.events.splice(7, 0, start, { kind: "ready", node: 1, depth: 1 }, { kind: "run", node: 1, gradient: [2], depth: 1 }, ...closing);
      const replay = new Replay(trace);
      replay.goTo(9);
      expect(replay.frame()).toMatchObject({ status: { 1: "running", 0: "recorded" }, needs: {} });
      replay.goTo(10 + closing.length);
      expect(replay.frame()).toMatchObject({ status: { 0: "running", 1: "waiting" }, needs: { 1: 0 }, pending: { 1: [3] } });
    }
  });
});

describe("the ready queue", () => {
  it("takes accumulators first, then the newest node", () => {
    const trace = square();
    const node = trace.nodes[0]!;
    trace.nodes.push({ ...node, sequence_nr: 5 }, { ...node, sequence_nr: 4 }, { ...trace.nodes[1]! });
    trace.events = [2, 3, 0, 4, 1].map((id) => ({ kind: "ready", node: id }) as TraceEvent);
    const replay = new Replay(trace);
    replay.goTo(4);
    expect(replay.ready).toEqual([4, 1, 2, 3, 0]);
  });
});

it("lets the backward lens begin at the first pass", () => {
  expect(lensSteps(square(), "backward")).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(lensSteps(square(), "all")).toHaveLength(12);
});
