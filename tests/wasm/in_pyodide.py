"""What runs inside Pyodide: the cells of a lesson, in a shell such as a notebook's kernel has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import comm
from comm.base_comm import BaseComm
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

__all__ = ["play", "printed"]


class Unheard(BaseComm):
    """A widget's line to a browser, where there is none."""

    def publish_msg(self, *args: Any, **options: Any) -> None:
        """Say nothing."""


def printed(outputs: list[dict[str, Any]]) -> list[str]:
    """The texts of a cell: what it printed, then what it showed, but for the names of figures, then its error."""
    streams = "".join("".join(out["text"]) for out in outputs if out.get("name") == "stdout")
    shown = ["".join(out["data"].get("text/plain", "")) for out in outputs if "data" in out]
    errors = [f"{out['ename']}: {out['evalue']}" for out in outputs if out["output_type"] == "error"]
    return [streams, *[text for text in shown if not text.startswith("<Figure")], *errors]


def play(path: Path) -> list[list[str]]:
    """Run the code cells of a notebook, and return the texts of each."""
    comm.create_comm = Unheard
    shell = InteractiveShell.instance()
    shell._showtraceback = lambda *of: None  # it would be printed among what the cell prints
    results: list[dict[str, Any]] = []

    def show(value: Any) -> None:
        if value is not None:
            results.append({"output_type": "execute_result", "data": shell.display_formatter.format(value)[0]})

    shell.display_trap.hook = show
    found = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            with capture_output() as captured:
                result = shell.run_cell("".join(cell["source"]), store_history=True)
            error = result.error_in_exec or result.error_before_exec
            outputs: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": captured.stdout}]
            outputs += [{"output_type": "display_data", "data": out.data} for out in captured.outputs] + results
            results.clear()
            if error is not None:
                outputs.append({"output_type": "error", "ename": type(error).__name__, "evalue": str(error)})
            found.append(printed(outputs))
    return found
