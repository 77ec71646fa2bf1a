/** A lesson in a page without a kernel: its cards are judged here, and the answers are stored in this browser. */
import { html, write } from "../page/dom";
import type { PageModel } from "../page/pagemodel";
import type { Face } from "../views/card";
import { predicted, recalled, revealed } from "./judge";
import type { Sheet } from "./judge";
import { Kept } from "./kept";

interface Asked {
  model: PageModel;
  sheet: Sheet;
  blank: Face;
}

export class Lesson {
  private readonly kept: Kept;
  private readonly cards: Asked[] = [];
  private readonly clearing: (() => void)[] = [];
  private readonly count = html("span", { role: "status" });
  private readonly button = html("button", { type: "button", class: "mg-answer" }, "Clear answers");

  constructor(place: HTMLElement) {
    this.kept = new Kept(place.dataset["minigradLesson"] ?? "");
    this.button.addEventListener("click", () => this.clear());
    place.append(html("section", { class: "mg-root mg-lesson", "aria-label": "your answers" }, this.count, this.button));
  }

  /** Adds a model of the page to the lesson: a card with its sheet, or an inspector with questions. */
  join(place: string, model: PageModel): void {
    const sheet = model.get("sheet") as Sheet | undefined;
    if (sheet) this.joinCard({ model, sheet, blank: model.get("face") as Face });
    else if (Array.isArray(model.get("ask"))) this.joinInspector(`ask ${place}`, model);
  }

  /** Shows earlier answers; called once all models have joined. */
  open(): void {
    for (const asked of this.cards) asked.model.set("face", this.face(asked));
    this.show();
  }

  private joinCard(asked: Asked): void {
    this.cards.push(asked);
    asked.model.on("change:said", () => this.heard(asked));
  }

  private heard(asked: Asked): void {
    const { answer } = asked.model.get("said") as { answer: string };
    const face = this.face(asked, answer);
    const fits = face.chosen !== "";
    if (fits) this.kept.put(name(asked.sheet), answer);
    if (fits && asked.sheet.kind === "predict") this.tell(asked.sheet.id);
    asked.model.set("face", face);
    this.show();
  }

  /** Before a prediction is shown as made, the cell below shows the result of the run: the focus moves on to it. */
  private tell(id: string): void {
    for (const asked of this.cards) if (asked.sheet.kind === "reveal" && asked.sheet.id === id) asked.model.set("face", this.face(asked));
  }

  private face({ sheet, blank }: Asked, answer = this.answer(name(sheet))): Face {
    if (sheet.kind === "reveal") {
      const asked = this.cards.find((card) => card.sheet.kind === "predict" && card.sheet.id === sheet.id)?.sheet;
      const said = this.answer(`predict ${sheet.id}`);
      return asked?.kind === "predict" && said !== "" ? revealed(blank, sheet, asked.form, said, answer) : blank;
    }
    if (answer === "") return blank;
    return sheet.kind === "predict" ? predicted(blank, sheet, answer) : recalled(blank, sheet, answer);
  }

  private answer(key: string): string {
    const found = this.kept.get(key);
    return typeof found === "string" ? found : "";
  }

  /** The answers of ask mode; those to a recording that has changed since are discarded. */
  private joinInspector(key: string, model: PageModel): void {
    const asks = JSON.stringify(model.get("ask"));
    const held = this.kept.get(key) as { asks: string; answers: unknown } | undefined;
    if (held?.asks === asks && Array.isArray(held.answers)) model.set("answers", held.answers);
    model.on("change:answers", () => this.kept.put(key, { asks, answers: model.get("answers") }));
    this.clearing.push(() => model.set("answers", []));
  }

  private clear(): void {
    if (!confirm("Clear your answers to this lesson?")) return;
    for (const clear of this.clearing) clear();
    this.kept.clear();
    for (const { model, blank } of this.cards) model.set("face", blank);
    this.show();
  }

  private show(): void {
    const questions = this.cards.filter(({ sheet }) => sheet.kind !== "reveal");
    const answered = questions.filter(({ sheet }) => this.answer(name(sheet)) !== "").length;
    const where = this.kept.lasting ? "Your answers stay in this browser." : "Your answers are kept until you leave this page.";
    write(this.count, `Everything on this page has been run for you, and you can answer its questions: ${answered} of ${questions.length} answered. ${where}`);
    this.button.hidden = answered === 0;
  }
}

const name = ({ kind, id }: Sheet): string => `${kind} ${id}`;
