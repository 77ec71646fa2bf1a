import { readdirSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { render } from "../../src/index";
import { fragmentOf, LONGEST, stateOf, pageOf } from "../../src/page/share";
import { check, MOST_EVENTS } from "../../src/trace/file";
import { FakeModel, square } from "../fake";
import type { Trace } from "../../src/trace/types";

const fixtures = readdirSync("test/fixtures").map((name) => [name, JSON.parse(readFileSync(`test/fixtures/${name}`, "utf8")) as { trace: Trace; file: string }] as const);
type Loose = Record<string, any>;

const PLANTED: Record<string, (trace: Loose) => void> = {
  "another version": (trace) => (trace.version = 2),
  "a list that is none": (trace) => (trace.nodes = { length: 1 }),
  "an edge into nowhere": (trace) => (trace.nodes[0].next[0] = [9, 0]),
  "an edge with no output_nr": (trace) => (trace.nodes[0].next[0] = [1]),
  "a circle of nodes": (trace) => (trace.nodes[1].next = [[0, 0]]),
  "a circle of scopes": (trace) => (trace.scopes = [{ name: null, module: "A", parent: 0 }]),
  "a name that is no text": (trace) => (trace.tensors[0].name = { toString: 1 }),
  "a missing field": (trace) => delete trace.tensors[0].dtype,
  "a value with too few numbers": (trace) => (trace.values[0].shape = [1e9]),
  "statistics that are none": (trace) => (trace.values[0] = { shape: [2], dtype: "float32", stats: {} }),
  "an event with no kind": (trace) => delete trace.events[0].kind,
  "an event of another node": (trace) => (trace.events[1].node = 7),
  "a line with no file": (trace) => delete trace.events[0].file,
  "a holder that is not there": (trace) => (trace.events[0].held = [[0, 2, 9]]),
  "lines that are no texts": (trace) => (trace.files[0].lines = [1]),
  "an expression without end": (trace) => (trace.expressions = [Array.from({ length: 200 }).reduce((inner) => ["neg", inner], "grad" as unknown)]),
  "an expression that is none": (trace) => (trace.expressions = [{}]),
  "a formula that is no text": (trace) => (trace.formulas = { MulBackward0: 1 }),
  "an edge that its node has not": (trace) => (trace.events[6].index = 2),
  "a layout that is none": (trace) => (trace.layout = { nodes: 3, size: [1, 1] }),
  "a position of a node that is not there": (trace) => (trace.layout.nodes = { 2: [1, 1] }),
  "a layout of boxes without a size": (trace) => (trace.opening = { nodes: { "-1": [1, 1] } }),
  "a folded scope that is not there": (trace) => (trace.folded = [0]),
  "a process that is none": (trace) => (trace.process = { rank: 0 }),
  "a note that is none": (trace) => (trace.notes = [{ text: "a", where: "b" }]),
};

describe("the check of what comes from outside", () => {
  it.each(fixtures)("lets %s pass", (_, { trace }) => expect(() => check(trace)).not.toThrow());

  it.each(Object.entries(PLANTED))("refuses %s", (_, plant) => {
    const trace = { ...square(), storages: [4, 4] } as Loose;
    check(trace);
    plant(trace);
    expect(() => check(trace)).toThrow(/this is not a/);
  });

  it("refuses more events than can be shown, and says how many there are", () => {
    const trace = { ...square(), storages: [4, 4] } as Loose;
    trace.events = new Array(MOST_EVENTS + 1).fill(trace.events[0]);
    expect(() => check(trace)).toThrow("this trace has 500,001 events, and at most 500,000 can be shown");
  });
});

describe("a link", () => {
  it.each(fixtures)("brings %s back as it was, without positions", async (_, { trace, file }) => {
    const state = await stateOf(await fragmentOf(file, "all", 3));
    expect(state["trace"]).toEqual({ ...trace, layout: null });
    expect([state["lens"], state["step"]]).toEqual(["all", 3]);
  });

  it("refuses what is no link, before anything of it is shown", async () => {
    const good = await fragmentOf(square(), "backward", 2);
    expect(good.length).toBeLessThan(2000);
    for (const [fragment, why] of [["%3Cscript%3E", /letters/], ["A".repeat(LONGEST + 1), /longer/], [good.slice(0, 40), /./], ["AAAA", /./]] as const) {
      await expect(stateOf(fragment)).rejects.toThrow(why);
    }
    const cyclic = square();
    (cyclic.nodes[1] as { next: unknown }).next = [[0, 0]];
    await expect(stateOf(await fragmentOf(cyclic, "backward", 0))).rejects.toThrow("leads to itself");
    const zeros = { ...square(), library: "0".repeat(3_000_000) };
    const bomb = await fragmentOf(zeros, "backward", 0);
    expect(bomb.length).toBeLessThan(LONGEST);
    await expect(stateOf(bomb)).rejects.toThrow("more than");
  });

  it("takes no trait of a widget from a link but the lens and the step", async () => {
    const given = { ...square(), opening: { nodes: { "0": ["x", 1] } }, modes: "on" };
    const state = await stateOf(await fragmentOf(given, "<img>", 2));
    expect(Object.keys(state).sort()).toEqual(["answers", "ask", "calls", "lens", "selected", "step", "trace"]);
    expect([state["lens"], Object.keys(state["trace"] as object).includes("opening")]).toEqual(["backward", false]);
  });
});

describe("share", () => {
  afterEach(() => vi.unstubAllGlobals());

  async function copied(trace: Trace, name: string, clipboard = true): Promise<[string, HTMLElement]> {
    const texts: string[] = [];
    const writeText = (text: string): Promise<void> => (clipboard ? Promise.resolve(void texts.push(text)) : Promise.reject(new Error("no")));
    vi.stubGlobal("navigator", { ...navigator, clipboard: { writeText } });
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    const model = new FakeModel({ trace: JSON.stringify(trace), step: 7, player: "https://example.org/play.html", _esm: "let a = '</script>';", _css: "p{}" });
    render({ model, el: place });
    [...place.querySelectorAll<HTMLElement>(".mg-share button")].find((each) => each.textContent === name)?.click();
    await vi.waitFor(() => expect(place.querySelector(".mg-said")?.textContent).not.toBe(""));
    return [texts[0] ?? "", place];
  }

  it("copies a link that holds the recording at this step", async () => {
    const [link, place] = await copied(square(), "copy as link");
    const [address, fragment = ""] = link.split("#");
    expect(address).toBe("https://example.org/play.html");
    const state = await stateOf(fragment);
    expect([state["step"], (state["trace"] as Trace).nodes.length]).toEqual([7, 2]);
    expect(place.querySelector(".mg-said")?.textContent).toMatch(/^Copied: a link of [\d.]+ (B|KiB)/);
  });

  it("says that a recording is too large for a link", async () => {
    const trace = square();
    trace.files[0]?.lines.push(...Array.from({ length: 3000 }, (_, at) => `${Math.sin(at)}`));
    const [link, place] = await copied(trace, "copy as link");
    expect(link).toBe("");
    expect(place.querySelector(".mg-said")?.textContent).toMatch(/needs [\d.]+ KiB, and a link holds 8 KiB/);
  });

  it("copies a page that holds the program, the style and the state", async () => {
    const [page] = await copied(square("</script><b>"), "copy as page");
    expect(page).toContain("let a = '<\\/script>';");
    expect(page).toContain('<script type="module">');
    const data = /id="state">(.*?)<\/script>/s.exec(page)?.[1] ?? "";
    const state = JSON.parse(data) as Loose;
    expect([state.step, state.trace.tensors[0].name, state.lens]).toEqual([7, "</script><b>", "backward"]);
    expect(page.match(/<script/g)).toHaveLength(2);
  });

  it("lets one copy by hand where the clipboard cannot be written to", async () => {
    const [, place] = await copied(square(), "copy as link", false);
    const field = place.querySelector(".mg-shared") as HTMLTextAreaElement;
    expect([field.hidden, field.value.startsWith("https://example.org/play.html#")]).toEqual([false, true]);
  });
});

it("writes a page without a module for a classic script", () => {
  expect(pageOf({}, { script: "1", style: "", module: false })).toContain("<script>\n1\n</script>");
});
