"""Curves as a picture, in the colours of the inspectors; the printed form tells where each begins and ends."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO
from itertools import cycle
from typing import Any

from minigrad._base.optional import optional

INK, SOFT, GRID = "#1d2127", "#5b626d", "#e3e6ea"
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
WIDTH, HEIGHT, DPI = 8.0, 2.6, 100


class Lines:
    """Curves by name over the numbers from `start`: in one frame, or each in a frame of its own (`apart=True`).

    `up` says what the height is, `across` what is counted. With `log`, equal factors are equal heights.
    """

    def __init__(self, curves: Mapping[str, Sequence[float]], across: str, up: str, apart: bool = False,
                 start: int = 0, log: bool = False) -> None:
        self.curves = {name: [float(value) for value in values] for name, values in curves.items()}
        self.across, self.up, self.apart, self.start, self.log = across, up, apart, start, log

    def __repr__(self) -> str:
        told = [f"{name}: from {values[0]:.3g} to {values[-1]:.3g} after {len(values)}"
                for name, values in self.curves.items()]
        return "\n".join([f"{self.up}, by {self.across}", *told])

    def png(self) -> bytes:
        """The picture."""
        figure = optional("matplotlib.figure", "lessons").Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
        frames = figure.subplots(1, len(self.curves) if self.apart else 1, squeeze=False)[0]
        for (name, values), color, axes in zip(self.curves.items(), cycle(COLORS), cycle(frames)):
            axes.plot(range(self.start, self.start + len(values)), values, color=color, linewidth=1.8, label=name)
            if self.apart:
                axes.set_title(name, fontsize=9, color=INK, loc="left", weight="bold")
        for axes in frames:
            self._style(axes)
        frames[0].set_ylabel(self.up, fontsize=9, color=SOFT)
        if not self.apart:
            figure.legend(loc="outside upper right", ncols=len(self.curves), fontsize=8.5, frameon=False,
                          labelcolor=INK)
        out = BytesIO()
        figure.savefig(out, format="png", metadata={"Software": None})
        return out.getvalue()

    def _style(self, axes: Any) -> None:
        axes.set_xlabel(self.across, fontsize=9, color=SOFT)
        axes.xaxis.get_major_locator().set_params(integer=True)  # what is counted has no halves
        if self.log:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=min(0.0, *(min(values) for values in self.curves.values())))
        axes.grid(color=GRID, linewidth=0.8)
        axes.tick_params(which="both", labelsize=8, colors=SOFT, length=0)
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(GRID)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return {"text/plain": repr(self), "image/png": b64encode(self.png()).decode()}
