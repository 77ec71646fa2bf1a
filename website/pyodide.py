"""Fetches Pyodide, which runs Python in a browser: its core from npm, its packages from its own distribution, by hash.

A file counts only if its sha256 is the one in the lock that npm's Pyodide brings. All of it stays in `node_modules`
beside this file, which git ignores.
"""

import functools
import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["FOLDER", "PACKAGES", "command", "needed", "why_not"]

HERE = Path(__file__).parent
FOLDER = HERE / "node_modules" / "pyodide"
# What the lessons need, and what a notebook's kernel does: it asks for `jedi`, `micropip`, `sqlite3` and `ssl`.
PACKAGES = ("ipython", "jedi", "matplotlib", "micropip", "numpy", "scikit-learn", "sqlite3", "ssl")
SECONDS = 1_200
Filler = Callable[[Path, dict[str, str], Path], None]


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


def missing(pyodide: Path) -> dict[str, str]:
    """The files of `needed` that are not there, or not as the lock says."""
    return {name: digest for name, digest in needed(pyodide).items() if not (pyodide / name).is_file()
            or hashlib.sha256((pyodide / name).read_bytes()).hexdigest() != digest}


@functools.cache
def why_not(fill: Filler | None = None) -> str:
    """Fetch what is missing; return nothing if all is there, otherwise why Pyodide cannot be used.

    Where its distribution cannot be reached, `fill` is called with Pyodide's folder, the files that are missing with
    their hashes, and a folder to work in: it may have another source for them.
    """
    wanted = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]["pyodide"]
    if not all(shutil.which(program) for program in ("node", "npm")):
        return "node and npm are not installed"
    if not FOLDER.is_dir():
        try:
            _fetch(fill)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            return f"Pyodide {wanted} cannot be fetched from npm: {error}"
    if not FOLDER.is_dir():
        return f"the distribution of Pyodide {wanted}, with NumPy and the other packages, cannot be reached"
    found = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["version"]
    whole = found == wanted and not missing(FOLDER)
    return "" if whole else f"website/node_modules is no whole Pyodide {wanted}: remove it, and it is fetched again"


def _fetch(fill: Filler | None) -> None:
    """Fetch all into a folder of its own, and move that to its place if it is whole: others may do the same."""
    with tempfile.TemporaryDirectory(dir=HERE, prefix="node_modules-") as folder:
        work = Path(folder)
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, work)
        command("npm", "ci", cwd=work)
        pyodide = work / "node_modules" / "pyodide"
        with suppress(subprocess.CalledProcessError):  # what did not come is looked for below
            command("node", "--input-type=module", "-e", "import { loadPyodide } from 'pyodide'; const python = await "
                    f"loadPyodide(); await python.loadPackage({json.dumps(PACKAGES)});", cwd=work)
        if fill is not None and (left := missing(pyodide)):
            fill(pyodide, left, work)
        if not missing(pyodide):
            with suppress(OSError):  # another process was faster
                (work / "node_modules").rename(HERE / "node_modules")
