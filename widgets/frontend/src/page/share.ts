/** "share": the inspector at this step as a standalone page, or as a link that contains the recording itself. */
import { html, write } from "./dom";
import { fragmentOf, LONGEST } from "./fragment";
import type { Link } from "./link";

const NO_PROGRAM = "This page cannot give its own program away: save it, or copy a link.";

/** JSON that may be in a script element: it contains no `<`. */
function quoted(state: unknown): string {
  return JSON.stringify(state).replaceAll("<", "\\u003c");
}

/** A page that shows a state without network requests. `script`: a module or, for a page, its classic script. */
export function pageOf(state: Record<string, unknown>, { script, style, module }: { script: string; style: string; module: boolean }): string {
  const parts = [
    '<!doctype html>\n<html lang="en" data-minigrad-page>\n<head>\n<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">\n<title>minigrad inspector</title>',
    `<style>\n${style}\n</style>\n</head>\n<body>`,
    '<main data-minigrad="state" aria-label="minigrad inspector"></main>',
    `<script type="application/json" id="state">${quoted(state)}</script>`,
    `<script${module ? ' type="module"' : ""}>\n${script.replaceAll("</script", "<\\/script")}\n</script>\n</body>\n</html>\n`,
  ];
  return parts.join("\n");
}

export class Share {
  readonly element: HTMLDetailsElement;
  private readonly said = html("output", { class: "mg-said", "aria-live": "polite" });
  private readonly text = html("textarea", { class: "mg-shared", rows: 3, readonly: true, "aria-label": "to copy by hand" });

  constructor(private readonly link: Link) {
    this.text.hidden = true;
    const body = html("div", { class: "mg-share-body" }, this.button("copy as page", () => this.page()), this.button("copy as link", () => this.address()), this.said, this.text);
    this.element = html("details", { class: "mg-share" }, html("summary", {}, "share"), body);
    this.element.addEventListener("toggle", () => this.say(""));
  }

  private button(name: string, act: () => Promise<void>): HTMLElement {
    const button = html("button", { type: "button", class: "mg-tab" }, name);
    button.addEventListener("click", () => void act().catch((error: unknown) => this.say(`That did not work: ${String(error)}`)));
    return button;
  }

  private async page(): Promise<void> {
    const program = await this.link.program();
    if (!program) return this.say(NO_PROGRAM);
    const page = pageOf(this.link.state(), program);
    await this.copy(page, `Copied: a page of ${Math.round(page.length / 1024)} kB. Paste it into a file with a name that ends in .html.`);
  }

  private async address(): Promise<void> {
    const fragment = await fragmentOf(this.link.trace, this.link.lens, this.link.step);
    if (fragment.length > LONGEST) {
      return this.say(`This recording needs ${(fragment.length / 1024).toFixed(1)} kB, and a link holds 8 kB: copy it as a page.`);
    }
    await this.copy(`${this.link.player}#${fragment}`, `Copied: a link of ${((fragment.length) / 1024).toFixed(1)} kB that holds the whole recording.`);
  }

  /** If the clipboard cannot be written to, the text is shown, to be copied by hand. */
  private async copy(text: string, told: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.say(told);
    } catch {
      this.say("The browser did not let the clipboard be written to. Copy this:");
      this.text.hidden = false;
      this.text.value = text;
      this.text.select();
    }
  }

  private say(text: string): void {
    this.text.hidden = true;
    write(this.said, text);
  }
}
