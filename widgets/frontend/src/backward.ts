/** The backward lens: a walk over the recorded events, from the start of the first pass. */
import type { Moment } from "./details";
import { describe } from "./describe";
import { brief, piled, valueOf } from "./format";
import { lensSteps, Replay } from "./frame";
import type { Changed, Lens } from "./lens";
import type { NodeLook, Scene } from "./look";
import { STYLES } from "./look";
import { litNode, shownGradient } from "./types";
import type { Maybe, Trace } from "./types";

const NOTHING: ReadonlySet<string> = new Set();

export class BackwardLens implements Lens {
  readonly replay: Replay;
  private readonly steps: number[];

  constructor(
    private readonly trace: Trace,
    readonly name: string,
  ) {
    this.replay = new Replay(trace);
    this.steps = lensSteps(trace, name);
    this.goTo(0);
  }

  get position(): number {
    return Math.max(0, this.replay.step - (this.steps[0] ?? 0));
  }

  get last(): number {
    return Math.max(0, this.steps.length - 1);
  }

  get step(): number {
    return this.replay.step;
  }

  get lit(): Maybe {
    const event = this.replay.event;
    return event ? litNode(event) : null;
  }

  get gradient(): Maybe {
    const event = this.replay.event;
    return event ? shownGradient(event) : null;
  }

  get ready(): number[] {
    return this.replay.ready;
  }

  get counter(): string {
    return `${this.step} / ${this.steps.at(-1) ?? 0}`;
  }

  get text(): string {
    const event = this.replay.event;
    return `step ${this.step} of ${this.steps.at(-1) ?? 0}: ${event ? describe(this.trace, event) : "nothing yet"}`;
  }

  get moment(): Moment {
    const replay = this.replay;
    return {
      pending: (node) => replay.pending.get(node) ?? [],
      unknown: "nothing yet",
      edge: (key) => replay.edges.get(key),
      grad: (tensor) => replay.grads.get(tensor),
      version: (tensor) => replay.versions.get(tensor) ?? 0,
      saved: (node) => replay.saved.get(node) ?? "",
      look: (node) => this.look(node),
    };
  }

  goTo(position: number): Changed {
    this.replay.goTo(this.steps[Math.max(0, Math.min(position, this.last))] ?? -1);
    return this.replay.take();
  }

  /** The position of the nearest step of this lens, at or before a step of the trace. */
  positionOf(step: number): number {
    return Math.max(0, Math.min(step - (this.steps[0] ?? 0), this.last));
  }

  scene(selected: Maybe): Scene {
    const event = this.replay.event;
    const now = event?.kind === "flow" ? new Set([`${event.node}:${event.index}`]) : NOTHING;
    return { node: (id) => this.look(id), edge: (key) => this.replay.edges.get(key), lit: this.lit, selected, now };
  }

  private look(id: number): NodeLook {
    const status = this.replay.status.get(id);
    const needs = this.replay.needs.get(id);
    const waits = status === "waiting" && needs !== undefined ? `waits: ${needs}` : STYLES[status ?? "recorded"].word;
    return {
      look: status ?? "recorded",
      known: status !== undefined,
      word: status === "recorded" || status === undefined ? "" : waits,
      badge: this.badge(this.replay.pending.get(id)),
      saved: this.replay.saved.get(id) ?? "",
    };
  }

  private badge(pending: readonly Maybe[] | undefined): string {
    if (!pending || pending.length === 0) return "";
    return `Σ ${piled(pending.map((entry) => (entry === null ? "–" : brief(valueOf(this.trace, entry)))))}`;
  }
}
