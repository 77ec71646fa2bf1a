/**
 * Saves a notebook's widgets with the notebook, so that they are there when it is opened again, with no kernel too.
 *
 * By default JupyterLab and Notebook save only the name of a widget, and the next day its output is an error. Their
 * setting that saves more forgets whatever outlived its kernel, and stores the script once for each widget; nbclassic
 * saves them if asked to from a menu. Here every widget that an output shows is saved, with what it refers to, and a
 * script once. What the notebook then fails to find in time is drawn after all.
 */
import type { Model } from "./link";

interface Saved {
  state: Record<string, unknown>;
}

interface States {
  version_major: number;
  version_minor: number;
  state: Record<string, Saved>;
}

interface Outputs {
  length: number;
  get(at: number): { data: { [VIEW]?: { model_id: string } }; toJSON(): unknown };
  set(at: number, output: unknown): void;
}

interface Notebook {
  cells: Iterable<{ outputs?: Outputs }>;
  getMetadata(name: string): unknown;
  setMetadata(name: string, value: unknown): void;
  deleteMetadata(name: string): void;
}

/** An open notebook in nbclassic. */
interface Classic {
  metadata: { widgets?: Record<string, States> };
  get_cells(): { output_area?: { outputs: { data?: Record<string, unknown> }[] } }[];
  events: { on(name: string, heard: () => void): void };
}

/** What the widgets of one open notebook share. */
interface Manager {
  context?: { model: Notebook; saveState: { connect(heard: (sender: unknown, state: string) => void): void } } | null;
  notebook?: Classic;
  get_state?(options: { drop_defaults: boolean }): Promise<States>;
  get_state_sync?(options: { drop_defaults: boolean }): States;
  has_model?(id: string): boolean;
  get_model?(id: string): Promise<{ views?: object }>;
  [KEEPER]?: Keeper;
  [FINDING]?: ReturnType<typeof setTimeout>;
}

/** What is asked of an open notebook. */
interface Host {
  /** The widgets that there are, if they can be told at once; otherwise they are learned later. */
  states(learn: (states: States) => void): States | undefined;
  /** The widgets in its outputs. */
  views(): Iterable<unknown>;
  saved(): Record<string, States> | undefined;
  save(widgets: Record<string, States> | undefined): void;
  beforeSaving(act: () => void): void;
}

// Each widget imports a copy of this script, so what they share hangs on the manager itself.
const KEEPER = Symbol.for("minigrad.keeper");
const FINDING = Symbol.for("minigrad.finding");
const STATE = "application/vnd.jupyter.widget-state+json";
const VIEW = "application/vnd.jupyter.widget-view+json";
const REST = 500;
const LONG = 1000;
const LOOKS = 2500;

const managerOf = (model: Model): Manager | undefined => (model as { widget_manager?: Manager }).widget_manager;

/** Keeps the state of a widget, and of its neighbours, wherever the page is a notebook that can be saved. */
export function keep(model: Model): void {
  const manager = managerOf(model);
  const host = manager && (labOf(manager) ?? classicOf(manager));
  if (host) (manager[KEEPER] ??= new Keeper(host)).follow(model);
}

/**
 * Draws what JupyterLab and Notebook have lost on a slow machine. They look for a widget's model for two seconds, not
 * once more at their end, and then show an error for good if the notebook's models came meanwhile.
 */
export function find(model: Model): void {
  const manager = managerOf(model);
  if (manager?.context) manager[FINDING] ??= setTimeout(() => void drawLost(manager), LOOKS);
}

async function drawLost(manager: Manager): Promise<void> {
  const texts = [...document.querySelectorAll(".jupyter-widgets")].map((node) => node.textContent);
  if (!manager.context || !texts.some((text) => text.endsWith("model not found"))) return;
  for (const { model_id, redraw } of viewsIn(manager.context.model)) {
    const found = manager.has_model?.(model_id) && (await manager.get_model!(model_id));
    if (found && !Object.keys(found.views ?? {}).length) redraw();
  }
}

function labOf(manager: Manager): Host | undefined {
  const { context } = manager;
  if (!manager.get_state_sync || !context?.saveState || !("setMetadata" in context.model)) return undefined;
  const { model, saveState } = context;
  return {
    states: () => (manager.context ? manager.get_state_sync!({ drop_defaults: true }) : undefined), // none once it is closed
    views: () => viewsIn(model),
    saved: () => model.getMetadata("widgets") as Record<string, States> | undefined,
    save(widgets) {
      if (widgets) model.setMetadata("widgets", widgets);
      else if (model.getMetadata("widgets")) model.deleteMetadata("widgets");
    },
    beforeSaving: (act) => saveState.connect((_, state) => state === "started" && act()),
  };
}

function classicOf(manager: Manager): Host | undefined {
  const { notebook } = manager;
  if (!manager.get_state || !notebook?.events || !notebook.get_cells) return undefined;
  return {
    states: (learn) => void manager.get_state!({ drop_defaults: true }).then(learn),
    views: () => notebook.get_cells().flatMap((cell) => (cell.output_area?.outputs ?? []).map((output) => output.data?.[VIEW])),
    saved: () => notebook.metadata.widgets,
    save(widgets) {
      if (widgets) notebook.metadata.widgets = widgets;
      else delete notebook.metadata.widgets;
    },
    beforeSaving: (act) => notebook.events.on("before_save.Notebook", act),
  };
}

class Keeper {
  readonly #known = new Map<string, Saved>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly host: Host) {
    this.#learn(host.saved()?.[STATE]);
    host.beforeSaving(() => this.#write());
  }

  /** Notes the state soon after each change: once its kernel is gone, the manager does not tell it any more. */
  follow(model: Model): void {
    const note = (): void => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#note(), REST);
    };
    model.on("change", note);
    note();
  }

  #note(): States | undefined {
    const states = this.host.states((later) => this.#learn(later));
    this.#learn(states);
    return states;
  }

  #learn(states: States | undefined): void {
    for (const [id, saved] of Object.entries(states?.state ?? {})) this.#known.set(id, saved);
  }

  #write(): void {
    const { version_major = 2, version_minor = 0 } = this.#note() ?? {};
    const state = withOneScript(this.#shown());
    this.host.save(Object.keys(state).length ? { [STATE]: { version_major, version_minor, state } } : undefined);
  }

  /** The widgets in outputs, and what they refer to, as far as it is known. */
  #shown(): Map<string, Saved> {
    const shown = new Map<string, Saved>();
    const wanted = [...this.host.views()].flatMap((view) => [...idsIn(view)]);
    for (let id = wanted.shift(); id !== undefined; id = wanted.shift()) {
      const saved = this.#known.get(id);
      if (!saved || shown.has(id)) continue;
      shown.set(id, saved);
      wanted.push(...idsIn(saved.state));
    }
    return shown;
  }
}

function* viewsIn(notebook: Notebook): Iterable<{ model_id: string; redraw(): void }> {
  for (const { outputs } of notebook.cells) {
    for (let at = 0; at < (outputs?.length ?? 0); at++) {
      const output = outputs!.get(at);
      const view = output.data[VIEW];
      if (view) yield { ...view, redraw: () => outputs!.set(at, output.toJSON()) };
    }
  }
}

/** The widgets to which a value refers: as a trait, as an output inside it, or as the owner of its script. */
function* idsIn(value: unknown, name = ""): Iterable<string> {
  if (typeof value === "string") {
    const id = name === "model_id" ? value : /^IPY_MODEL_(.+)$|^\/\/ the script of (\S+)\n/.exec(value.slice(0, 100));
    if (id) yield typeof id === "string" ? id : (id[1] ?? id[2])!;
  } else if (value && typeof value === "object") {
    for (const [key, part] of Object.entries(value)) yield* idsIn(part, key);
  }
}

/** The same widgets with each long script, and its style, in the first of those that have it. */
function withOneScript(shown: Map<string, Saved>): Record<string, Saved> {
  const owners = new Map<unknown, string>();
  const state: Record<string, Saved> = {};
  for (const [id, saved] of shown) {
    const script = saved.state._esm;
    const owner = owners.get(script);
    if (owner === undefined) {
      if (typeof script === "string" && script.length > LONG) owners.set(script, id);
      state[id] = saved;
    } else {
      const { _css, ...rest } = saved.state;
      state[id] = { ...saved, state: { ...rest, _esm: loader(owner) } };
    }
  }
  return state;
}

/** A script that runs another widget's script in its place. */
function loader(owner: string): string {
  return `// the script of ${owner}
export default {
  async render(shown) {
    const owner = await shown.model.widget_manager.get_model("${owner}");
    const address = URL.createObjectURL(new Blob([owner.get("_esm")], { type: "text/javascript" }));
    const { default: widget } = await import(address);
    URL.revokeObjectURL(address);
    const get = (name) => (name === "_esm" || name === "_css" ? owner : shown.model).get(name);
    return widget.render({ ...shown, model: { ...shown.model, get } });
  },
};
`;
}
