"""nbval strict: each committed notebook prints, cell by cell, what is stored in it; with PyTorch and without.

By hand:  python -m pytest --nbval notebooks/
Without PyTorch the same, with a folder on PYTHONPATH in which `torch.py` raises ImportError.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.groups import has_torch, require

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def nbval(*paths: Path, without: str = "", folder: Path) -> tuple[int, str]:
    """Exit status and output of pytest with nbval on these notebooks; `without` hides a package."""
    environment = dict(os.environ)
    if without:
        (folder / f"{without}.py").write_text(f"raise ImportError('{without} is hidden by a test')\n", encoding="utf-8")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(folder), environment.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", f"--rootdir={folder}",
               "-c", os.devnull, *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


def test_what_is_stored_is_what_runs_print_with_pytorch(tmp_path: Path) -> None:
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    assert NOTEBOOKS
    status, said = nbval(*NOTEBOOKS, folder=tmp_path)
    assert status == 0, said


def test_what_is_stored_is_what_runs_print_without_pytorch(tmp_path: Path) -> None:
    status, said = nbval(*NOTEBOOKS, without="torch", folder=tmp_path)
    assert status == 0, said


@pytest.mark.parametrize(("old", "new"), [
    ("is_leaf: True ", "is_leaf: False"), ("element 0 of tensors", "element 1 of tensors"), ("AddBackward0", "Add"),
])
def test_a_changed_output_is_found(tmp_path: Path, old: str, new: str) -> None:
    changed = tmp_path / "changed.ipynb"
    text = NOTEBOOKS[0].read_text(encoding="utf-8")
    assert old in text
    changed.write_text(text.replace(old, new), encoding="utf-8")
    status, said = nbval(changed, folder=tmp_path)
    assert status == 1 and "Cell outputs differ" in said, said
