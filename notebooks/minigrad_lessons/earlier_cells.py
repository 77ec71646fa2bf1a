"""A cell that needs an earlier one says so: which name is missing, and which cell of the lesson makes it.

The lessons themselves are the index. Which of them is running is told by the lines of the cell that failed, so an
edited cell, a copied notebook and a renamed file are found as well.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from minigrad_lessons.folder import LessonError, shipped

LONGEST = 60  # of the line by which a cell is named
MAKERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Cell:
    """A code cell of a lesson: the heading that it stands under, its lines, and the names that it makes."""

    heading: str
    lines: tuple[str, ...]
    names: frozenset[str]


def sentence(name: str, source: str) -> str | None:
    """What to tell a student whose cell (`source`) misses a name; None where no earlier cell of a lesson makes it."""
    lines = _lines(source)
    shared, at, cells = max(((len(set(cell.lines) & set(lines)), at, cells) for cells in lessons()
                             for at, cell in enumerate(cells)), key=lambda each: each[0], default=(0, 0, ()))
    maker = next((place for place in reversed(range(at)) if name in cells[place].names), None)
    if not shared or maker is None:
        return None
    if maker == 0:
        which = "the first cell of this lesson"
    else:
        first = cells[maker].lines[0]
        first = first if len(first) <= LONGEST else f"{first[:LONGEST - 1]}…"
        which = f"an earlier cell: the one under “{cells[maker].heading}” that begins with `{first}`"
    return f"This cell needs `{name}`, which is made by {which}. Run that cell first, then this one again."


@cache
def lessons() -> tuple[tuple[Cell, ...], ...]:
    """The code cells of every lesson, in order; none where an installation has no lessons."""
    try:
        paths = shipped().values()
    except LessonError:
        return ()
    # Read as JSON: nbformat takes more than a second to import, and every lesson's first cell imports this module.
    return tuple(_cells(json.loads(path.read_text(encoding="utf-8"))) for path in paths)


def _cells(notebook: dict[str, Any]) -> tuple[Cell, ...]:
    heading, cells = "", []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            headings = [line.lstrip("# ") for line in source.splitlines() if line.startswith("#")]
            heading = headings[-1] if headings else heading
        else:
            cells.append(Cell(heading, _lines(source), _made(source)))
    return tuple(cells)


def _lines(source: str) -> tuple[str, ...]:
    stripped = (line.strip() for line in source.splitlines())
    return tuple(line for line in stripped if line and not line.startswith("#"))


def _made(source: str) -> frozenset[str]:
    """The names that a cell makes when it runs: those that are assigned, imported or defined outside of functions."""
    found: set[str] = set()
    to_visit: list[ast.AST] = list(ast.parse(source).body)
    while to_visit:
        node = to_visit.pop()
        if isinstance(node, MAKERS):
            found.add(node.name)
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        to_visit += ast.iter_child_nodes(node)
    return frozenset(found)
