import { beforeEach, describe, expect, it } from "vitest";
import { render } from "../../src/index";
import { FakeModel } from "../fake";

const ASKED = {
  label: "Prediction 1.1", text: "What do you expect?", field: "", stacked: false, chosen: "", locked: false, done: false,
  choices: [["True", "True"], ["False", "False"], ["?", "I do not know"]], lines: [] as string[][],
};

let place: HTMLElement;

beforeEach(() => {
  Element.prototype.scrollIntoView = () => undefined; // jsdom lays nothing out
  place = document.createElement("div");
  document.body.replaceChildren(place);
});

function show(face: Record<string, unknown>): [FakeModel, HTMLElement] {
  const model = new FakeModel({ face: { ...ASKED, ...face }, said: {} });
  render({ model, el: place });
  return [model, place.querySelector(".mg-question-card") as HTMLElement];
}

const buttons = (root: HTMLElement): HTMLButtonElement[] => [...root.querySelectorAll<HTMLButtonElement>(".mg-choice")];
const texts = (root: HTMLElement, selector: string): string[] => [...root.querySelectorAll(selector)].map((each) => each.textContent ?? "");

/** A notebook of two cells: the card stands in the first, and the second is the one that comes next. */
function notebook(): HTMLElement {
  document.body.innerHTML = '<div class="jp-Notebook jp-mod-commandMode"><div class="jp-Cell"></div><div class="jp-Cell jp-mod-active" tabindex="0"></div></div>';
  place = document.querySelector(".jp-Cell") as HTMLElement;
  const next = place.nextElementSibling as HTMLElement;
  next.focus();
  return next;
}

describe("a question card", () => {
  it("says what was clicked, the same answer a second time too", () => {
    const [model, root] = show({});
    expect(texts(root, ".mg-choice")).toEqual(["True", "False", "I do not know"]);
    buttons(root)[1]?.click();
    expect(model.state["said"]).toEqual({ answer: "False", number: 1 });
    buttons(root)[1]?.click();
    expect(model.state["said"]).toEqual({ answer: "False", number: 2 });
    expect(model.saves).toBe(2);
  });

  it("changes its choices where they stand, so that no click falls between the old and the new", () => {
    const [model, root] = show({ field: "a number, such as 7" });
    const before = [...buttons(root), root.querySelector("input")];
    model.set("face", { ...(model.state["face"] as object), chosen: "False", locked: true, lines: [["good", "right"]], done: true });
    expect([...buttons(root), root.querySelector("input")]).toEqual(before);
    expect(buttons(root).map((button) => [button.getAttribute("aria-pressed"), button.getAttribute("aria-disabled")])).toEqual([["false", "true"], ["true", "true"], ["false", "true"]]);
    buttons(root)[0]?.click();
    expect(model.saves).toBe(0);
    model.set("face", { ...(model.state["face"] as object), choices: [["a", "since"], ["b", "because"]], stacked: true });
    expect(texts(root, ".mg-choice")).toEqual(["asince", "bbecause"]);
  });

  it("says what was typed, keeps it in the field, and sends nothing that is empty", () => {
    const [model, root] = show({ field: "a number, such as 7", choices: [["?", "I do not know"]] });
    const send = (value: string): void => {
      const field = root.querySelector("input") as HTMLInputElement;
      field.value = value;
      (root.querySelector("form") as HTMLFormElement).requestSubmit();
    };
    send("  ");
    expect(model.saves).toBe(0);
    send(" 12 ");
    expect(model.state["said"]).toEqual({ answer: "12", number: 1 });
    model.set("face", { ...(model.state["face"] as object), lines: [["refused", "12 does not fit"]] });
    expect(root.querySelector("input")?.value).toBe("12");
    root.querySelector("input")?.focus();
    model.set("face", { ...(model.state["face"] as object), chosen: "12" });
    expect(document.activeElement).toBe(root.querySelector("input"));
    expect(texts(root, "[role=status] [data-tone=refused]")).toEqual(["!12 does not fit"]);
  });

  it("shows text as text, marks the choice, and lets nobody change what is locked", () => {
    const [model, root] = show({ text: "<b>x</b>", chosen: "True", locked: true, lines: [["good", "<i>y</i>"]] });
    expect(root.querySelector("i")).toBeNull();
    expect(buttons(root).map((button) => button.getAttribute("aria-pressed"))).toEqual(["true", "false", "false"]);
    buttons(root)[1]?.click();
    expect(model.saves).toBe(0);
  });

  it("walks along its choices by the arrows, and keeps keys from the notebook", () => {
    const [, root] = show({});
    buttons(root)[0]?.focus();
    const leaked: string[] = [];
    document.body.addEventListener("keydown", (event) => leaked.push(event.key));
    for (const key of ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "b", "Tab"])
      document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    expect(document.activeElement).toBe(buttons(root)[2]);
    expect(leaked).toEqual(["Tab"]);
  });

  it("takes the keyboard when its cell was run by hand, and hands it on when it is answered", async () => {
    const next = notebook();
    const [model, root] = show({});
    await expect.poll(() => document.activeElement).toBe(buttons(root)[0]);
    model.set("face", { ...ASKED, chosen: "True", lines: [["refused", "no"]] });
    expect(document.activeElement).toBe(buttons(root)[0]);
    model.set("face", { ...ASKED, chosen: "True", done: true });
    expect(document.activeElement).toBe(next);
  });

  it("does not take the keyboard from another cell", async () => {
    notebook();
    const far = document.createElement("div");
    far.className = "jp-Cell jp-mod-active";
    far.tabIndex = 0;
    document.querySelector(".jp-mod-active")?.classList.remove("jp-mod-active");
    document.querySelector(".jp-Notebook")?.append(far);
    far.focus();
    show({});
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(document.activeElement).toBe(far);
  });
});
