"""The alias view: which tensors share memory, what version it has, and which node saved which version. For lesson 8.

    AliasView(trace)

Each storage is a row of elements, with the tensors that share it below: views, and results of `detach()` and `.data`.
Nodes that have saved one of them are at the bottom, with the version at which they did; where the counter has moved on,
the backward pass will raise, and where the values were changed unnoticed, the gradient will be wrong. Stepping works in
both directions, without a kernel; what is shown is computed here, once.
"""

from __future__ import annotations

from textwrap import shorten
from typing import Any

import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from minigrad.recorder import Trace
from minigrad_widgets.aliases import Aliases, Save, Storage, aliases
from minigrad_widgets.widget import Widget

INK, SOFT, LINE, FACE, WRITTEN, GOOD, BAD = "#1d2127", "#5b626d", "#7a828e", "#d9ecf7", "#fbe6bf", "#00714f", "#b04c00"
DPI, CELL, ROW, LEFT, NAMES = 100, 54, 26, 14, 330
MOST = 8

def status(save: Save, versions: dict[int, int], step: int) -> str:
    """Return what has become of a saved tensor at a step."""
    if save["raised"] is not None and save["raised"] <= step:
        return f"✗ raised: it is at version {versions[save['counter']]}"
    if save["released"] is not None and save["released"] <= step:
        return "– released"
    now = versions[save["counter"]]
    if now != save["version"]:
        return f"✗ now at version {now}: backward will raise"
    if save["wrong"] is not None and save["wrong"] <= step:
        return "! changed, and the version does not tell: the gradient will be wrong"
    return "✓ unchanged"


class AliasView(Widget):
    """Shows the memory behind a trace's tensors; `step` can be set and observed, as an inspector's."""

    STATE = ("aliases", "step")

    aliases = traitlets.Dict(help="what is shown, by step").tag(sync=True)
    step = traitlets.Int(0, help="the event that is shown").tag(sync=True)

    def __init__(self, trace: Trace, step: int | None = None) -> None:
        self._found: Aliases = aliases(trace.to_dict())
        self._steps = [each for each, _ in self._found["steps"]]
        first = self._steps[0] if self._steps else 0
        super().__init__(aliases=dict(self._found), step=first if step is None else step)

    @traitlets.validate("step")
    def _known_step(self, proposal: dict[str, Any]) -> int:
        """Return the last stop at or before the requested step."""
        return max((each for each in self._steps if each <= int(proposal["value"])), default=self._first())

    def _first(self) -> int:
        return self._steps[0] if self._steps else 0

    @property
    def versions(self) -> dict[int, int]:
        """The version of each counter at this step, by the tensor that it is named after."""
        return {counter: version for step, counter, version in self._found["versions"] if step <= self.step}

    @property
    def storages(self) -> list[Storage]:
        """The storages that are known at this step, with their known tensors and saves."""
        now = self.step
        shown = []
        for each in self._found["storages"]:
            tensors = [seen for seen in each["tensors"] if seen["since"] <= now]
            saves = [save for save in each["saves"] if save["step"] <= now]
            if tensors:
                shown.append(Storage(storage=each["storage"], size=each["size"], tensors=tensors,
                                     writes=[(step, cells) for step, cells in each["writes"] if step <= now],
                                     saves=saves))
        return shown

    def _told(self) -> str:
        """What happened at this step. Without its number, which would not be that of the counter: most are left out."""
        return dict(self._found["steps"]).get(self.step, "nothing was recorded")

    @property
    def text(self) -> str:
        """The storages at this step in words."""
        lines = [f"AliasView, {self._told()}"]
        versions = self.versions
        for storage in self.storages:
            memory = contents(storage)
            lines.append(f"storage {storage['storage']}" + (f": {' '.join(memory)}" if memory else ""))
            for seen in storage["tensors"]:
                lines.append(f"  {seen['name']} {seen['shape']}, version {versions[seen['counter']]}: "
                             f"{seen['kind']}{looks_at(seen['cells'], storage['size'])}")
            names = {seen["tensor"]: seen["name"] for seen in storage["tensors"]}
            for save in storage["saves"]:
                lines.append(f"  {save['node']} saved {names[save['tensor']]} ({save['name']}) at version "
                             f"{save['version']}: {status(save, versions, self.step)}")
        return "\n".join(lines)

    def figure(self) -> Figure:
        """Return the storages at this step as a picture."""
        return _Picture(self).figure


def contents(storage: Storage) -> list[str]:
    """Return the known elements of a storage; empty for a large one."""
    known: dict[int, str] = {}
    for _, cells in storage["writes"]:
        known.update(cells)
    return [known.get(cell, "?") for cell in range(storage["size"])]


def looks_at(cells: list[int] | None, size: int) -> str:
    """Return which elements a tensor shows, unless it shows all of them in order."""
    return "" if cells is None or cells == list(range(size)) else f", elements {' '.join(map(str, cells))}"


class _Picture:
    """The still picture of a view."""

    def __init__(self, view: AliasView) -> None:
        self.view, self.versions = view, view.versions
        shown = view.storages[:MOST]
        rows = sum(2 + len(each["tensors"]) + len(each["saves"]) for each in shown)
        width = LEFT + NAMES + CELL * max([8, *(each["size"] for each in shown)]) + 120
        height = 44 + ROW * rows + 12
        self.figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)
        self.write(LEFT, 20, shorten(view._told(), int(width / 7.4), placeholder=" …"), INK, 9)
        self.y = 44.0
        for storage in shown:
            self.version_at = LEFT + NAMES + CELL * max(1, storage["size"]) + 10
            self.storage(storage, width)

    def write(self, x: float, y: float, text: str, color: str, size: float, weight: str = "normal",
              **more: Any) -> None:
        self.axes.text(x, y, text, fontsize=size, color=color, weight=weight, va="center", parse_math=False, **more)

    def storage(self, storage: Storage, width: float) -> None:
        self.axes.plot([0, width], [self.y - 6] * 2, color="#d9dce1", linewidth=0.8)
        middle = self.y + ROW / 2
        self.write(LEFT, middle, f"storage {storage['storage']}", SOFT, 8.5, "bold")
        fresh = [cell for step, cells in storage["writes"] if step == self.view.step for cell in cells]
        for cell, text in enumerate(contents(storage)):
            x = LEFT + NAMES + CELL * cell
            self.axes.add_patch(Rectangle((x, self.y + 2), CELL, ROW - 4, edgecolor=LINE, linewidth=1,
                                          facecolor=WRITTEN if cell in fresh else "white"))
            self.write(x + CELL / 2, middle, text, INK, 8, ha="center")
        self.y += ROW + 4
        for seen in storage["tensors"]:
            self.tensor(seen["name"], seen["kind"], seen["cells"], self.versions[seen["counter"]])
        names = {seen["tensor"]: seen["name"] for seen in storage["tensors"]}
        for save in storage["saves"]:
            told = status(save, self.versions, self.view.step)
            color = BAD if told[0] in "✗!" else GOOD if told[0] == "✓" else SOFT
            head = f"{save['node']} saved {names[save['tensor']]} at version {save['version']}"
            self.write(LEFT + 12, self.y + ROW / 2, head, SOFT, 8)
            self.write(LEFT + NAMES, self.y + ROW / 2, told, color, 8, "bold")
            self.y += ROW
        self.y += ROW - 4

    def tensor(self, name: str, kind: str, cells: list[int] | None, version: int) -> None:
        y = self.y + ROW / 2
        text = self.axes.text(LEFT + 12, y, name, fontsize=9, weight="bold", color=INK, va="center", parse_math=False)
        self.axes.annotate(f"  {kind}", (1, 0), xycoords=text, fontsize=7.5, color=SOFT, va="bottom", parse_math=False)
        for cell in cells or ():
            x = LEFT + NAMES + CELL * cell
            self.axes.add_patch(FancyBboxPatch((x + 5, y - 5), CELL - 10, 10, facecolor=FACE, edgecolor="#0072b2",
                                               boxstyle="round,pad=0,rounding_size=4", linewidth=1))
        self.write(self.version_at, y, f"version {version}", INK, 8, "bold")
        self.y += ROW
