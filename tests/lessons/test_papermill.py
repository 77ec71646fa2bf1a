"""papermill runs every lesson with exit status 0, though some cells raise an error on purpose.

It takes any error in an output for a failure, also that of a cell whose tag says that it raises. Where papermill is not
installed, some lessons are run as it runs them, by nbclient, and their outputs are looked at as it does.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.groups import installed
from tests.lessons.play import NOTEBOOKS, lesson, need

PAPERMILL = bool(installed("papermill"))
SOME = ["03_next_functions"]  # it has cells that raise
ALL = sorted(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
MISSING = "import minigrad as torch\nfrom minigrad_lessons import predict\n{}"


@pytest.mark.parametrize("name", ALL if PAPERMILL else SOME)
def test_a_lesson_runs_and_no_output_is_an_error(name: str, tmp_path: Path) -> None:
    need(name)
    if PAPERMILL:
        command = [sys.executable, "-m", "papermill", "-k", "python3", str(NOTEBOOKS / f"{name}.ipynb"), "ran.ipynb"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr[-3000:]
        ran = nbformat.read(tmp_path / "ran.ipynb", as_version=4)
    else:
        ran = lesson(name)
        NotebookClient(ran, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in ran.cells for output in cell.get("outputs", [])]
    assert "error" not in {output.output_type for output in outputs}
    raising = [cell for cell in ran.cells if "raises-exception" in cell.metadata.get("tags", [])]
    for cell in raising:  # the error is there to be read
        assert any("Error" in output.text for output in cell.outputs if output.get("name") == "stderr"), cell.source


def test_a_cell_that_must_not_raise_still_fails(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(MISSING.format("torch.ones(2) + torch.ones(3)"))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    with pytest.raises(CellExecutionError, match="must match"):
        NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
