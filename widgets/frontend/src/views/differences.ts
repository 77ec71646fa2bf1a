/** The differences between two recordings as a table: rows of both, with equal ones folded into one line. */
import { html } from "../page/dom";
import { differences } from "../trace/differences";
import type { Pair } from "../trace/differences";
import type { Maybe, Trace } from "../trace/types";

const SHOWN = 400;
const MARKS = { other: "≠", first: "−", second: "+" } as const;
const WORDS = { other: "differs", first: "only in the first", second: "only in the second" } as const;

type Named = readonly [name: string, trace: Trace];

export function differenceTable([name, first]: Named, [other, second]: Named, go: (step: number) => void): HTMLElement {
  const pairs = differences(first, second);
  const differing = pairs.filter(({ kind }) => kind !== "same").length;
  const rows: HTMLElement[] = [];
  let alike = 0;
  const fold = (): void => {
    if (alike > 0) rows.push(html("tr", { class: "mg-alike" }, html("td", { colspan: 3 }, alike === 1 ? "1 event alike" : `${alike} events alike`)));
    alike = 0;
  };
  for (const pair of pairs) {
    if (pair.kind === "same") alike += 1;
    else {
      fold();
      rows.push(row(pair, go));
    }
  }
  fold();
  const heads = ["≠", name, other].map((text) => html("th", { scope: "col" }, text));
  const summary = differing === 0 ? "nothing differs" : `${differing} of ${pairs.length} events differ`;
  const more = rows.length > SHOWN ? ` (the first ${SHOWN} rows)` : "";
  const caption = html("caption", { class: "mg-quiet" }, `${name} against ${other}: ${summary}${more}`);
  const table = html("table", { class: "mg-table mg-differences", "data-differing": differing }, caption, html("thead", {}, html("tr", {}, ...heads)));
  table.append(html("tbody", {}, ...rows.slice(0, SHOWN)));
  return html("div", { class: "mg-scroll mg-differ", tabindex: 0, role: "group", "aria-label": `${name} against ${other}` }, table);
}

function row({ steps, texts, kind }: Pair, go: (step: number) => void): HTMLElement {
  const of = kind as keyof typeof MARKS;
  const cell = (at: 0 | 1): HTMLElement => html("td", {}, ...(steps[at] === null ? [] : [button(texts[at], steps[at], go)]));
  const mark = html("td", { title: WORDS[of] }, html("span", { "aria-hidden": true }, MARKS[of]), html("span", { class: "mg-hidden" }, WORDS[of]));
  return html("tr", { "data-kind": kind }, mark, cell(0), cell(1));
}

function button(text: string, step: Maybe, go: (step: number) => void): HTMLElement {
  const made = html("button", { type: "button", class: "mg-said-step" }, text);
  made.addEventListener("click", () => go(step ?? 0));
  return made;
}
