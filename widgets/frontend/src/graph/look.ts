/** The look of each state: one table for colour (by class), glyph, dash and word, so that colour is never the only mark. */
import type { Maybe, Status } from "../trace/types";

export type Look = Status | "early" | "again";

interface Style {
  word: string;
  glyph: string;
}

/** Glyphs are drawn around (0, 0), 12 pixels wide. minigrad_widgets/pictures/graph.py draws the same ones. */
export const STYLES: Record<Look, Style> = {
  recorded: { word: "recorded", glyph: "M-2,0a2,2 0 1,0 4,0a2,2 0 1,0 -4,0Z" },
  waiting: { word: "waits", glyph: "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0ZM-3,0a3,3 0 1,1 6,0a3,3 0 1,1 -6,0Z" },
  ready: { word: "ready", glyph: "M0,-6L6,0L0,6L-6,0Z" },
  running: { word: "runs", glyph: "M-4,-6L6,0L-4,6Z" },
  done: { word: "done", glyph: "M-6,0L-4,-2L-1.5,1L4,-5.5L6,-3.5L-1.5,5Z" },
  again: { word: "recomputed", glyph: "M5.5,-2A5.5,5.5 0 1,0 5.5,2H3.3A3.5,3.5 0 1,1 3.3,-2H1.5L5,-6L7.5,-2Z" },
  early: { word: "too early", glyph: "M-1.6,-6H1.6L1,2H-1ZM-1.5,3.2H1.5V6H-1.5Z" },
};

/** In place of the glyph of a state: a module raised here. */
export const RAISED = "M-5.5,-4L-4,-5.5L0,-1.5L4,-5.5L5.5,-4L1.5,0L5.5,4L4,5.5L0,1.5L-4,5.5L-5.5,4L-1.5,0Z";

/** The `.grad` of a leaf: its value, and how many gradients of this pass have arrived. */
export interface Tray {
  /** "none" before anything was added, "coming" while gradients collect at the leaf, "held" afterwards. */
  state: "none" | "coming" | "held";
  text: string;
  /** The filled share, from 0 to 1. */
  level: number;
  told: string;
  broken: string;
}

/** What the graph shows of a node at this moment, also if it is hidden in a box. */
export interface State {
  look: Look;
  known: boolean;
  saved: "" | "held" | "released";
}

export interface NodeLook extends State {
  word: string;
  badge: string;
  /** Whether a hook of the program has run at it in this pass, which may have changed its gradient. */
  hooked?: boolean;
  /** "nan" or "inf" where its result, what is pending, or a gradient that it passed on holds one. */
  broken?: string;
  /** "value" if only its result does. */
  whose?: string;
  /** For the tensor that this is the node of, if it was ever written to. */
  version?: number;
  /** For an AccumulateGrad, its leaf's `.grad`. */
  tray?: Tray | undefined;
  /** The tensor that it created now has another node. */
  stale?: boolean;
}

/** What the graph shows: a lens creates one of these, the graph pane draws it. */
export interface Scene {
  node(id: number): NodeLook;
  /** As much of it as a folded box needs. */
  state(id: number): State;
  /** The gradient that has flowed along an edge; undefined if none has. */
  edge(key: string): Maybe | undefined;
  /** The tangent that has gone forward along an edge, in forward mode; undefined if none has. */
  tangent?(key: string): number | undefined;
  lit: Maybe;
  selected: Maybe;
  /** The edges along which a gradient, or a tangent, goes in this very step. */
  now: ReadonlySet<string>;
}

/** The look of a folded box: that of the first of its nodes that is not done. */
export function together(nodes: readonly number[], scene: Scene): NodeLook {
  const [looks, kept] = [new Set<Look>(), new Set<string>()];
  for (const id of nodes) {
    const { look, known, saved } = scene.state(id);
    if (!known) continue;
    looks.add(look);
    kept.add(saved);
  }
  const first = (["early", "running", "ready", "waiting", "again"] as const).find((name) => looks.has(name));
  const look = first ?? (looks.size === 1 && looks.has("done") ? "done" : "recorded");
  const saved = kept.has("held") ? "held" : kept.has("released") ? "released" : "";
  return { look, known: looks.size > 0, word: first === "running" || first === "ready" ? STYLES[first].word : "", badge: "", saved };
}
