"""Every lesson under WebAssembly: each cell gives what its executed copy holds, but for the differences listed here."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.groups import require
from tests.lessons.play import EXECUTED, PROCESSES
from tests.wasm import pyodide
from tests.wasm.lessons import stored

require("wasm", not pyodide.why_not(), pyodide.why_not())
NOTEBOOKS = sorted(EXECUTED.glob("*.ipynb"))
NUMBER = re.compile(r"\bnr \d+")  # a process numbers its nodes, and here one runs all lessons

# By lesson and cell: what is otherwise there, and why it is.
DIFFERENCES: dict[tuple[str, str], str] = {}

PROGRAM = """
import json, os
from pathlib import Path
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as in a kernel
import matplotlib.font_manager  # it lists the fonts once, which a kernel's first picture says on stderr
from tests.wasm.lessons import run
json.dump(run(sorted(Path("/src/tests/lessons/executed").glob("*.ipynb"))), open("/job/result.json", "w"))
"""


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """By lesson and by id: the outputs of its cells."""
    return pyodide.run(PROGRAM, tmp_path_factory.mktemp("lessons"), pyodide.PACKAGES)


def plain(outputs: Any) -> Any:
    """Outputs without the numbers of nodes."""
    return [NUMBER.sub("nr", repr(output)) for output in outputs]


def differing(name: str, there: Any) -> set[str]:
    """The ids of the cells that give something else."""
    here = stored(EXECUTED / f"{name}.ipynb")
    assert here.keys() == there[name].keys()
    return {cell for cell in here if plain(here[cell]) != plain(there[name][cell])}


@pytest.mark.parametrize("name", [path.stem for path in NOTEBOOKS if path.name[:2] not in PROCESSES])
def test_each_cell_gives_what_it_gives_elsewhere(name, there):
    assert differing(name, there) == {cell for lesson, cell in DIFFERENCES if lesson == name}


@pytest.mark.parametrize("name", [path.stem for path in NOTEBOOKS if path.name[:2] in PROCESSES])
def test_a_lesson_with_several_processes_says_in_its_first_cell_where_it_runs(name, there):
    [kind, error, said] = next(iter(there[name].values()))[-1]
    assert (kind, error) == ("error", "RankError") and "no browser can" in said and "JupyterLab" in said


def test_a_changed_output_is_found():
    here = {path.stem: stored(path) for path in NOTEBOOKS}
    name, cell = "01_tensors_and_leaves", "torch"
    assert differing(name, here) == set()
    here[name][cell] = [["stdout", "nothing"]]
    assert differing(name, here) == {cell}
