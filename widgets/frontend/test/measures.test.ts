import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { render } from "../src/index";
import { parseTrace } from "../src/trace/file";
import { bytes, rootMeanSquare, sizeClass, sizeOf } from "../src/trace/format";
import { inLines, inWords, measureText, middle, Rows, shortened, sizeIn, type Row } from "../src/trace/rows";
import { FakeModel } from "./fake";
import type { Scalar, Trace, TraceEvent } from "../src/trace/types";

const value = (...data: Scalar[]) => ({ shape: [data.length], dtype: "float32", data });
const ROW: Row = { output: [2, 16, 32], parameters: 152_448, forward: 2.721, backward: 4.5, saved: 1_775_904, flops: 10_839_552, gradient: 0.6697 };

/** The trace of a small network, with rows in which the first nodes saved most. */
function network(change: (trace: Trace) => void = () => undefined): Trace {
  const { trace } = JSON.parse(readFileSync("test/fixtures/network.json", "utf8")) as { trace: Trace };
  trace.rows = {
    scopes: (trace.scopes ?? []).map(() => [[16, 8], 100, null, null, 640, 64, 0.5]),
    nodes: trace.nodes.map((_, id) => [100 - id, 8 * id, id === 0 ? "not kept" : 10 ** -id]),
  };
  change(trace);
  return trace;
}

function shown(trace: Trace): { root: HTMLElement; table: HTMLDetailsElement; open: () => void; cells: (nr: number) => string[]; names: () => string[] } {
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: 5 }), el: place });
  const root = place.querySelector(".mg-root") as HTMLElement;
  const table = root.querySelector(".mg-summary") as HTMLDetailsElement;
  const open = (): void => {
    table.open = true;
    table.dispatchEvent(new Event("toggle"));
  };
  const rows = (): Element[] => [...table.querySelectorAll("tbody tr[data-box]")];
  return { root, table, open, cells: (nr) => rows().map((row) => row.children[nr]?.textContent ?? ""), names: () => rows().map((row) => row.querySelector(".mg-link")?.textContent ?? "") };
}

it("sorts gradients by the root mean square of their entries", () => {
  const sizes = [0, 1e-9, 1e-4, 1, 50, 1e5].map((entry) => sizeOf(value(entry, -entry)));
  expect(sizes).toEqual(["zero", "tiny", "small", "usual", "large", "huge"]);
  expect([sizeOf(value(1, "nan")), sizeOf(value("-inf")), sizeOf(undefined), sizeOf(value())]).toEqual(["broken", "broken", "", ""]);
  expect([sizeClass("nan"), sizeClass("not kept"), sizeClass(null), sizeClass(2e3)]).toEqual(["broken", "", "", "huge"]);
  expect(rootMeanSquare(value(3, 4))).toBeCloseTo(Math.sqrt(12.5));
});

it("writes what a box did with units, in as many letters as there are, the chosen measure first", () => {
  expect(measureText(ROW, "forward")).toBe("2.72 s");
  expect(measureText({ ...ROW, forward: 2e-6, saved: 2048, flops: 3072, gradient: 2 }, "forward")).toBe("2 µs");
  expect([measureText({ ...ROW, saved: 2048 }, "saved"), measureText({ ...ROW, flops: 3072 }, "flops"), measureText({ ...ROW, gradient: "nan" }, "gradient")]).toEqual(["2 KiB", "3.07 kFLOP", "nan"]);
  expect(measureText({ ...ROW, parameters: 0 }, "parameters")).toBe("");
  expect(inLines(ROW, [32, 32], null)).toEqual(["7.2 s · ‖∇‖ 0.67", "[2, 16, 32] · 152k params"]);
  expect(inLines(ROW, [32, 32], "saved")).toEqual(["saved 1.7 MiB · 7.2 s", "‖∇‖ 0.67 · [2, 16, 32]"]);
  expect(inLines(ROW, [25], "backward")[0]).toBe("4.5 s backward · 7.2 s");
  expect(inLines({ ...ROW, parameters: 1 }, [42], null)).toEqual(["7.2 s · ‖∇‖ 0.67 · [2, 16, 32] · 1 param"]);
  expect(inLines(ROW, [0], null)).toEqual([""]);
  expect(inWords({ ...ROW, forward: null, backward: null })).toBe("output [2, 16, 32], saved bytes 1.69 MiB, FLOPs (estimate) 10.8 MFLOP, parameters 152k, norm of the gradient of the output 0.67");
  expect(middle("transformer.h.0.attn.c_proj.weight", 20)).toBe("transform…roj.weight");
  expect(shortened("transformer.h.10.attn.c_proj.weight", 40)).toBe("transformer.h.10.attn.c_proj.weight");
  expect(shortened("transformer.h.10.attn.c_proj.weight", 26)).toBe("t.h.10.attn.c_proj.weight");
  expect(shortened("transformer.h.10.attn.c_proj.weight", 18)).toBe("t.h.10.a.c.weight");
});

it("says the same of all boxes in the same order, as far as there is room: time, then the gradient, also of a narrow box", () => {
  expect([13, 15, 30, 60].map((room) => inLines(ROW, [room], null)[0])).toEqual(["7.2 s", "7.2 s · ‖∇‖ 0.67", "7.2 s · ‖∇‖ 0.67 · [2, 16, 32]", "7.2 s · ‖∇‖ 0.67 · [2, 16, 32] · 152k params · saved 1.7 MiB"]);
  expect(inLines(ROW, [54], null)[0]).toMatch(/152k params · ■ 1\.7 MiB$/);
  expect(inLines({ ...ROW, output: Array<number>(9).fill(64) }, [60, 24], null)).toEqual(["7.2 s · ‖∇‖ 0.67", ""]);
  expect(inLines(ROW, [14, 14], null)).toEqual(["7.2 s", "‖∇‖ 0.67"]);
});

it("says in a box of one line what the colour does not: the gradient beside times, the time beside gradients", () => {
  const small = { ...ROW, gradient: 0.0669 };
  expect([6, 8, 9, 16].map((room) => inLines(small, [room], "time")[0])).toEqual(["", "‖∇‖ 0.07", "‖∇‖ 0.067", "‖∇‖ 0.067 · 7.2 s"]);
  expect(inLines(small, [14], "gradient")).toEqual(["7.2 s"]);
  expect(inLines({ ...small, gradient: "nan" }, [8], "time")).toEqual(["‖∇‖ nan"]);
  for (const gradient of [null, "not kept"]) expect(inLines({ ...small, gradient }, [8], "time")).toEqual(["7.2 s"]);
  expect(inLines(small, [28], "saved")).toEqual(["saved 1.7 MiB · 7.2 s"]);
  expect([inLines(small, [22], "flops"), inLines(small, [22, 8], "flops")]).toEqual([["‖∇‖ 0.067 · 11 MFLOP"], ["11 MFLOP · ‖∇‖ 0.067", "7.2 s"]]);
  expect(inLines(small, [14, 14], "time")[0]).toBe("7.2 s");
  expect(inLines({ ...ROW, gradient: 0.00669 }, [16, 16], "time")).toEqual(["7.2 s", "‖∇‖ 0.0067"]);
  expect(inLines({ ...ROW, gradient: 0.00669 }, [16, 3], "time")).toEqual(["7.2 s · ‖∇‖ 0.007", ""]);
});

it.each([[0, "0 B"], [512, "512 B"], [1023, "1023 B"], [1024, "1 KiB"], [1152, "1.12 KiB"], [1536, "1.5 KiB"], [102_912, "100 KiB"], [1_023_000, "999 KiB"], [1_048_000, "1023 KiB"], [2 ** 20, "1 MiB"], [3 * 2 ** 40, "3 TiB"]])("writes %d bytes as Python does", (count, text) => {
  expect(bytes(count)).toBe(text);
});

it("knows times only where they were recorded, and nothing of a trace without rows", () => {
  expect(new Rows(network()).known).toEqual(["saved", "flops", "parameters", "gradient"]);
  const timed = network((trace) => trace.nodes.forEach((node) => (node.seconds = [1e-4, 2e-6])));
  expect(new Rows(timed).known).toEqual(["time", "forward", "backward", "saved", "flops", "parameters", "gradient"]);
  expect(sizeIn(new Rows(timed).of(1), "forward")).toBe(1e-4);
  const older = network((trace) => delete trace.rows);
  expect(new Rows(older).known).toEqual([]);
  const { root, table } = shown(older);
  expect((root.querySelector(".mg-colour") as HTMLElement).hidden).toBe(true);
  expect([...table.querySelectorAll("th")].map((head) => head.textContent)).toEqual(["module or op", "state", "output", "pending", "leads to"]);
});

it("refuses rows that are none", () => {
  for (const rows of [[], { scopes: [] }, { scopes: [], nodes: [[1, 2]] }, { scopes: [["x", 0, null, null, 0, 0, null]], nodes: [] }, { scopes: [], nodes: [[-1, 0, null]] }]) {
    const trace = network((each) => (each.rows = rows as unknown as NonNullable<Trace["rows"]>));
    expect(() => parseTrace(JSON.stringify(trace))).toThrow("its rows are none");
  }
  expect(() => parseTrace(JSON.stringify(network()))).not.toThrow();
});

it("colours the boxes by one choice, and the edges too by gradients", () => {
  const { root } = shown(network());
  const graph = root.querySelector(".mg-graph") as HTMLElement;
  const choice = root.querySelector(".mg-colour select") as HTMLSelectElement;
  const choose = (name: string): void => {
    choice.value = name;
    choice.dispatchEvent(new Event("change"));
  };
  expect(choice.value).toBe("");
  expect((root.querySelector(".mg-scales") as HTMLElement).hidden).toBe(true);
  choose("saved");
  const shares = [...root.querySelectorAll<SVGElement>("[data-node]")].map((node) => [Number(node.getAttribute("data-node")), Number(node.style.getPropertyValue("--mg-share"))]);
  expect(Object.fromEntries(shares)).toMatchObject({ 0: 1, 1: 0.99 });
  expect(root.querySelector(".mg-scales")?.textContent).toBe("saved bytes (what two boxes share counts in both)0  100 B");
  expect([...choice.options].map(({ text }) => text)).not.toContain("time, both passes");
  choose("gradient");
  expect([graph.classList.contains("mg-heat"), graph.classList.contains("mg-costs")]).toEqual([true, false]);
  expect(root.querySelector('[data-node="4"]')?.getAttribute("data-size")).toBe("small");
  expect(root.querySelector('[data-node="0"]')?.hasAttribute("data-size")).toBe(false);
  choose("");
  expect([...graph.classList].filter((name) => ["mg-heat", "mg-costs", "mg-coloured"].includes(name))).toEqual([]);
  expect(root.querySelectorAll("[data-size]").length).toBe(0);
});

it("colours by the time of both passes, which the legend and the boxes give as one sum", () => {
  const { root } = shown(network((trace) => trace.nodes.forEach((node, id) => (node.seconds = id === 0 ? [2e-3, 1e-3] : [1e-3, null]))));
  const choice = root.querySelector(".mg-colour select") as HTMLSelectElement;
  for (const [name, told] of [["time", "time, both passes, each shade 2×0  3 ms"], ["forward", "time of the ops, each shade 2×0  2 ms"]] as const) {
    choice.value = name;
    choice.dispatchEvent(new Event("change"));
    expect(root.querySelector(".mg-scales")?.textContent).toBe(told);
  }
});

it("shades times in steps of a factor of 2, since one run cannot tell more shades apart", () => {
  const times = [8, 4.1, 3.9, 1.1, 0];
  const { root } = shown(network((trace) => trace.nodes.forEach((node, id) => (node.seconds = [1e-3 * (times[id] ?? 0), null]))));
  const choice = root.querySelector(".mg-colour select") as HTMLSelectElement;
  const shades = (name: string): string[] => {
    choice.value = name;
    choice.dispatchEvent(new Event("change"));
    return times.map((_, id) => root.querySelector<SVGElement>(`[data-node="${id}"]`)?.style.getPropertyValue("--mg-share") ?? "");
  };
  expect(shades("time")).toEqual(["1.000", "1.000", "0.500", "0.250", "0.000"]);
  expect(root.querySelector(".mg-scale")?.getAttribute("data-steps")).toBe("true");
  expect(shades("saved")).toEqual(["1.000", "0.990", "0.980", "0.970", "0.960"]);
  expect(root.querySelector(".mg-scale")?.getAttribute("data-steps")).toBe("false");
});

it("lists all modules and ops, sorted and filtered, and goes with the selection", () => {
  const trace = network();
  const { root, table, open, cells, names } = shown(trace);
  open();
  expect(root.querySelector(".mg-docked")).not.toBeNull();
  expect(names().length).toBe(trace.nodes.length + new Set(trace.nodes.flatMap((node) => node.scope ?? [])).size);
  const heads = [...table.querySelectorAll<HTMLElement>("thead .mg-sort")];
  expect(heads.map((head) => head.textContent)).toEqual(["module or op", "saved", "FLOPs", "parameters", "‖∇‖"]);
  const field = table.querySelector(".mg-filter") as HTMLInputElement;
  field.value = "backward";
  field.dispatchEvent(new Event("input"));
  expect(names().every((name) => name.includes("Backward"))).toBe(true);
  heads[2]?.click();
  const flops = (): number[] => cells(4).map((text) => Number.parseFloat(text || "0"));
  expect(flops()).toEqual([...flops()].sort((a, b) => b - a));
  expect(heads[2]?.parentElement?.getAttribute("aria-sort")).toBe("descending");
  heads[2]?.click();
  expect(flops()).toEqual([...flops()].sort((a, b) => a - b));
  heads[2]?.click();
  expect(heads[2]?.parentElement?.hasAttribute("aria-sort")).toBe(false);
  const last = [...table.querySelectorAll<HTMLElement>("tbody .mg-link")].at(-1);
  last?.click();
  expect(root.querySelector(".mg-selected")?.getAttribute("data-node")).toBe(last?.getAttribute("data-of"));
  expect(table.querySelector(".mg-chosen .mg-link")?.getAttribute("data-of")).toBe(last?.getAttribute("data-of"));
  field.value = "";
  field.dispatchEvent(new Event("input"));
  root.querySelector('[data-node="2"]')?.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  expect(table.querySelector(".mg-chosen .mg-link")?.getAttribute("data-of")).toBe("2");
  expect(cells(8)).toContain("not kept");
});

it("follows the step and the selection, and stays where it was scrolled to otherwise", () => {
  const trace = network((each) => {
    const node = each.nodes[0] as Trace["nodes"][number];
    while (each.nodes.length < 500) each.nodes.push({ ...node, next: [], inputs: [], outputs: [] });
    delete each.rows;
  });
  const { root, table, open, cells } = shown(trace);
  open();
  const body = table.querySelector(".mg-nodelist-body") as HTMLElement;
  const lit = (): string | null | undefined => table.querySelector("[aria-current=step]")?.getAttribute("data-box");
  root.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
  root.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
  expect(lit()).toBe(root.dataset["lit"]);
  expect(cells(1).some((state) => state.startsWith("done"))).toBe(true);
  expect(cells(4).some((next) => next.includes("←"))).toBe(true);
  body.scrollTop = 4_000;
  body.dispatchEvent(new Event("scroll"));
  root.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
  expect(body.scrollTop).toBe(4_000);
  expect(table.querySelector('[data-box="170"]')).not.toBeNull();
});

it("folds and unfolds what is in a module, here and in the drawing", () => {
  const trace = network((each) => {
    each.scopes = [{ name: "net", module: "Net", parent: null }];
    each.rows = { scopes: [[[16, 8], 100, null, null, 640, 64, 0.5]], nodes: each.rows?.nodes ?? [] };
    for (const node of each.nodes) node.scope = 0;
  });
  const { root, table, open, names } = shown(trace);
  open();
  expect(names().length).toBe(trace.nodes.length + 1);
  table.querySelector<HTMLElement>(".mg-unfold[aria-expanded='true']")?.click();
  expect(names()).toEqual(["net"]);
  expect(root.querySelector('[data-scope="0"]')).not.toBeNull();
});

it("calls a transform no model", () => {
  for (const [name, module] of [["net", "Net"], ["vmap ×4", "vmap"]] as const) {
    const trace = network((each) => {
      each.scopes = [{ name, module, parent: null }];
      for (const node of each.nodes) node.scope = 0;
      each.rows = { nodes: each.rows?.nodes ?? [], scopes: [[[4], 100, 4, 0, 640, 64, 1]] };
    });
    const place = document.createElement("div");
    document.body.replaceChildren(place);
    render({ model: new FakeModel({ trace: JSON.stringify(trace), step: trace.events.findIndex(({ kind }) => kind === "backward_start") }), el: place });
    expect(place.querySelector(".mg-overview") === null).toBe(module === "vmap");
  }
});

it("says at a glance what the model is, which part costs most, and where gradients shrink", () => {
  const trace = network((each) => {
    each.scopes = [{ name: "net", module: "Net", parent: null }, { name: "first", module: "Linear", parent: 0 }, { name: "second", module: "Linear", parent: 0 }];
    each.nodes.forEach((node, id) => Object.assign(node, { scope: id % 2 === 0 ? 1 : 2, seconds: id % 2 === 0 ? [3, 0] : [1, 0] }));
    each.rows = { nodes: each.rows?.nodes ?? [], scopes: [[[4], 100, 4, 0, 640, 64, 1], [[4], 25, 3, 0, 1536, 16, 2], [[4], 75, 1, 0, 640, 48, 1e-6]] };
  });
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: trace.events.findIndex(({ kind }) => kind === "backward_start") }), el: place });
  const told = [...place.querySelectorAll(".mg-overview dd")].map((line) => line.textContent);
  const total = trace.nodes.reduce((sum, { seconds }) => sum + (seconds?.[0] ?? 0), 0);
  expect(told).toEqual([
    `Net, 100 parameters, ${trace.nodes.length} nodes`,
    "‖∇‖, the norm at a box’s output, shrinks 2,000,000× from the output (first: 2) to the input (second: 1e-6)",
    `first: 3 s in this run (${Math.round(300 / total)}\u00a0%, over 2× any other); by FLOPs second (75\u00a0%)`,
    "first Linear: 1.5 KiB",
    "second Linear: 75 parameters (75\u00a0%)",
  ]);
  (place.querySelector(".mg-overview .mg-link") as HTMLElement).click();
  expect(place.querySelector(".mg-selected")?.getAttribute("data-node")).not.toBeNull();
  expect(place.querySelector(".mg-overview")).toBeNull();
});

/** What the card says of a network of three modules, after a change, by what each line is about. */
function card(change: (trace: Trace) => void): Record<string, string> {
  const trace = network((each) => {
    each.scopes = [{ name: "net", module: "Net", parent: null }, ...["a", "b", "c"].map((name) => ({ name, module: "Linear", parent: 0 }))];
    each.nodes.forEach((node, id) => Object.assign(node, { name: `Op${id}Backward0`, scope: 1 + (id % 3), sequence_nr: id, seconds: [1e-3, 0] }));
    each.rows = { nodes: each.nodes.map(() => [0, 10, null]), scopes: [[[4], 0, 1, 1, 0, 0, null], ...[2, 8, 0.1].map((norm) => [[4], 0, 1e-3, 0, 0, 0, norm])] as never };
    change(each);
  });
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  render({ model: new FakeModel({ trace: JSON.stringify(trace), step: trace.events.findIndex(({ kind }) => kind === "backward_start") }), el: place });
  const [heads, told] = ["dt", "dd"].map((name) => [...place.querySelectorAll(`.mg-overview ${name}`)].map((line) => line.textContent ?? "")) as [string[], string[]];
  return Object.fromEntries(heads.map((head, at) => [head, told[at] ?? ""]));
}

it("names what costs most by time only where one run can tell, and by FLOPs, which are the same in every run", () => {
  const costs = (times: number[], flops: number[]) => card((trace) => {
    [times, flops].forEach((all, of) => all.forEach((each, at) => ((trace.rows?.scopes[at + 1] as unknown[])[of === 0 ? 2 : 5] = each)));
    Object.assign(trace.rows?.scopes[0] ?? [], { 5: 100 });
    trace.nodes.forEach((node, id) => (node.seconds = id > 0 ? [0, 0] : [0.01, 0]));
  })["costs most"];
  expect(costs([8e-3, 1e-3, 1e-3], [60, 20, 20])).toBe("a: 8 ms in this run (80\u00a0%, over 2× any other), 60\u00a0% of FLOPs");
  expect(costs([8e-3, 1e-3, 1e-3], [20, 60, 20])).toBe("a: 8 ms in this run (80\u00a0%, over 2× any other); by FLOPs b (60\u00a0%)");
  expect(costs([5e-3, 3e-3, 1e-3], [20, 60, 20])).toBe("by FLOPs b (60\u00a0%); by time, one run cannot tell: a (5 ms); another is within 2×");
  expect(costs([3e-3, 5e-3, 4e-3], [49, 50, 1])).toBe("by FLOPs b and a (50\u00a0% each); by time, one run cannot tell: b (5 ms); others are within 2×");
  expect(costs([0, 0, 0], [1, 2, 4])).toBe("by FLOPs c (4\u00a0%)");
  expect(costs([5e-3, 4e-3, 0], [0, 0, 0])).toBe("by time, one run cannot tell: a (5 ms); another is within 2×");
  expect(costs([5e-3, 4e-3, 1e-3], [60, 20, 20])).toBe("by FLOPs a (60\u00a0%), and by time (5 ms), where another is within 2×");
});

it("names all that are largest, and what each block of a row has", () => {
  const sizes = (saved: number[], parameters: number[]) => card((trace) => {
    saved.forEach((each, at) => Object.assign(trace.rows?.scopes[at + 1] ?? [], { 1: parameters[at], 4: each }));
    Object.assign(trace.rows?.scopes[0] ?? [], { 1: 100 });
  });
  expect(sizes([2048, 2048, 1024], [25, 50, 25])).toMatchObject({ "saves most": "a and b, each 2 KiB", "is largest": "b Linear: 50 parameters (50\u00a0%)" });
  expect(sizes([2048, 2047, 2050], [0, 0, 0])["saves most"]).toBe("a, b and c, each 2 KiB");
  const row = (blocks: [number, number]) => card((trace) => {
    Object.assign(trace.scopes?.[1] ?? {}, { name: "h.0 … h.1 ×2", module: "" });
    blocks.forEach((saved, at) => {
      trace.scopes?.push({ name: `h.${at}`, module: "Block", parent: 1 });
      trace.rows?.scopes.push([[4], 30, null, null, saved, 0, 1]);
    });
    trace.nodes.forEach((node, id) => (node.scope = node.scope === 1 ? 4 + (id % 2) : node.scope ?? 0));
    trace.folded = [1, 2, 3];
    Object.assign(trace.rows?.scopes[1] ?? [], { 1: 60, 4: 3072 });
    Object.assign(trace.rows?.scopes[0] ?? [], { 1: 100 });
  });
  expect(row([2048, 2048])).toMatchObject({ "saves most": "h.0 … h.1 ×2: 3 KiB, each 2 KiB", "is largest": "h.0 … h.1 ×2: 60 parameters (60\u00a0%), each 30" });
  expect(row([2048, 1024])["saves most"]).toBe("h.0 … h.1 ×2: 3 KiB");
  expect(sizes([0, 0, 0], [0, 0, 0])).not.toHaveProperty("saves most");
});

it("says in which module of a row of them the gradient is largest", () => {
  const told = card((trace) => {
    trace.scopes = [{ name: "net", module: "Net", parent: null }, { name: "in", module: "Linear", parent: 0 }, { name: "h.0 … h.2 ×3", module: "", parent: 0 }, { name: "out", module: "Linear", parent: 0 }, ...[0, 1, 2].map((at) => ({ name: `h.${at}`, module: "Block", parent: 2 }))];
    trace.folded = [1, 2, 3];
    trace.nodes.forEach((node, id) => (node.scope = id === 0 ? 1 : id > 3 ? 3 : 3 + id));
    trace.rows = { nodes: trace.rows?.nodes ?? [], scopes: [9, 2, 3, 2, 3, 80, 3].map((norm) => [[4], 0, 1e-3, 0, 0, 0, norm]) as never };
  });
  expect(told.gradient).toMatch(/grows 40× from the output \(out: 2\) to .*h\.1: 80, .*then shrinks 40× to the input \(in: 2\)/);
});

it("opens the source where the model of a pass ends, not where another one does that was recorded with it", () => {
  card((trace) => {
    trace.files = [{ name: "train.py", lines: trace.nodes.map((_, id) => `line ${id + 1}`).concat("backward") }];
    trace.nodes.forEach((node, id) => Object.assign(node, { file: 0, line: id + 1 }));
    trace.folded = [1, 2, 3];
    const start = trace.events.find(({ kind }) => kind === "backward_start") as TraceEvent & { kind: "backward_start" };
    Object.assign(start, { file: 0, line: trace.nodes.length + 1, needs: start.needs.filter(([node]) => node < 3) });
  });
  expect(document.querySelector(".mg-line[aria-current=step]")?.textContent).toBe("3line 3");
});

it("says of a map at which box a pass begins, and of the ops of a program at which node", () => {
  const told = (folded: number[]): string => {
    card((trace) => void (trace.folded = folded));
    return document.querySelector(".mg-text")?.textContent ?? "";
  };
  expect(told([1, 2, 3])).toMatch(/: the backward pass begins at a, with gradient 1: each box waits for the gradients that come down its arrows$/);
  expect(told([])).toMatch(/: backward starts at Op\d+Backward0 #\d+ with tensor\(1\.\)/);
});

it("names the directions in which a gradient changes, the turns between them, and the part across which most happens", () => {
  const norms = (...all: number[]) => (trace: Trace) => all.forEach((norm, at) => ((trace.rows?.scopes[at + 1] as unknown[])[6] = norm));
  expect(card(norms(9, 2, 0.5)).gradient).toBe("‖∇‖, the norm at a box’s output, grows 18× from the output (c: 0.5) to the input (a: 9)");
  expect(card(norms(2, 8, 2.5)).gradient).toMatch(/, grows 3\.2× from the output \(c: 2\.5\) to b: 8, then shrinks 4× to the input \(a: 2\)$/);
  expect(card(norms(3, 0.1, 9)).gradient).toMatch(/, shrinks 90× from the output \(c: 9\) to b: 0\.1, then grows 30× to the input \(a: 3\)$/);
  expect(card(norms(1, 7, 8)).gradient).toMatch(/, shrinks 8× .* to the input \(a: 1\), most of it across b$/);
  expect(card(norms(2, 2.5, 2.4)).gradient).toMatch(/, stays about as large from the output \(c: 2\.4\) to the input \(a: 2\)$/);
  expect(card(norms(0, 1, 1)).gradient).toMatch(/vanishes from .* \(a: 0\)/);
});

it("says that the first call of a kind was a warm-up, where later ones of as much work took less", () => {
  const slow = (later: number, flops = 10) => (trace: Trace) => {
    trace.nodes.slice(0, 3).forEach((node, id) => Object.assign(node, { name: "AddmmBackward0", seconds: [id === 0 ? 0.05 : later, 0] }));
    trace.rows?.nodes.forEach((row, id) => (row[1] = id === 0 ? flops : 10));
    Object.assign(trace.rows?.scopes[1] ?? [], { 2: 0.052 });
    Object.assign(trace.rows?.scopes[2] ?? [], { 2: 0.003 });
  };
  expect(card(slow(1e-3))["warm-up"]).toBe("a called Addmm for the first time: 50 ms, where 1 ms is usual. Run the model once, then inspect it");
  expect(card(slow(0.04))["warm-up"]).toBeUndefined();
  expect(card(slow(1e-3, 1_000))["warm-up"]).toBeUndefined();
});

it("says which parts hold one parameter", () => {
  const told = card((trace) => {
    const leaf = trace.nodes.findIndex(({ variable }) => variable !== undefined);
    const users = trace.nodes.flatMap(({ next }, id) => (next.length > 0 ? [id] : [])).slice(0, 2);
    users.forEach((id, at) => Object.assign(trace.nodes[id] ?? {}, { scope: 1 + at, next: [[leaf, 0], ...(trace.nodes[id]?.next.slice(1) ?? [])] }));
    Object.assign(trace.tensors[trace.nodes[leaf]?.variable ?? 0] ?? {}, { parameter: true, shape: [3, 2] });
  });
  expect(told["share"]).toBe("a Linear and b Linear hold one parameter [3, 2]: it counts once, and adds up what comes from both");
  expect(card(() => undefined)["share"]).toBeUndefined();
});
