"""What each cell of a lesson gives, in IPython's shell alone: under WebAssembly no process can be started for a kernel.

An output is a list: `["stdout", text]`, `["error", name, message]`, or `["shown", {type: content}]`. Pictures are left
out: an inspector makes none where none is needed, and each version of matplotlib draws a plot in its own way.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import comm
from comm.base_comm import BaseComm, CommManager
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

__all__ = ["run", "stored"]

VIEW = "application/vnd.jupyter.widget-view+json"  # it has the id of a widget, which no two runs share
Output = list[Any]


def shown(data: dict[str, Any]) -> Output:
    """An output with what is shown."""
    return ["shown", {kind: content for kind, content in sorted(data.items())
                      if kind != VIEW and not kind.startswith("image/")}]


def code_cells(path: Path) -> Iterator[tuple[str, str, list[Any]]]:
    """Of each code cell of a notebook: its id, its source, its outputs."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield cell["id"], "".join(cell["source"]), cell["outputs"]


def stored(path: Path) -> dict[str, list[Output]]:
    """The outputs of an executed lesson, by the ids of its code cells."""
    return {name: list(map(as_output, outputs)) for name, _, outputs in code_cells(path)}


def as_output(output: dict[str, Any]) -> Output:
    """An output of a notebook, whose texts may be lists of lines."""
    if output["output_type"] == "stream":
        return [output["name"], "".join(output["text"])]
    if output["output_type"] == "error":
        return ["error", output["ename"], output["evalue"]]
    return shown({kind: "".join(content) for kind, content in output["data"].items()})


class Stream(io.TextIOBase):
    """Adds what is written to a list of outputs."""

    def __init__(self, name: str, outputs: list[Output]) -> None:
        self.name, self.outputs = name, outputs

    def write(self, text: str) -> int:
        """Add to the last output, if it is of this stream."""
        if self.outputs and self.outputs[-1][0] == self.name:
            self.outputs[-1][1] += text
        elif text:
            self.outputs.append([self.name, text])
        return len(text)


class Hook(DisplayHook):
    """Shows the value of a cell."""

    def write_output_prompt(self) -> None:
        """Nothing: a notebook has the number beside the cell."""

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        """Keep the value."""
        self.shell.outputs.append(shown(format_dict))

    def finish_displayhook(self) -> None:
        """Nothing: a terminal gets an empty line here."""


class Publisher(DisplayPublisher):
    """Shows what a cell displays."""

    def publish(self, data: Any, *args: Any, **options: Any) -> None:
        """Keep it."""
        self.shell.outputs.append(shown(data))


class Shell(InteractiveShell):
    """A shell that keeps what is shown in `outputs`."""

    displayhook_class, display_pub_class = Hook, Publisher
    outputs: list[Output]

    def showtraceback(self, *args: Any, **options: Any) -> None:
        """Keep the error."""
        kind, error, _ = self._get_exc_info(options.get("exc_tuple"))
        self.outputs.append(["error", kind.__name__, str(error)])


class Unheard(BaseComm):
    """A channel to a front end that is not there."""

    def publish_msg(self, *args: Any, **options: Any) -> None:
        """Nothing: nobody listens."""


@contextlib.contextmanager
def in_empty_folder(outputs: list[Output]) -> Iterator[None]:
    """Write what is printed into a list, and files into a folder that is removed."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(Stream("stdout", outputs)), \
            contextlib.redirect_stderr(Stream("stderr", outputs)):
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def run(lessons: Iterable[Path]) -> dict[str, dict[str, list[Output]]]:
    """By lesson and by id: the outputs of its code cells, which are run here."""
    comm.create_comm, manager = Unheard, CommManager()
    comm.get_comm_manager = lambda: manager
    shell, found = Shell.instance(), {}
    shell.outputs = []
    for path in lessons:
        shell.reset()
        with in_empty_folder(shell.outputs):
            found[path.stem] = {name: outputs_of(shell, source) for name, source, _ in code_cells(path)}
    return found


def outputs_of(shell: Shell, source: str) -> list[Output]:
    """Run a cell, and return what it gave."""
    shell.outputs.clear()
    shell.run_cell(source, store_history=True)
    return list(shell.outputs)
