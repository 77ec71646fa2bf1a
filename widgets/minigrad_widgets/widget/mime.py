"""How a widget and its picture stand in a notebook's output, for all notebooks and what is made of them."""

from __future__ import annotations

import builtins
import os
from base64 import b64encode
from textwrap import shorten
from typing import Any

VIEW = "application/vnd.jupyter.widget-view+json"
LONGEST = 600  # characters of an alternative text


def view_of(widget: Any) -> dict[str, Any]:
    """Return what an output holds of a widget: the id of its model, as ipywidgets 8 says it; 7, Colab's, does not."""
    return if_run({VIEW: {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}})


def if_run(data: dict[str, Any]) -> dict[str, Any]:
    """Return an output's data, without the view of a widget where nobody will run the widget.

    A page that nbconvert makes prefers a view to a picture, and without a network it shows neither.
    """
    return {kind: value for kind, value in data.items() if kind != VIEW} if is_unattended() else data


def is_unattended() -> bool:
    """Whether a program runs this notebook and nobody looks on: nbconvert, papermill, whatever else uses nbclient.

    It tells the kernel to keep its history in memory, which no front end does; a kernel that can write no file does
    so untold. `MINIGRAD_LIVE=1` says that a front end shows the notebook later.
    """
    running = getattr(builtins, "get_ipython", lambda: None)()  # there while IPython runs a cell
    told = getattr(running, "config", {}).get("HistoryManager", {}).get("hist_file")
    return told == ":memory:" and os.environ.get("MINIGRAD_LIVE") != "1"


def picture_of(png: bytes, text: str) -> tuple[dict[str, str], dict[str, Any]]:
    """Return a picture for an output, and its metadata: the alternative text that nbconvert and JupyterLab give it."""
    return {"image/png": b64encode(png).decode()}, {"image/png": {"alt": shorten(text, LONGEST, placeholder=" …")}}
