import { beforeEach, describe, expect, it } from "vitest";
import { render } from "../src/index";
import { simulate, type Schedule } from "../src/lenses/rank_lanes";
import { FakeModel } from "./fake";

// The step of tests/unit/trace/test_simulate.py: two buckets, 1 s of waiting for the first and 2 s for the second.
const STEP: Schedule = { events: [[0, 2, 0, 1000], [0, 4, 1, 3000], [1, 5, 0, 0], [2, 6, 0, 0], [1, 6, 1, 0], [2, 8, 1, 0]], last: 10 };

const seen = (lane: number, called: number) => ({ lane, called, begun: 5, ended: 6, wait: [5.5, 6] as [number, number], ready: [called - 1] });
const operation = (bucket: number, row: number, calls: number[]) => ({
  op: "all_reduce", label: `bucket ${bucket}: w${bucket}`, bucket, size: 2048, parameters: [`w${bucket}`], row, seen: calls.map((called, lane) => seen(lane, called)),
});
const lanes = {
  span: 10, rows: 2, ranks: 2,
  lanes: [0, 1].map((rank) => ({ rank, passes: [[0, 10]] as [number, number][], schedule: STEP })),
  operations: [operation(0, 0, [1.5, 4.75]), operation(1, 1, [4, 3])],
};

let root: HTMLElement;
let model: FakeModel;

beforeEach(() => {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  model = new FakeModel({ lanes, step: 0 });
  render({ model, el: place });
  root = place.querySelector(".mg-root") as HTMLElement;
});

const press = (key: string) => root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const said = () => root.querySelector(".mg-text")?.textContent;
const lit = () => [...root.querySelectorAll("[data-look]")].map((each) => `${each.getAttribute("aria-label")}: ${each.getAttribute("data-look")}`);

describe("the simulation", () => {
  it("says what Python says of the same step", () => {
    const found = simulate(STEP, 2, 0, 0.004);
    expect(found.calls.map(({ begun, ended }) => [begun, ended])).toEqual([[2, 6], [6, 18]]);
    expect([found.exposed, found.seconds]).toEqual([13, 20]);
    expect(simulate(STEP, 2, 0, 0.0003)).toMatchObject({ exposed: 0, seconds: 7 });
    expect(simulate(STEP, 1, 1, 1)).toMatchObject({ exposed: 0, seconds: 7, computing: 7 });
  });
});

describe("the lanes of ranks", () => {
  it("say who was waited for, and light the operation on all ranks", () => {
    expect(said()).toBe("bucket 0, 2 KiB: rank 1 was waited for: 3.25 ms; then it ran for 1.00 ms");
    expect(lit()).toEqual(["bucket 0, rank 0: here", "bucket 0, rank 1: lit"]);
    press("ArrowRight");
    expect(said()).toBe("bucket 1, 2 KiB: rank 0 was waited for: 1.00 ms; then it ran for 1.00 ms");
    expect(lit()).toEqual(["bucket 1, rank 0: here", "bucket 1, rank 1: lit"]);
    expect([...root.querySelectorAll(".mg-seen tbody th")].map((each) => each.textContent)).toEqual(["rank 0, the last", "rank 1"]);
  });

  it("choose a rank by the arrows, and an operation by a click", () => {
    press("ArrowDown");
    expect(lit()).toEqual(["bucket 0, rank 0: lit", "bucket 0, rank 1: here"]);
    expect(root.querySelector(".mg-waiters")?.textContent).toContain("on rank 1");
    (root.querySelector("[aria-label='bucket 1, rank 0']") as HTMLElement).click();
    expect(root.dataset["step"]).toBe("1");
    expect(lit()).toEqual(["bucket 1, rank 0: here", "bucket 1, rank 1: lit"]);
  });

  it("show what the pointer is on, for as long as it is there", () => {
    const other = root.querySelector("[aria-label='bucket 1, rank 1']") as HTMLElement;
    other.dispatchEvent(new Event("pointerenter"));
    expect(root.querySelector(".mg-waiting b")?.textContent).toBe("w1");
    other.dispatchEvent(new Event("pointerleave"));
    expect(root.querySelector(".mg-waiting b")?.textContent).toBe("w0");
  });

  it("draw what a rank did along the axis", () => {
    const [first] = root.querySelectorAll<HTMLElement>("[aria-label='bucket 0, rank 0']");
    expect([first?.style.left, first?.style.width]).toEqual(["5%", "55%"]); // the gradient is there at 0.5 ms, all is over at 6
    expect([...(first?.querySelectorAll<HTMLElement>(".mg-span") ?? [])].map((each) => [each.dataset["kind"], parseFloat(each.style.width).toFixed(1)])).toEqual([
      ["fill", "18.2"], ["pending", "63.6"], ["running", "18.2"],
    ]);
  });

  it("turn the step to other ranks", () => {
    const [ranks, alpha, beta] = ["ranks", "alpha, microseconds for each message", "beta, nanoseconds for each byte"].map((name) => root.querySelector(`[aria-label='${name}']`) as HTMLInputElement);
    const turn = (field: HTMLInputElement | undefined, value: string): void => {
      if (!field) throw new Error("no such field");
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    };
    turn(ranks, "2");
    turn(alpha, "0");
    turn(beta, "4000000");
    expect(root.querySelector(".mg-elsewhere-says")?.textContent).toBe("rank 0's step: 20000 ms, of which 7000 ms computing and 13000 ms waiting for others");
    turn(beta, "-1");
    expect(root.querySelector(".mg-elsewhere-says")?.textContent).toBe("alpha and beta are 0 or more");
  });
});
