/** The link to Python: changes in the browser are sent once they stop; changes in Python are shown at once. */
import type { Answer, Question } from "../trace/questions";
import type { Maybe } from "../trace/types";

/** The part of a widget's model that is used here. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  on(name: string, callback: () => void): void;
  off(name: string, callback: () => void): void;
  /** The program of the page that contains this model; a widget's model has it as traits. */
  program?(): Promise<Program | null>;
}

/** What a standalone page needs besides the state: `module` says which kind of script it is. */
export interface Program {
  script: string;
  style: string;
  module: boolean;
}

const REST = 200;
const SHARED = ["step", "lens", "selected", "calls", "collapsed", "answers", "score"] as const;
type Shared = (typeof SHARED)[number];

export class Link {
  readonly #unsent = new Map<Shared, unknown>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #ours = false;

  constructor(private readonly model: Model) {}

  get step(): number {
    return Number(this.model.get("step"));
  }

  get questions(): Question[] {
    return (this.model.get("ask") ?? []) as Question[];
  }

  get answers(): Answer[] {
    return (this.model.get("answers") ?? []) as Answer[];
  }

  get lens(): string {
    return String(this.model.get("lens"));
  }

  /** Whether numbers can be changed: true opens their list, null leaves it closed, false has none. */
  get live(): boolean | null {
    return (this.model.get("live") ?? null) as boolean | null;
  }

  /** The parts that are shown at first; null shows all. */
  get parts(): string[] | null {
    return (this.model.get("parts") ?? null) as string[] | null;
  }

  get selected(): Maybe {
    return (this.model.get("selected") ?? null) as Maybe;
  }

  get calls(): number[] {
    return (this.model.get("calls") ?? []) as number[];
  }

  /** The calls of modules that are folded; null if nothing has been chosen yet. */
  get collapsed(): number[] | null {
    return (this.model.get("collapsed") ?? null) as number[] | null;
  }

  get trace(): unknown {
    return this.model.get("trace");
  }

  /** The address of the page that shows the contents of a link. */
  get player(): string {
    return String(this.model.get("player") ?? "");
  }

  /** The state of a standalone page: the trace, and everything chosen here. */
  state(): Record<string, unknown> {
    this.flush();
    const trace = this.trace;
    const names = [...SHARED, "ask", "player", "parts"].filter((name) => this.model.get(name) !== undefined);
    return { trace: typeof trace === "string" ? JSON.parse(trace) : trace, ...Object.fromEntries(names.map((name) => [name, this.model.get(name)])) };
  }

  async program(): Promise<Program | null> {
    if (this.model.program) return this.model.program();
    const [script, style] = [this.model.get("_esm"), this.model.get("_css")];
    return typeof script === "string" && typeof style === "string" ? { script, style, module: true } : null;
  }

  /** Notes a change and sends it 200 ms after the last one. */
  say(name: Shared, value: unknown): void {
    this.#unsent.set(name, value);
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), REST);
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#unsent.size === 0) return;
    this.#ours = true;
    for (const [name, value] of this.#unsent) this.model.set(name, value);
    this.#ours = false;
    this.#unsent.clear();
    try {
      this.model.save_changes();
    } catch (error) {
      // The kernel is gone. Stepping continues without it; the model keeps the last step for a later one.
      console.info("minigrad inspector: the kernel did not take the step", error);
    }
  }

  /** Calls back when the other side changed something; returns a function that ends it. */
  listen(callback: () => void): () => void {
    const heard = (): void => {
      if (this.#ours) return;
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
      this.#unsent.clear();
      callback();
    };
    for (const name of SHARED) this.model.on(`change:${name}`, heard);
    return () => SHARED.forEach((name) => this.model.off(`change:${name}`, heard));
  }
}

// ---- A model in a page, without a kernel.
export class PageModel implements Model {
  readonly #heard = new Map<string, Set<() => void>>();

  constructor(
    private readonly state: Record<string, unknown>,
    readonly program: () => Promise<Program | null>,
  ) {}

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    for (const callback of [...(this.#heard.get(`change:${name}`) ?? [])]) callback();
  }

  save_changes(): void {}

  on(name: string, callback: () => void): void {
    this.#heard.set(name, (this.#heard.get(name) ?? new Set()).add(callback));
  }

  off(name: string, callback: () => void): void {
    this.#heard.get(name)?.delete(callback);
  }
}
