"""Cells that are run in a lesson's page: the script of each page, and the Python shell that its worker runs.

They use the Pyodide of the lab (website/lab.py). `python -m website.cells DIR`, with the folder of a built site, prints
what is fetched for the first cell.
"""

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


def first_cell(site: Path) -> list[Path]:
    """The files of a site that are fetched when a cell is first run."""
    packages = json.loads((site / LAB / "pyodide-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted, found = list(LOADED), []
    while wanted:
        package = packages[wanted.pop().replace("_", "-")]
        if package["file_name"] not in found:
            found.append(package["file_name"])
            wanted += package["depends"]
    return [*STATIC, SHELL, *(LAB / name for name in (*CORE, *found))]


def sent(file: Path) -> int:
    """The bytes of a file as a host sends it, compressed by gzip."""
    return len(gzip.compress(file.read_bytes(), 6))


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    sizes = {file: sent(site / file) for file in first_cell(site)}
    for file, size in sizes.items():
        print(f"{size:>10,}  {file}")
    print(f"{sum(sizes.values()):>10,}  in all, as a host sends it")
