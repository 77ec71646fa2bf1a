"""The still picture of an alias view: storages as rows of cells, with the tensors and saves that belong to each."""

from __future__ import annotations

from textwrap import shorten

from minigrad_widgets.lenses.alias_view import AliasView, Storage, contents, status
from minigrad_widgets.pictures.sketch import INK, SOFT, Look, Sketch

LINE, FACE, WRITTEN, GOOD, BAD = "#7a828e", "#d9ecf7", "#fbe6bf", "#00714f", "#b04c00"
CELL, ROW, LEFT, NAMES = 54, 26, 14, 330
MOST = 8


def draw(view: AliasView) -> Sketch:
    """Draw the storages at the view's step."""
    return _Picture(view)


class _Picture(Sketch):
    """The picture of a view."""

    def __init__(self, view: AliasView) -> None:
        self.view, self.versions = view, view.versions
        shown = view.storages[:MOST]
        rows = sum(2 + len(each["tensors"]) + len(each["saves"]) for each in shown)
        width = LEFT + NAMES + CELL * max([8, *(each["size"] for each in shown)]) + 120
        height = 44 + ROW * rows + 12
        super().__init__(0, 0, width, height)
        self.text(LEFT, 20, shorten(view._told(), int(width / 7.4), placeholder=" …"), INK, 9)
        self.y = 44.0
        for storage in shown:
            self.version_at = LEFT + NAMES + CELL * max(1, storage["size"]) + 10
            self.storage(storage, width)

    def storage(self, storage: Storage, width: float) -> None:
        self.rule(0, width, self.y - 6)
        middle = self.y + ROW / 2
        self.text(LEFT, middle, f"storage {storage['storage']}", SOFT, 8.5, bold=True)
        fresh = [cell for step, cells in storage["writes"] if step == self.view.step for cell in cells]
        for cell, text in enumerate(contents(storage)):
            x = LEFT + NAMES + CELL * cell
            self.box(x + CELL / 2, middle, CELL, ROW - 4, 0, Look(LINE, WRITTEN if cell in fresh else "#ffffff"))
            self.text(x + CELL / 2, middle, text, INK, 8, align="center")
        self.y += ROW + 4
        for seen in storage["tensors"]:
            self.tensor(seen["name"], seen["kind"], seen["cells"], self.versions[seen["counter"]])
        names = {seen["tensor"]: seen["name"] for seen in storage["tensors"]}
        for save in storage["saves"]:
            told = status(save, self.versions, self.view.step)
            color = BAD if told[0] in "✗!" else GOOD if told[0] == "✓" else SOFT
            head = f"{save['node']} saved {names[save['tensor']]} at version {save['version']}"
            self.text(LEFT + 12, self.y + ROW / 2, head, SOFT, 8)
            self.text(LEFT + NAMES, self.y + ROW / 2, told, color, 8, bold=True)
            self.y += ROW
        self.y += ROW - 4

    def tensor(self, name: str, kind: str, cells: list[int] | None, version: int) -> None:
        y = self.y + ROW / 2
        text = self.text(LEFT + 12, y, name, INK, 9, bold=True)
        self.text(text.x + text.width + 8, y + 1, kind, SOFT, 7.5)
        for cell in cells or ():
            x = LEFT + NAMES + CELL * cell
            self.box(x + CELL / 2, y, CELL - 10, 10, 4, Look("#0072b2", FACE))
        self.text(self.version_at, y, f"version {version}", INK, 8, bold=True)
        self.y += ROW
