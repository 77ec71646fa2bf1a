/** The faces of a lesson's cards in a page without a kernel: what stands on a card once it is answered. */
import type { Face } from "../views/card";
import { digest, read, UNSURE } from "./forms";
import type { Form, Read } from "./forms";

type Line = [tone: string, text: string];
/** What is said to an answer, by its digest; `other` and `open` are there too. */
type Verdicts = Record<string, Line[]>;

/** What minigrad_lessons/in_page.py gives for a card. `sealed` is base64, so that nobody reads it by accident. */
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

/** A prediction, once it is made: it stands, since the cell below tells at once what the run gave. */
export function predicted(face: Face, sheet: Sheet & { kind: "predict" }, answer: string): Face {
  const found = read(sheet.form, answer);
  if (!found) return refused(face, sheet.form, answer);
  const text = found.value === UNSURE ? sheet.open : sheet.noted.replaceAll("{said}", found.shown);
  return { ...face, text, chosen: found.shown, locked: true, lines: [], done: true };
}

/** A question from memory: it may be answered as often as one likes. */
export function recalled(face: Face, sheet: Sheet & { kind: "recall" }, answer: string): Face {
  const found = read(sheet.form, answer);
  if (!found) return refused(face, sheet.form, answer);
  const lines = verdict(sheet.id, (open(sheet.sealed) as Told).verdicts, found);
  return { ...face, chosen: found.shown, lines, done: lines.some(([tone]) => tone === "good") };
}

/** What the run gave beside the prediction, the question why, and what is said to the reason that was chosen. */
export function revealed(face: Face, sheet: Sheet & { kind: "reveal" }, form: Form, answer: string, reason: string): Face {
  const found = read(form, answer);
  if (!found) return face;
  const told = open(sheet.sealed) as Told;
  const judged = told.reasons[reason];
  const lines: Line[] = [...verdict(sheet.id, told.verdicts, found), ["ask", told.ask], ...(judged?.lines ?? [])];
  return { ...face, text: told.text, choices: told.choices, stacked: true, chosen: reason, lines, done: judged?.holds ?? false };
}
