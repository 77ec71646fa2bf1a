/** What a notebook keeps of its widgets when it is saved. */
import { beforeEach, describe, expect, test, vi } from "vitest";
import { find, keep } from "../../src/page/saved_state";
import { FakeModel } from "../fake";

const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
const SCRIPT = `export default { render: shown => shown.model.get("_esm") }; /*${"·".repeat(2000)}*/`;

type Traits = Record<string, unknown>;

/** A notebook with an output for each id, and the widgets of a kernel. */
class Notebook {
  metadata: Record<string, Record<string, { state: Record<string, { state: Traits }> }>> = {};
  cells: { outputs?: { length: number; get: (at: number) => { data: Traits } } }[] = [{}];
  live: Record<string, Traits> = {};
  #saving: ((sender: unknown, state: string) => void)[] = [];

  readonly manager = {
    context: {
      model: {
        cells: this.cells,
        getMetadata: (name: string) => this.metadata[name],
        setMetadata: (name: string, value: never) => (this.metadata[name] = value),
        deleteMetadata: (name: string) => delete this.metadata[name],
      },
      saveState: { connect: (heard: (sender: unknown, state: string) => void) => this.#saving.push(heard) },
    },
    get_state_sync: () => ({
      version_major: 2,
      version_minor: 0,
      state: Object.fromEntries(Object.entries(this.live).map(([id, state]) => [id, { model_name: "AnyModel", state }])),
    }),
  };

  show(...ids: string[]): void {
    const outputs = ids.map((id) => ({ data: { [VIEW]: { model_id: id } } }));
    this.cells.splice(0, this.cells.length, {}, { outputs: { length: ids.length, get: (at) => outputs[at]! } });
  }

  render(id: string): FakeModel {
    const model = new FakeModel(this.live[id]!);
    keep(Object.assign(model, { widget_manager: this.manager }));
    return model;
  }

  save(): Record<string, { state: Traits }> {
    for (const heard of this.#saving) for (const state of ["started", "completed"]) heard(null, state);
    return this.metadata.widgets?.[STATE]?.state ?? {};
  }
}

test("what JupyterLab looked for too early is drawn once it is there", async () => {
  vi.useFakeTimers();
  const redrawn: number[] = [];
  const views: Record<string, object> = { drawn: { view: 1 }, lost: {} };
  const ids = ["drawn", "lost", "gone"];
  const outputs = {
    length: ids.length,
    get: (at: number) => ({ data: { [VIEW]: { model_id: ids[at] } }, toJSON: () => at }),
    set: (at: number, output: unknown) => redrawn.push(at, output as number),
  };
  const manager = {
    context: { model: { cells: [{}, { outputs }] }, saveState: { connect: () => undefined } },
    has_model: (id: string) => id in views,
    get_model: (id: string) => Promise.resolve({ views: views[id] }),
  };
  const open = async (text: string): Promise<void> => {
    document.body.innerHTML = `<div class="jupyter-widgets">${text}</div>`;
    const opened = { ...manager };
    for (const _ of ids) find(Object.assign(new FakeModel({}), { widget_manager: opened }));
    await vi.runAllTimersAsync();
  };
  await open("step 3 of 19");
  expect(redrawn).toEqual([]);
  await open("Error displaying widget: model not found");
  expect(redrawn).toEqual([1, 1]);
  document.body.replaceChildren();
});

test("nbclassic's notebook is given its widgets before it is saved", async () => {
  vi.useFakeTimers();
  const heard = new Map<string, () => void>();
  const state = { a: { _esm: SCRIPT }, b: { _esm: SCRIPT }, forgotten: {} };
  const notebook = {
    metadata: {} as { widgets?: Record<string, { state: Record<string, { state: Traits }> }> },
    get_cells: () => [{}, { output_area: { outputs: [{}, { data: { [VIEW]: { model_id: "a" } } }, { data: { [VIEW]: { model_id: "b" } } }] } }],
    events: { on: (name: string, act: () => void) => heard.set(name, act) },
  };
  const widgets = Object.fromEntries(Object.entries(state).map(([id, traits]) => [id, { state: traits }]));
  const manager = { notebook, get_state: () => Promise.resolve({ version_major: 2, version_minor: 0, state: widgets }) };
  keep(Object.assign(new FakeModel(state.a), { widget_manager: manager }));
  await vi.runAllTimersAsync();
  heard.get("before_save.Notebook")!();
  const saved = notebook.metadata.widgets![STATE]!.state;
  expect(Object.keys(saved)).toEqual(["a", "b"]);
  expect(saved.b!.state._esm).toMatch(/^\/\/ the script of a\n/);
});

describe("what is saved", () => {
  let notebook: Notebook;

  beforeEach(() => {
    vi.useFakeTimers();
    notebook = new Notebook();
    notebook.live = {
      a: { _esm: SCRIPT, _css: "style", step: 1, layout: "IPY_MODEL_layout" },
      b: { _esm: SCRIPT, _css: "style", step: 2 },
      layout: { width: "10px" },
      forgotten: { _esm: SCRIPT, step: 3 },
    };
    notebook.show("a", "b");
  });

  test("the widgets in outputs and what they refer to, and no others", () => {
    notebook.render("a");
    expect(Object.keys(notebook.save())).toEqual(["a", "b", "layout"]);
    expect(notebook.metadata.widgets![STATE]).toMatchObject({ version_major: 2, version_minor: 0 });
  });

  test("the widgets inside a widget of outputs", () => {
    notebook.live.output = { outputs: [{ data: { [VIEW]: { model_id: "a" } } }] };
    notebook.show("output");
    notebook.render("a");
    expect(Object.keys(notebook.save())).toEqual(["output", "a", "layout"]);
  });

  test("a script once, and in its place a reference to its owner", () => {
    notebook.render("a");
    notebook.render("b");
    const { a, b } = notebook.save();
    expect(a!.state._esm).toBe(SCRIPT);
    expect(b!.state).toEqual({ step: 2, _esm: expect.stringContaining('get_model("a")') });
    expect(String(b!.state._esm).length).toBeLessThan(800);
  });

  test("the owner of a script stays although its own output is gone", () => {
    notebook.render("a");
    notebook.save();
    notebook.live = {};
    const reopened = new Notebook();
    reopened.metadata = notebook.metadata;
    reopened.show("b");
    reopened.live = { b: notebook.metadata.widgets![STATE]!.state.b!.state };
    reopened.render("b");
    expect(Object.keys(reopened.save()).sort()).toEqual(["a", "b", "layout"]);
  });

  test("the last state of a widget whose kernel has gone", () => {
    const model = notebook.render("a");
    vi.runAllTimers();
    notebook.live.a = { ...notebook.live.a, step: 7 };
    model.set("", 0);
    for (const heard of [...model["heard"].get("change")!]) heard();
    vi.runAllTimers();
    notebook.live = {};
    expect(notebook.save().a!.state.step).toBe(7);
    expect(notebook.save().b!.state.step).toBe(2);
  });

  test("nothing for a notebook that shows no widget any more", () => {
    notebook.render("a");
    notebook.save();
    notebook.show();
    expect(notebook.save()).toEqual({});
    expect(notebook.metadata).toEqual({});
  });

  test("nothing by a page that is no notebook", () => {
    expect(() => keep(new FakeModel({}))).not.toThrow();
    expect(() => keep(Object.assign(new FakeModel({}), { widget_manager: {} }))).not.toThrow();
  });
});
