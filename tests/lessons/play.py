"""Plays a student: takes a lesson as it is handed out, and writes answers into it."""

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat

from tests.groups import has_mpi, require

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
EXECUTED = Path(__file__).with_name("executed")
Notebook = Any
PROCESSES = frozenset({"14"})  # the lessons that start several processes


def need(name: str) -> None:
    """Skip the test where a lesson, or the lesson of a prediction (`14.2`), needs MPI, and there is none."""
    if name[:2] in PROCESSES:
        require("mpi", has_mpi(), "mpi4py and mpiexec are not installed (extra mpi)")


def lesson(name: str) -> Notebook:
    """A lesson as a student opens it."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def executed(name: str) -> Notebook:
    """The executed copy of a lesson, with its outputs."""
    return nbformat.read(EXECUTED / f"{name}.ipynb", as_version=4)


def write(notebook: Notebook, values: dict[str, str], whys: dict[str, str], cells: dict[str, str]) -> Notebook:
    """A copy with answers: values for `recall` and `predict` by id, reasons for `reveal`, whole cells by cell id."""
    written = copy.deepcopy(notebook)

    def fill(pattern: str, source: str, new: Callable[[str], str | None]) -> str:
        return re.sub(pattern, lambda m: new(m[1]) or m[0], source, flags=re.MULTILINE)

    for cell in written.cells:
        cell.source = cells.get(cell.id, cell.source)
        cell.source = fill(r'^(?:recall|predict)\("([^"]+)"\)$', cell.source,
                           lambda id: f'{"recall" if id[0] == "q" else "predict"}("{id}", {values[id]})'
                           if id in values else None)
        for id, letter in whys.items():
            cell.source = re.sub(rf'^(reveal\("{re.escape(id)}", .*)\)$', rf'\1, why="{letter}")', cell.source,
                                 flags=re.MULTILINE)
    return written


def cell_with(notebook: Notebook, call: str, id: str) -> str:
    """The id of the cell that holds `call("id"`."""
    start = re.compile(rf'^{call}\("{re.escape(id)}"', re.MULTILINE)
    return str(next(cell.id for cell in notebook.cells if cell.cell_type == "code" and start.search(cell.source)))
