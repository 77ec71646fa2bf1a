"""A student who goes through a lesson in JupyterLab, by the mouse alone or by the keyboard alone."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.fixtures import keep
from tests.browser.jupyter import PATIENCE
from tests.lessons.play import lesson

FAR = PATIENCE * 1000
FORWARD = re.compile("one step forward|next →")  # a lesson's first picture has only two buttons


class Student:
    """Goes through a lesson cell by cell; a subclass has a mouse or a keyboard, and nothing else."""

    def __init__(self, page: Page, name: str) -> None:
        self.page, self.name = page, name
        self.ids = [cell.id for cell in lesson(name).cells]

    def cell(self, id: str) -> Locator:
        """A cell of the lesson."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(self.ids.index(id))

    def card(self, id: str, at: int = 0) -> Locator:
        """A question card that a cell shows."""
        found = self.cell(id).locator(".mg-question-card").nth(at)
        found.wait_for(timeout=FAR)
        return found

    def at(self) -> int:
        """The place of the cell that would run next."""
        cells = self.page.locator(".jp-Notebook .jp-Cell")
        return int(cells.evaluate_all("all => all.findIndex(cell => cell.classList.contains('jp-mod-active'))"))

    def run_through(self, id: str) -> None:
        """Run the cells up to this one, one after the other."""
        prompt = self.cell(id).locator(".jp-InputPrompt")
        for _ in range(3 * len(self.ids)):
            if prompt.inner_text().strip() not in ("", "[ ]:"):
                break
            self.run_one()
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=FAR)

    def run_one(self) -> None:
        """Run the cell that is chosen, and go on to the next."""
        raise NotImplementedError

    def step(self, root: Locator) -> None:
        """The next step in the inspector that came last."""
        raise NotImplementedError

    def choose(self, card: Locator, value: str) -> None:
        """Choose an answer."""
        raise NotImplementedError

    def type(self, card: Locator, text: str) -> None:
        """Type an answer, and send it."""
        raise NotImplementedError

    def write(self, id: str, source: str) -> None:
        """Put another text into a cell, and run it."""
        raise NotImplementedError

    def shot(self, stage: str) -> None:
        """Keep a picture."""
        keep(self.page, f"student-{self.name[:2]}-{type(self).__name__.lower()}-{stage}")


class Mouse(Student):
    """Clicks; only an answer that has to be typed is typed."""

    def run_one(self) -> None:
        before = self.at()
        self.page.locator("[data-jp-item-name='run'] jp-button").click()
        self.page.wait_for_function("before => [...document.querySelectorAll('.jp-Notebook .jp-Cell')].findIndex("
                                    "cell => cell.classList.contains('jp-mod-active')) !== before", arg=before)

    def step(self, root: Locator) -> None:
        root.get_by_role("button", name=FORWARD).click()

    def choose(self, card: Locator, value: str) -> None:
        card.locator(f".mg-choice[data-value='{value}']").click()

    def type(self, card: Locator, text: str) -> None:
        card.locator(".mg-field").fill(text)
        card.locator(".mg-answer").click()

    def write(self, id: str, source: str) -> None:
        self.cell(id).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        self.run_one()


class Keyboard(Student):
    """Presses keys, and relies on the keyboard being where it is wanted."""

    def run_one(self) -> None:
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_timeout(250)

    def step(self, root: Locator) -> None:
        expect(root).to_be_focused(timeout=FAR)
        self.page.keyboard.press("ArrowRight")

    def choose(self, card: Locator, value: str) -> None:
        choices = card.locator(".mg-choice")
        values = choices.evaluate_all("all => all.map(each => each.dataset.value)")
        self.page.wait_for_function("card => card.contains(document.activeElement)", arg=card.element_handle())
        for _ in values:
            if self.page.evaluate("document.activeElement.dataset.value") == value:
                break
            self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press("Enter")

    def type(self, card: Locator, text: str) -> None:
        expect(card.locator(".mg-field")).to_be_focused()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def write(self, id: str, source: str) -> None:
        assert self.at() == self.ids.index(id)
        self.page.keyboard.press("Enter")
        expect(self.cell(id).locator(".cm-content")).to_be_focused()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        self.page.keyboard.press("ControlOrMeta+Enter")
