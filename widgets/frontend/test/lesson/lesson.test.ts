/** The cards of a lesson in a page without a kernel. `answers.json` is what Python says of the same answers. */
import { readFileSync } from "node:fs";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { render } from "../../src/index";
import { digest, read, type Form } from "../../src/lesson/forms";
import { Lesson } from "../../src/lesson/lesson";
import { play } from "../../src/player";

interface Golden {
  answers: { id: string; form: Form; typed: string; digest: string | null; shown: string | null }[];
  cards: Record<string, object>;
}

const golden = JSON.parse(readFileSync("test/answers.json", "utf8")) as Golden;

it.each(golden.answers)("reads $typed for $id as Python does", ({ id, form, typed, digest: expected, shown }) => {
  const found = read(form, typed);
  expect([found?.shown ?? null, found && digest(id, found.value)]).toEqual([shown, expected]);
});

/** A page with one lesson: a question from memory in a cell, a prediction and what the run gave in the two below it. */
function page(): void {
  const places = Object.keys(golden.cards).map((name) => `<div class="cell"><div data-minigrad="${name}"></div></div>`);
  const data = Object.entries(golden.cards).map(([name, state]) => `<script type="application/json" id="${name}">${JSON.stringify(state)}</script>`);
  document.body.innerHTML = `<div data-minigrad-lesson="01"></div>${places.join("")}${data.join("")}`;
  Element.prototype.scrollIntoView = () => undefined; // jsdom lays nothing out
  vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
  play(render, (place) => new Lesson(place));
}

const card = (name: string): HTMLElement => document.querySelector(`[data-minigrad=${name}] .mg-question-card`) as HTMLElement;
const tones = (name: string): string[] => [...card(name).querySelectorAll<HTMLElement>(".mg-line")].map((line) => line.dataset["tone"] ?? "");
const click = (name: string, value: string): void => card(name).querySelector<HTMLElement>(`[data-value="${value}"]`)?.click();

function type(name: string, text: string): void {
  const field = card(name).querySelector("input") as HTMLInputElement;
  field.focus();
  field.value = text;
  card(name).querySelector("form")?.requestSubmit();
}

describe("a lesson in a page", () => {
  beforeEach(() => {
    localStorage.clear();
    page();
  });

  it("refuses what does not fit, and judges what does", () => {
    type("recall", "often");
    expect(tones("recall")).toEqual(["refused"]);
    type("recall", "(2,)");
    expect(tones("recall")).toEqual(["bad", "quiet"]);
    expect(card("recall").textContent).toContain("(2,): not what the run gives. You may be thinking");
    type("recall", "2, 3");
    expect(tones("recall")).toEqual(["good"]);
    expect(card("recall").dataset["done"]).toBe("true");
  });

  it("tells what the run gave once there is a prediction, and leads the keyboard there", () => {
    expect(card("reveal").textContent).toContain("not yet");
    click("predict", "2");
    expect(card("predict").textContent).toContain("You said 2. The cell below says what happened.");
    expect(card("reveal").textContent).toContain("You said 2. The run disagrees.");
    expect(card("reveal").contains(document.activeElement)).toBe(false); // by the mouse
    click("predict", "1");
    expect(card("reveal").textContent).toContain("You said 2.");
  });

  it("leads the keyboard from a prediction to its run, and leaves it on the reason that holds", () => {
    card("predict").querySelector<HTMLElement>("[data-value='1']")?.focus();
    click("predict", "1");
    expect(document.activeElement).toBe(card("reveal").querySelector("[data-value=a]"));
    click("reveal", "a");
    expect(tones("reveal")).toEqual(["good", "ask", "bad", "code", "quiet", "quiet"]);
    (document.activeElement as HTMLElement).focus();
    click("reveal", "b");
    expect(card("reveal").dataset["done"]).toBe("true");
    expect((document.activeElement as HTMLElement).dataset["value"]).toBe("b");
  });

  it("shows all of it again in a page that is opened later, until it is cleared", () => {
    click("predict", "1");
    click("reveal", "b");
    type("recall", "?");
    const shown = (): string[] => ["predict", "reveal", "recall"].map((name) => [...card(name).children].map((part) => part.innerHTML).join());
    const before = shown();
    page();
    expect(shown()).toEqual(before);
    const bar = document.querySelector(".mg-lesson") as HTMLElement;
    expect(bar.textContent).toContain("2 of 2 answered. Your answers stay in this browser.");
    vi.stubGlobal("confirm", () => true);
    bar.querySelector("button")?.click();
    expect(bar.textContent).toContain("0 of 2 answered");
    expect(card("reveal").textContent).toContain("not yet");
    expect(localStorage.length).toBe(0);
  });

  it("goes on where the browser keeps nothing, and says so", () => {
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new Error("full");
    });
    vi.spyOn(console, "info").mockImplementation(() => undefined);
    click("predict", "1");
    expect(card("reveal").textContent).toContain("The run agrees.");
    expect(document.querySelector(".mg-lesson")?.textContent).toContain("kept until you leave this page");
    vi.restoreAllMocks();
  });

  it("does not have the answer in the page as text", () => {
    const sheet = JSON.stringify(golden.cards["reveal"]);
    expect(sheet).not.toContain("The run says");
    expect(JSON.stringify(golden.cards["recall"])).not.toContain("right");
  });
});
