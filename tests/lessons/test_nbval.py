"""nbval strict: each lesson prints, cell by cell, what its executed copy holds; with PyTorch and question cards to
click on, and without both.

By hand:  python -m pytest --nbval tests/lessons/executed/
Without PyTorch the same, with a folder on PYTHONPATH in which `torch.py` raises ImportError.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.groups import has_torch, require
from tests.lessons.play import EXECUTED, executed, need

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(EXECUTED.glob("*.ipynb"))
CELL = re.compile(r"^(?:.*/)?([\w-]+)::ipynb::Cell \d+ (PASSED|FAILED|ERROR)", re.MULTILINE)


NO_CARDS = """import importlib.abc, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "minigrad_widgets.widget.question_card":
            raise ModuleNotFoundError("anywidget is hidden", name="anywidget")

sys.meta_path.insert(0, Hidden())
"""


class Strict:
    """A run of pytest with nbval, which goes on while the tests do something else; `bare`: no PyTorch and no cards."""

    def __init__(self, folder: Path, notebooks: list[Path], bare: bool = False) -> None:
        environment = dict(os.environ)
        environment.pop("MPLBACKEND", None)  # a kernel has its own
        if bare:
            (folder / "torch.py").write_text("raise ImportError('torch is hidden')\n", encoding="utf-8")
            (folder / "sitecustomize.py").write_text(NO_CARDS, encoding="utf-8")  # Python runs it when it starts
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), environment.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "pytest", "--nbval", "-v", "-p", "no:cacheprovider", "-c", os.devnull,
                   "-p", "tests.lessons.sockets",
                   f"--rootdir={notebooks[0].parent}", *map(str, notebooks)]
        self.printed = folder / "printed.txt"
        with self.printed.open("w", encoding="utf-8") as out:
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)

    def said(self) -> str:
        """What it printed, when it is done."""
        self.process.wait()
        return self.printed.read_text(encoding="utf-8")

    def verdicts(self, notebook: Path) -> list[str]:
        """PASSED or FAILED, for each code cell of a notebook."""
        return [found for name, found in CELL.findall(self.said()) if name == notebook.stem]


@pytest.fixture(scope="module")
def strict(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Strict]]:
    """The runs with PyTorch and cards and without both, side by side, of the notebooks that were selected."""
    selected = [getattr(item, "callspec", None) for item in request.session.items]
    asked = {spec.params["notebook"] for spec in selected if spec is not None and "notebook" in spec.params}
    bare = {"with": False, "without": True} if has_torch() else {"without": True}
    runs = {key: Strict(tmp_path_factory.mktemp(key), sorted(asked), each) for key, each in bare.items()}
    yield runs
    for run in runs.values():
        run.process.kill()
        run.process.wait()


@pytest.mark.parametrize("torch", ["with", "without"])
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_stored_is_what_a_kernel_prints(notebook: Path, torch: str, strict: dict[str, Strict]) -> None:
    need(notebook.stem)
    require("torch", torch in strict, "PyTorch 2.13 is not installed")
    cells = [cell for cell in nbformat.read(notebook, as_version=4).cells if cell.cell_type == "code"]
    assert strict[torch].verdicts(notebook) == ["PASSED"] * len(cells), strict[torch].said()


CHANGES = (("is_leaf: True ", "is_leaf: False"), ("element 0 of tensors", "element 1 of tensors"),
           ("AddBackward0", "Add"))


def test_a_changed_output_is_found(tmp_path: Path) -> None:
    """A printed text, the words of an error, a name in a picture's text: the cells that hold them fail, no others."""
    notebook, expected = executed("01_tensors_and_leaves"), []
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):
        stored = changed = json.dumps(cell.outputs)
        for old, new in CHANGES:
            changed = changed.replace(old, new)
        cell.outputs = [nbformat.from_dict(output) for output in json.loads(changed)]
        expected.append("PASSED" if changed == stored else "FAILED")
    assert expected.count("FAILED") >= len(CHANGES)
    path = tmp_path / "changed.ipynb"
    nbformat.write(notebook, path)
    run = Strict(tmp_path, [path])
    assert run.verdicts(path) == expected and "Cell outputs differ" in run.said(), run.said()
