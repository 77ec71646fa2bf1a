/** The faces of a lesson's cards in a page without a kernel: what a card shows once it is answered. */
import type { Face } from "../views/card";
import { digest, read, UNSURE } from "./forms";
import type { Form, Read } from "./forms";

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
