"""Cells that are run in a lesson's page: the script of each page, and the Python shell that its worker runs.

They use the Pyodide of the lab (website/lab.py). A page that was opened from a folder may read nothing but scripts: for
it, each file that a cell may need is there once more, as a script that hands it over. `python -m website.cells DIR`,
with the folder of a built site, prints what is fetched for the first cell.
"""

import base64
import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from nbformat.v4 import new_markdown_cell

HERE = Path(__file__).parent
LAB = Path("lab") / "static" / "pyodide"
SHELL = Path("_static") / "cells_shell.py"
STATIC = [Path("_static") / name for name in ("cells.js", "cells_worker.js")]
CORE = ["pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"]
SCRIPTS = ("pyodide.js", "pyodide.asm.js")  # what a browser reads by itself, so that the page cannot count it
LOADED = ["comm", "minigrad-kit", "traitlets"]  # by static/cells_worker.js, with all that these depend on
IN_LESSONS = ["matplotlib", "scikit-learn"]  # which some cells of lessons import besides
FOLDER = Path("_static") / "folder"
SCRIPT = '<script src="../_static/cells.js" data-minigrad-cells></script>'


def add_cells(notebook: Any) -> None:
    """Let the cells of a lesson run in its page."""
    notebook.cells.append(new_markdown_cell(SCRIPT))


def complete(site: Path) -> None:
    """Give the pages of a built site, whose lab is there, the shell, and say how much they have to fetch."""
    shutil.copy(HERE / "shell.py", site / SHELL)
    files = [site / file for file in first_cell(site)]
    counted = sum(file.stat().st_size for file in files if file.parent == site / LAB and file.name not in SCRIPTS)
    told = f'data-bytes="{counted}" data-download="{sum(map(sent, files)) / 1e6:.0f}"'
    for page in (site / "lessons").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace("data-minigrad-cells", told), encoding="utf-8")
    (site / FOLDER).mkdir(exist_ok=True)
    for file in dict.fromkeys([*first_cell(site)[1:], *_packages(site, IN_LESSONS)]):
        packed = base64.b64encode(gzip.compress((site / file).read_bytes(), 6, mtime=0)).decode()
        script = f"minigradFile({json.dumps(file.name)}, {json.dumps(packed)});\n"
        (site / FOLDER / f"{file.name}.js").write_text(script, encoding="utf-8")


def first_cell(site: Path) -> list[Path]:
    """The files of a site that are fetched when a cell is first run."""
    return [*STATIC, SHELL, *(LAB / name for name in CORE), *_packages(site, LOADED)]


def _packages(site: Path, names: list[str]) -> list[Path]:
    """The files of packages, and of all that they depend on."""
    packages = json.loads((site / LAB / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted, found = list(names), []
    while wanted:
        package = packages[wanted.pop().replace("_", "-")]
        if package["file_name"] not in found:
            found.append(package["file_name"])
            wanted += package["depends"]
    return [LAB / name for name in found]


def sent(file: Path) -> int:
    """The bytes of a file as a host sends it, compressed by gzip."""
    return len(gzip.compress(file.read_bytes(), 6))


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    sizes = {file: sent(site / file) for file in first_cell(site)}
    for file, size in sizes.items():
        print(f"{size:>10,}  {file}")
    print(f"{sum(sizes.values()):>10,}  in all, as a host sends it")
