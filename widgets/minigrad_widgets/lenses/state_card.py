"""The state card: what autograd knows about some tensors, side by side. Lesson 1 is built around it.

    state_card(x=x, y=y)

It reads the attributes that PyTorch's tensors and minigrad's share, copies them as plain data and keeps no tensor
alive. It never reads `.grad`, since asking a non-leaf for it warns. The card is a table in a notebook, a picture
where no markup is shown, and a text that is the same on every machine.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol

from minigrad.trace.format import shape_text
from minigrad_widgets.pictures import load

COLUMNS = ("is_leaf", "requires_grad", "grad_fn", "output_nr", "retains_grad", "_version")
FLAGS = {"is_leaf": "#00805d", "requires_grad": "#0072b2", "retains_grad": "#8f6500"}
UNTRACKED = "not tracked"


class TensorLike(Protocol):
    """What a tensor of either library offers; the card needs nothing else."""

    @property
    def is_leaf(self) -> bool: ...
    @property
    def requires_grad(self) -> bool: ...
    @property
    def grad_fn(self) -> Any: ...
    @property
    def output_nr(self) -> int: ...
    @property
    def retains_grad(self) -> bool: ...
    @property
    def shape(self) -> Sequence[int]: ...
    @property
    def dtype(self) -> Any: ...


@dataclass(frozen=True)
class State:
    """What autograd knew about one tensor when the card was made."""

    name: str
    kind: str
    is_leaf: bool
    requires_grad: bool
    grad_fn: str | None
    output_nr: int
    retains_grad: bool
    version: int | str

    def cells(self) -> dict[str, str]:
        """Return the text of each column."""
        values = (self.is_leaf, self.requires_grad, self.grad_fn, self.output_nr, self.retains_grad, self.version)
        return dict(zip(COLUMNS, map(str, values), strict=True))


def state_of(name: str, tensor: TensorLike) -> State:
    """Read one tensor's state."""
    kind = f"{shape_text(tuple(tensor.shape))} {str(tensor.dtype).removeprefix('torch.').removeprefix('minigrad.')}"
    node = tensor.grad_fn
    grad_fn = None if node is None else str(node.name()).rpartition("::")[2]
    flags = bool(tensor.is_leaf), bool(tensor.requires_grad)
    return State(name, kind, *flags, grad_fn, int(tensor.output_nr), bool(tensor.retains_grad), _version(tensor))


def _version(tensor: Any) -> int | str:
    try:
        return int(tensor._version)
    except RuntimeError:  # tensors made in inference mode have no version counter
        return UNTRACKED


class StateCard:
    """A table of tensors' states: `StateCard(x=x, y=y)`. A notebook shows it at the end of a cell."""

    def __init__(self, **tensors: TensorLike) -> None:
        self.states = tuple(state_of(name, tensor) for name, tensor in tensors.items())

    @property
    def text(self) -> str:
        """The card as an aligned text table."""
        rows: list[tuple[str, ...]] = [("", *COLUMNS)]
        rows += [(f"{state.name}  {state.kind}", *state.cells().values()) for state in self.states]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
        return "\n".join("  ".join(row).rstrip() for row in padded)

    def __repr__(self) -> str:
        return self.text

    def to_html(self) -> str:
        """Return the card as a table that follows the notebook's theme."""
        head = "".join(f'<th scope="col" style="{HEAD}">{name}</th>' for name in ("tensor", *COLUMNS))
        rows = "".join(_row(state) for state in self.states)
        return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'

    def to_png(self) -> bytes:
        """Return the card as a PNG picture."""
        png: bytes = load("sketch").to_png(load("state_card").draw(self.states).image())
        return png

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = {"text/html": self.to_html(), "text/plain": self.text}
        if sys.platform == "emscripten":  # as in widget/base.py
            return shown
        return {**shown, "image/png": b64encode(self.to_png()).decode()}


def state_card(**tensors: TensorLike) -> StateCard:
    """Show what autograd knows about some tensors, under the names that you give them."""
    return StateCard(**tensors)


LINE = "1px solid var(--jp-border-color2,#d9dce1)"
TABLE = ("border-collapse:separate;border-spacing:0;margin:4px 0;overflow:hidden;font-size:13px;text-align:left;"
         f"border:{LINE};border-radius:10px;color:var(--jp-ui-font-color1,#1d2127)")
HEAD = ("padding:7px 14px;text-align:left;font-weight:600;font-size:12px;background:var(--jp-layout-color2,#f3f4f6)")
CELL = f"padding:7px 14px;text-align:left;background:var(--jp-layout-color1,#fff);border-top:{LINE}"
CODE = "font-family:var(--jp-code-font-family,monospace)"
PILL = "display:inline-block;padding:0 9px;border-radius:20px;font-weight:600;font-size:12px;line-height:19px"
OFF = "border:1px dashed var(--jp-border-color1,#9aa2ae);color:var(--jp-ui-font-color2,#5b626d)"
SOFT = "color:var(--jp-ui-font-color2,#5b626d)"


def _row(state: State) -> str:
    name = f'<b style="{CODE}">{escape(state.name)}</b>&ensp;<span style="{SOFT}">{escape(state.kind)}</span>'
    cells = "".join(f'<td style="{CELL}">{_cell(column, text)}</td>' for column, text in state.cells().items())
    return f'<tr><th scope="row" style="{CELL};font-weight:400;white-space:nowrap">{name}</th>{cells}</tr>'


def _cell(column: str, text: str) -> str:
    if column not in FLAGS:
        quiet = SOFT if text in ("None", "0", UNTRACKED) else "font-weight:600"
        return f'<span style="{CODE};{quiet}">{escape(text)}</span>'
    if text == "True":
        filled = f"border:1px solid {FLAGS[column]};background:{FLAGS[column]};color:#fff"
        return f'<span style="{PILL};{filled}">✓ True</span>'
    return f'<span style="{PILL};{OFF}">False</span>'
