"""A walk through whole lessons: every card answered, wrongly and rightly, every exercise written, everything looked at.

    python -m tests.browser.walks.walk FOLDER 00 01 17 --by keyboard --window 800x800 --dark

keeps a picture of each stage in the folder, and prints what is wrong: a key that gets lost, a card that does not
answer, text that is faint, small or covered, a page wider than its window. With --look the lesson is looked at once
more, from top to bottom, in windows of 800 to 1,600 pixels and in both themes. A lesson takes a minute or two.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from shutil import copy
from typing import Any

from playwright.sync_api import Browser, Error, Locator, Page, expect

from minigrad_lessons.bank import PREDICTIONS
from tests.browser.fixtures import LESSONS, NOTEBOOKS, READ, THEMES
from tests.browser.jupyter import WHOLE, Lab, chrome, lab, open_notebook, settings, switch
from tests.browser.walks.student import FORWARD, Keyboard, Mouse, Student
from tests.groups import chromium
from tests.lessons.answers import KEYS
from tests.lessons.play import lesson

ASKED = re.compile(r'^(recall|predict|reveal)\("([^"]+)"', re.MULTILINE)
SOON = 30_000
WINDOWS = ((800, 800), (1280, 720), (1280, 800), (1600, 800))
# What is ours on a screen of a lesson, and whether it is wider than the window.
WRONG = """panel => {
  const screen = panel.getBoundingClientRect(), root = document.documentElement;
  const parts = [...panel.querySelectorAll(".jp-RenderedMarkdown, .jp-OutputArea-output")].filter(part => {
    const { top, bottom } = part.getBoundingClientRect();
    const theirs = part.matches("[data-mime-type='application/vnd.jupyter.stderr']");
    return !theirs && bottom >= screen.top && top <= screen.bottom;
  });
  const roots = parts.flatMap(part => [...part.querySelectorAll(".mg-root")]);
  const isWide = panel.scrollWidth > panel.clientWidth + 1 || root.scrollWidth > innerWidth;
  const wide = isWide ? ["wider than the window"] : [];
  const cut = parts.filter(part =>
    part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).overflowX === "hidden");
  return [...wide, ...cut.map(part => `cut: ${part.textContent.slice(0, 60)}`), ...read.faint(parts, screen),
    ...read.small(parts, 11, screen), ...roots.flatMap(each => [...read.overlaps(each), ...read.outside(each),
      ...read.halved(each)])];
}"""


class Walk:
    """One lesson, by one student; `found` holds what is wrong. Without a folder no pictures are kept."""

    def __init__(self, student: Student, shots: Path | None = None) -> None:
        self.student, self.shots = student, shots
        self.page, self.key = student.page, KEYS[student.name]
        self.found: list[str] = []
        self.number, self.stepped = 0, False

    def through(self, last: str | None = None) -> None:
        """Go through the cells in their order, to the last or to this one."""
        self.shot("opened")
        for cell in lesson(self.student.name).cells:
            if cell.cell_type == "code" and cell.source:
                self.cell(cell)
            if cell.id == last:
                break
        self.shot("end")

    def cell(self, cell: Any) -> None:
        """Run a cell and answer what it asks; an exercise is written, first as somebody gets it wrong."""
        while self.student.at() < self.student.ids.index(cell.id):
            self.student.run_one()
        if cell.id in self.key.exercises:
            for source, said in (self.key.exercises_wrong[cell.id][0], (self.key.exercises[cell.id], "passed.")):
                self.student.write(cell.id, source)
                expect(self.student.cell(cell.id).locator(".jp-OutputArea")).to_contain_text(said, timeout=SOON)
                self.shot(cell.id)
            if self.student.at() == self.student.ids.index(cell.id):
                self.student.run_one()
            return
        self.student.run_one()
        self.ran(cell.id)
        asked = ASKED.findall(cell.source)
        for at, (kind, id) in enumerate(asked):
            try:
                self.answer(self.student.card(cell.id, at), kind, id, f"{cell.id}-{at}")
            except (Error, AssertionError) as wrong:
                self.found.append(f"{cell.id}, {kind} {id}: {str(wrong).splitlines()[0]}")
                self.student.cell(cell.id).click()
        root = self.student.cell(cell.id).locator(".mg-root[data-step]")
        if not asked and root.count() and cell.id != "summary":
            self.step(root.first, cell.id)
            self.stepped = True

    def ran(self, id: str) -> None:
        """Wait until a cell has run."""
        expect(self.student.cell(id).locator(".jp-InputPrompt")).to_have_text(re.compile(r"\[\d+\]"), timeout=SOON)

    def step(self, root: Locator, id: str) -> None:
        """Take steps in an inspector."""
        if self.stepped:  # only a lesson's first inspector takes the keyboard by itself
            root.focus()
        try:
            for _ in range(3):
                if root.get_by_role("button", name=FORWARD).get_attribute("aria-disabled") == "true":
                    break  # the last step, or a node has to be called by hand
                self.student.step(root)
            self.shot(id)
        except (Error, AssertionError) as wrong:
            self.found.append(f"{id}: {str(wrong).splitlines()[0]}")
        if isinstance(self.student, Keyboard):
            self.page.keyboard.press("Shift+Enter")  # on to the next cell

    def answer(self, card: Locator, kind: str, id: str, stage: str) -> None:
        """Give the wrong answer and then, where it may still be changed, the right one."""
        if kind == "recall":
            given = [str(eval(self.key.recall_wrong[id][0][0])), str(eval(self.key.recall[id]))]
        elif kind == "reveal":
            right = self.key.why[id]
            given = [next(letter for letter in PREDICTIONS[id].why.reasons if letter != right), right]
        else:
            wrong = int(id.partition(".")[2]) % 2
            given = [self.key.predict_wrong[id][0][0] if wrong else self.key.predict[id]]
        for number, each in enumerate(given):
            self.focused(card, stage)
            if card.locator(".mg-field").count():
                self.student.type(card, each)
            else:
                self.student.choose(card, each)
            if number + 1 < len(given):
                expect(card.locator("[role=status] [data-tone=bad]")).to_be_visible(timeout=SOON)
            else:
                expect(card).to_have_attribute("data-done", "true", timeout=SOON)
            self.shown(card, stage)
            self.shot(f"{stage}-{number}")

    def shown(self, card: Locator, stage: str) -> None:
        """What there is to be said to an answer is in the window."""
        last = card.locator("[role=status] .mg-line").last
        if last.count():
            box, edge = last.bounding_box(), panel(self.page).bounding_box()
            if box and edge and box["y"] + box["height"] > edge["y"] + edge["height"] + 1:
                self.found.append(f"{stage}: what is said to the answer is below the window")

    def focused(self, card: Locator, stage: str) -> None:
        """Whoever has only the keyboard is in the card, sees where, and may save."""
        if not isinstance(self.student, Keyboard):
            return
        self.page.wait_for_function("card => card.contains(document.activeElement)", arg=card.element_handle(),
                                    timeout=10_000)
        where = self.page.evaluate("read.focus()")
        if not where["seen"]:
            self.found.append(f"{stage}: the focus on {where['name']} is not seen")

    def shot(self, stage: str) -> None:
        """Keep a picture of the window, and look at it."""
        self.number += 1
        self.keep(f"{type(self.student).__name__.lower()}-{self.number:03}-{stage}")
        self.found += [f"{stage}: {each}" for each in panel(self.page).evaluate(WRONG)]

    def keep(self, stage: str) -> None:
        """Keep a picture of the window."""
        if self.shots:
            self.page.screenshot(path=self.shots / f"{self.student.name[:2]}-{stage}.png")

    def look(self, size: tuple[int, int], theme: tuple[str, str]) -> None:
        """Look at all of the lesson, a screen at a time."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        if self.page.locator("body").get_attribute("data-jp-theme-name") != theme[0]:
            switch(self.page, *theme)
        self.page.wait_for_timeout(500)  # the drawings fit themselves into the window
        screen, end = panel(self.page).evaluate("panel => [panel.clientHeight, panel.scrollHeight]")
        for at, top in enumerate(range(0, int(end), screen - 60)):
            panel(self.page).evaluate("(panel, top) => { panel.scrollTop = top; }", top)
            stage = f"{size[0]}x{size[1]}-{'light' if theme[1] == 'true' else 'dark'}-{at:02}"
            self.keep(f"whole-{stage}")
            self.found += [f"{stage}: {each}" for each in panel(self.page).evaluate(WRONG)]


def panel(page: Page) -> Locator:
    """What scrolls."""
    return page.locator(".jp-NotebookPanel .jp-WindowedPanel-outer")


def walk(browser: Browser, lessons: Lab, name: str, way: type[Student], shots: Path, size: tuple[int, int],
         looks: bool) -> list[str]:
    """Walk through a lesson in a window of this size; return what is wrong."""
    copy(NOTEBOOKS / f"{name}.ipynb", lessons.folder)
    window = browser.new_context(viewport={"width": size[0], "height": size[1]})
    window.add_init_script(path=READ)
    page = window.new_page()
    open_notebook(page, lessons, f"{name}.ipynb")
    walked = Walk(way(page, name), shots)
    try:
        walked.through()
    except (Error, AssertionError, StopIteration) as stopped:
        walked.found.append(f"stopped: {stopped}")
        walked.keep("stopped")
    for theme in THEMES if looks else ():
        for size in WINDOWS:
            walked.look(size, theme)
    session = lessons.session(f"{name}.ipynb", idle=False)
    window.close()
    if session:
        lessons.ask(f"api/sessions/{session['id']}", "DELETE")
    return walked.found


def main() -> None:
    """Walk as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("lessons", nargs="+", help="numbers, such as 00 and 17")
    parser.add_argument("--by", choices=["mouse", "keyboard"], default="keyboard")
    parser.add_argument("--window", default="1280x800", metavar="WIDTHxHEIGHT", help="in pixels (default: 1280x800)")
    parser.add_argument("--dark", action="store_true", help="in JupyterLab's dark theme")
    parser.add_argument("--look", action="store_true", help="look at each lesson in all windows and themes at the end")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    way = Mouse if asked.by == "mouse" else Keyboard
    width, _, height = asked.window.partition("x")
    with (tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home,
          lab(Path(folder), Path(home)) as running, chrome(str(chromium())) as browser):
        tracker = Path(home) / "settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
        tracker.parent.mkdir(parents=True, exist_ok=True)
        tracker.write_text(WHOLE, encoding="utf-8")
        if asked.dark:
            settings(Path(home), THEMES[1][0])
        for name in (name.removesuffix(".ipynb") for name in LESSONS if name[:2] in asked.lessons):
            found = walk(browser, running, name, way, asked.folder, (int(width), int(height)), asked.look)
            print(name, f"by {asked.by}:", *(sorted(set(found)) or ["nothing wrong"]), sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
