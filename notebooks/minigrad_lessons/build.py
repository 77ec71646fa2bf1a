"""Builds the lessons: `python -m minigrad_lessons.build` makes `notebooks/*.ipynb` out of `notebooks/src/*.py`.

A source is a Python file in the percent format. `# %% id=p1 tags=predict,answer` opens a cell, `# %% [markdown]` one
with text in comments. What stands before the first cell is for readers of the source.

Each lesson is run in a fresh kernel, and two notebooks are written. The one in `notebooks/` is what a student opens:
it has no outputs, so nothing looks already run. The one in `tests/lessons/executed/` has the outputs, for the tests to
compare with: their texts and pictures, without the views of widgets, which differ from run to run. The picture of the
first inspector also goes into the lesson's cell `still`, for readers on a site that shows notebooks and runs none. A
last cell leads on, to the next lesson and to what belongs to this one.
"""

import copy
import json
import linecache
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from minigrad_lessons.bank import beliefs
from minigrad_lessons.folder import LessonError
from minigrad_lessons.path import PUZZLES, Course, with_way_on
from minigrad_lessons.processes.ranks import ranks
from minigrad_lessons.same_in_torch import TRANSCRIPTS, fingerprint, printed, pytorch

NotebookNode = Any  # nbformat has no types

NOTEBOOKS = Path(__file__).parents[1]
CHECKOUT = NOTEBOOKS.parent
SOURCES = NOTEBOOKS / "src"
EXECUTED = CHECKOUT / "tests" / "lessons" / "executed"
STILL = "still.png"  # the name of the attachment
KEPT = ("text/plain", "text/html", "image/png")
MARK = re.compile(r"^# %%(?P<markdown> \[markdown\])? id=(?P<id>[\w-]+)(?: tags=(?P<tags>\S+))?$")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read_source(text: str) -> NotebookNode:
    """A source in the percent format as a notebook that has not been run."""
    cells: list[NotebookNode] = []
    for line in text.splitlines():
        mark = MARK.match(line)
        if mark:
            new = new_markdown_cell if mark["markdown"] else new_code_cell
            tags = (mark["tags"] or "").split(",") if mark["tags"] else []
            cells.append(new("", id=mark["id"], metadata={"tags": tags} if tags else {}))  # type: ignore[no-untyped-call]  # nbformat has no types
        elif line.startswith("# %%"):
            raise ValueError(f"a cell needs an id: {line}")
        elif cells:
            cells[-1].source += line + "\n"
    for cell in cells:
        cell.source = cell.source.strip("\n")
        if cell.cell_type == "markdown":
            cell.source = "\n".join(line.removeprefix("#").removeprefix(" ") for line in cell.source.splitlines())
    return new_notebook(cells=cells, metadata=METADATA)


def run(notebook: NotebookNode) -> NotebookNode:
    """Run a notebook in a fresh kernel, and keep of its outputs what every viewer can show."""
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", coalesce_streams=True)
    client.execute(env={**os.environ, "MINIGRAD_LIVE": "1"})  # errors as a notebook has them
    notebook.metadata = METADATA
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata.pop("execution", None)
            cell.outputs = [_kept(output) for output in cell.outputs]
    return notebook


def _kept(output: NotebookNode) -> NotebookNode:
    if "data" in output:
        output["data"] = {kind: value for kind, value in output["data"].items() if kind in KEPT}
        output["metadata"] = {}
    if output["output_type"] == "error":
        output["traceback"] = [f"{output['ename']}: {output['evalue']}"]
    return output


def with_still(notebook: NotebookNode) -> NotebookNode:
    """Attach the picture of the first inspector to the cell `still`.

    Raises:
        ValueError: if the lesson has no such cell, or no cell with the tag `opening` that shows a picture.
    """
    pictures = [output["data"]["image/png"] for cell in notebook.cells if "opening" in cell.metadata.get("tags", [])
                for output in cell.outputs if "image/png" in output.get("data", {})]
    cells = [cell for cell in notebook.cells if cell.id == "still"]
    if len(cells) != 1 or not pictures:
        raise ValueError("a lesson needs one cell `still`, and a cell with the tag `opening` that shows an inspector")
    cells[0]["attachments"] = {STILL: {"image/png": pictures[0].strip()}}
    return notebook


def without_outputs(notebook: NotebookNode) -> NotebookNode:
    """The notebook as a student opens it."""
    given = copy.deepcopy(notebook)
    for cell in given.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return given


@cache
def course(checkout: Path = CHECKOUT) -> Course:
    """What the lessons can speak of. A checkout has what it is read from, an installed package has not."""
    sources = (checkout / "notebooks" / "src").glob("*.py")
    cells = {source.stem: read_source(source.read_text(encoding="utf-8")).cells for source in sources}
    titles = {name: str(lesson[0].source).partition("\n")[0].removeprefix("# ") for name, lesson in cells.items()}
    puzzles = "\n\n".join(cell.source for name, lesson in cells.items() if int(name[:2]) == PUZZLES for cell in lesson)
    said = [text for file in (checkout / "widgets" / "frontend" / "src").rglob("*.ts")
            for text in re.findall(r'"([^"\n]+)"', file.read_text(encoding="utf-8"))]
    controls = frozenset(name for text in said for name in (text, text.partition(" (")[0]))
    return Course(titles, puzzles, (checkout / "docs" / "glossary.md").read_text(encoding="utf-8"), controls)


def build(source: Path) -> None:
    """Build one lesson: the notebook that students open, and the executed one that tests compare with."""
    notebook = with_way_on(with_still(run(read_source(source.read_text(encoding="utf-8")))), source.stem, course())
    for made, folder in ((without_outputs(notebook), NOTEBOOKS), (notebook, EXECUTED)):
        nbformat.validate(made)
        nbformat.write(made, folder / f"{source.stem}.ipynb")


def transcribe(library: ModuleType) -> dict[str, dict[str, str]]:
    """What PyTorch prints for each program of the lessons, by the program's fingerprint."""
    found = {}
    for source in sorted(SOURCES.glob("*.py")):
        for cell in read_source(source.read_text(encoding="utf-8")).cells:
            if "torch" in cell.metadata.get("tags", []):
                names: dict[str, Any] = {"same_in_torch": lambda program: program, "ranks": ranks}
                name = f"<{source.stem}>"  # ranks asks for the text of a function
                linecache.cache[name] = (len(cell.source), None, cell.source.splitlines(keepends=True), name)
                exec(compile(cell.source, name, "exec"), names)
                text = printed(names["program"], library)
                version = str(library.__version__).partition("+")[0]
                found[fingerprint(cell.source)] = {"lesson": source.stem, "version": version, "text": text}
    return found


def main(names: Sequence[str] = ()) -> int:
    """Build all notebooks, or those whose file names begin so (`01`), and what the misconceptions would answer; with
    PyTorch, its transcripts too.
    """
    if not SOURCES.is_dir():
        raise LessonError("The sources of the lessons are not in an installation: build them in a checkout.")
    beliefs.write()
    library = pytorch()
    if library is not None:
        TRANSCRIPTS.write_text(json.dumps(transcribe(library), indent=1) + "\n", encoding="utf-8")
    for source in sorted(SOURCES.glob("*.py")):
        if not names or source.name.startswith(tuple(names)):
            build(source)
            print(f"built {source.stem}.ipynb")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
