/** A lesson in a page without a kernel: its cards are judged here, and the answers are stored in this browser. */
import { html, write } from "../page/dom";
import type { PageModel } from "../page/link";
import type { Face } from "../lenses/question_card";
import { digest, read, UNSURE, type Form, type Read } from "./forms";

interface Asked {
  model: PageModel;
  sheet: Sheet;
  blank: Face;
}

export class Lesson {
  readonly #kept: Kept;
  readonly #cards: Asked[] = [];
  readonly #clearing: (() => void)[] = [];
  readonly #count = html("span", { role: "status" });
  readonly #button = html("button", { type: "button", class: "mg-answer" }, "Clear answers");

  constructor(place: HTMLElement) {
    this.#kept = new Kept(place.dataset["minigradLesson"] ?? "");
    this.#button.addEventListener("click", () => this.#clear());
    place.append(html("section", { class: "mg-root mg-lesson", "aria-label": "your answers" }, this.#count, this.#button));
  }

  /** Adds a model of the page to the lesson: a card with its sheet, or an inspector with questions. */
  join(place: string, model: PageModel): void {
    const sheet = model.get("sheet") as Sheet | undefined;
    if (sheet) this.#joinCard({ model, sheet, blank: model.get("face") as Face });
    else if (Array.isArray(model.get("ask"))) this.#joinInspector(`ask ${place}`, model);
  }

  /** Shows earlier answers; called once all models have joined. */
  open(): void {
    for (const asked of this.#cards) asked.model.set("face", this.#face(asked));
    this.#show();
  }

  #joinCard(asked: Asked): void {
    this.#cards.push(asked);
    asked.model.on("change:said", () => this.#heard(asked));
  }

  #heard(asked: Asked): void {
    const { answer } = asked.model.get("said") as { answer: string };
    const face = this.#face(asked, answer);
    const fits = face.chosen !== "";
    if (fits) this.#kept.put(name(asked.sheet), answer);
    if (fits && asked.sheet.kind === "predict") this.#tell(asked.sheet.id);
    asked.model.set("face", face);
    this.#show();
  }

  /** Before a prediction is shown as made, the cell below shows the result of the run: the focus moves on to it. */
  #tell(id: string): void {
    for (const asked of this.#cards) if (asked.sheet.kind === "reveal" && asked.sheet.id === id) asked.model.set("face", this.#face(asked));
  }

  #face({ sheet, blank }: Asked, answer = this.#answer(name(sheet))): Face {
    if (sheet.kind === "reveal") {
      const asked = this.#cards.find((card) => card.sheet.kind === "predict" && card.sheet.id === sheet.id)?.sheet;
      const said = this.#answer(`predict ${sheet.id}`);
      return asked?.kind === "predict" && said !== "" ? revealed(blank, sheet, asked.form, said, answer) : blank;
    }
    if (answer === "") return blank;
    return sheet.kind === "predict" ? predicted(blank, sheet, answer) : recalled(blank, sheet, answer);
  }

  #answer(key: string): string {
    const found = this.#kept.get(key);
    return typeof found === "string" ? found : "";
  }

  /** The answers of ask mode; those to a recording that has changed since are discarded. */
  #joinInspector(key: string, model: PageModel): void {
    const asks = JSON.stringify(model.get("ask"));
    const held = this.#kept.get(key) as { asks: string; answers: unknown } | undefined;
    if (held?.asks === asks && Array.isArray(held.answers)) model.set("answers", held.answers);
    model.on("change:answers", () => this.#kept.put(key, { asks, answers: model.get("answers") }));
    this.#clearing.push(() => model.set("answers", []));
  }

  #clear(): void {
    if (!confirm("Clear your answers to this lesson?")) return;
    for (const clear of this.#clearing) clear();
    this.#kept.clear();
    for (const { model, blank } of this.#cards) model.set("face", blank);
    this.#show();
  }

  #show(): void {
    const questions = this.#cards.filter(({ sheet }) => sheet.kind !== "reveal");
    const answered = questions.filter(({ sheet }) => this.#answer(name(sheet)) !== "").length;
    const where = this.#kept.lasting ? "Your answers stay in this browser." : "Your answers are kept until you leave this page.";
    write(this.#count, `Everything on this page has been run for you, and you can answer its questions: ${answered} of ${questions.length} answered. ${where}`);
    this.#button.hidden = answered === 0;
  }
}

const name = ({ kind, id }: Sheet): string => `${kind} ${id}`;

// ---- The faces of a lesson's cards in a page without a kernel: what a card shows once it is answered.
type Line = [tone: string, text: string];
/** The reply to an answer, by its digest; `other` and `open` are included. */
type Verdicts = Record<string, Line[]>;

/** The data of website/sheets.py for a card. `sealed` is base64, so that nobody reads it by accident. */
export type Sheet =
  | { kind: "predict"; id: string; form: Form; noted: string; open: string }
  | { kind: "recall"; id: string; form: Form; sealed: string }
  | { kind: "reveal"; id: string; sealed: string };

interface Told {
  text: string;
  ask: string;
  choices: [string, string][];
  reasons: Record<string, { holds: boolean; lines: Line[] }>;
  verdicts: Verdicts;
}

function open(sealed: string): unknown {
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(sealed), (letter) => letter.charCodeAt(0))));
}

function verdict(id: string, verdicts: Verdicts, { value, shown }: Read): Line[] {
  const lines = value === UNSURE ? verdicts["open"] : (verdicts[digest(id, value)] ?? verdicts["other"]);
  return (lines ?? []).map(([tone, text]) => [tone, text.replaceAll("{said}", shown)]);
}

function refused(face: Face, form: Form, answer: string): Face {
  return { ...face, chosen: "", lines: [["refused", form.misfit.replaceAll("{said}", answer)]], done: false };
}

/** A prediction that was made: it is final, since the cell below shows the result of the run. */
export function predicted(face: Face, sheet: Sheet & { kind: "predict" }, answer: string): Face {
  const found = read(sheet.form, answer);
  if (!found) return refused(face, sheet.form, answer);
  const text = found.value === UNSURE ? sheet.open : sheet.noted.replaceAll("{said}", found.shown);
  return { ...face, text, chosen: found.shown, locked: true, lines: [], done: true };
}

/** A question for recall: it may be answered any number of times. */
export function recalled(face: Face, sheet: Sheet & { kind: "recall" }, answer: string): Face {
  const found = read(sheet.form, answer);
  if (!found) return refused(face, sheet.form, answer);
  const lines = verdict(sheet.id, (open(sheet.sealed) as Told).verdicts, found);
  return { ...face, chosen: found.shown, lines, done: lines.some(([tone]) => tone === "good") };
}

/** The result of the run next to the prediction, the question why, and the reply to the chosen reason. */
export function revealed(face: Face, sheet: Sheet & { kind: "reveal" }, form: Form, answer: string, reason: string): Face {
  const found = read(form, answer);
  if (!found) return face;
  const told = open(sheet.sealed) as Told;
  const judged = told.reasons[reason];
  const lines: Line[] = [...verdict(sheet.id, told.verdicts, found), ["ask", told.ask], ...(judged?.lines ?? [])];
  return { ...face, text: told.text, choices: told.choices, stacked: true, chosen: reason, lines, done: judged?.holds ?? false };
}

// ---- The answers to one lesson, stored in this browser; if it stores nothing, they last as long as the page is open.
export class Kept {
  #all: Record<string, unknown> = {};
  /** Whether the browser stores them. */
  lasting = true;

  constructor(lesson: string) {
    this.#key = `minigrad answers ${lesson}`;
    this.#try(() => {
      const found: unknown = JSON.parse(localStorage.getItem(this.#key) ?? "{}");
      if (typeof found === "object" && found !== null) this.#all = found as Record<string, unknown>;
    });
  }

  readonly #key: string;

  get(name: string): unknown {
    return this.#all[name];
  }

  put(name: string, value: unknown): void {
    this.#all[name] = value;
    this.#try(() => localStorage.setItem(this.#key, JSON.stringify(this.#all)));
  }

  clear(): void {
    this.#all = {};
    this.#try(() => localStorage.removeItem(this.#key));
  }

  /** A browser may refuse to store anything, and what it has stored may be unreadable. */
  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.lasting = false;
      console.info("minigrad: answers are kept only until this page is left", error);
    }
  }
}
