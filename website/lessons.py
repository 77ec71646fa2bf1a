"""The lessons as pages with no kernel: each is run once more; its inspectors are live, and its questions answerable."""

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from html import escape
from pathlib import Path
from typing import Any

import nbformat
from mdit_py_plugins.anchors.index import slugify
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from website.cells import add_cells
from website.pages import REPOSITORY, ROOT
from website.sheets import SHEETS

VIEW = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
LAUNCH = "https://mybinder.org/v2/gh/{project}/v{version}?urlpath=lab/tree/notebooks/{name}"
HERE = ('<a class="run-here" href="../lab/lab/index.html?path={name}">Run this lesson here</a> (in your browser, with '
        'nothing to install; it keeps what you save) · ')
PROJECT = "/".join(REPOSITORY.split("/")[-2:])
ASK_FOR_SHEETS = f"import sys\nsys.path.append({str(ROOT)!r})\nfrom website.sheets import show_sheets\nshow_sheets()"
TO_BINDER = '<p class="needs-python">This needs Python: <a href="{launch}">solve it in Binder</a>.</p>'
STILL_NOTE = "*If nothing runs where you read this"  # it stands above the still picture of a lesson
# What a text says of a cell to run, and what is true on the site, where it has run, and no cell can be added.
HAS_RUN = tuple((re.compile(pattern), told) for pattern, told in (
    (r"Run the next cell \(Shift\+Enter\),\s+(?:(?:then|and)\s+)?press", "Press"),
    (r"Run the next cell \(Shift\+Enter\),\s+click", "Click"),
    (r"in the first cell, run the second, then choose a\s+reason", "in the first cell; the second shows what the run "
     "gave, and asks why"),
    (r"before you\s+run\s+the cell", "before you read what it prints"),
    (r"write (`hint\([^)]*\)`) into a new\s+cell", r"add \1 as the last line of the cell below"),
    (r"in a\s+new\s+cell helps", "as the last line of the cell helps"),
    (r"in a new\s+cell", "in place of the code above"),
))
TO_HEADING = re.compile(r"(\]\([\w.]*#)(\S+)(\)(?=[.,\s]|$))", re.MULTILINE)  # a link to a heading as JupyterLab has it
MOST_BYTES = 3_000_000  # of a lesson that is saved with the state of its widgets
Notebook = Any  # nbformat has no types


def copy_lessons(target: Path, version: str, lab: bool) -> None:
    """Run each lesson and put it into the folder, its inspectors live. `lab`: whether each is to lead to the lab.

    Raises:
        ValueError: if a lesson with the state of its widgets is too heavy to be saved and mailed.
    """
    target.mkdir(parents=True)
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    with ThreadPoolExecutor(2) as pool:
        for path, notebook in zip(notebooks, pool.map(_run_lesson, notebooks), strict=True):
            size = len(nbformat.writes(notebook).encode())
            print(f"{path.stem}: {size / 1e6:.2f} MB with the state of its widgets")
            if size > MOST_BYTES:
                raise ValueError(f"{path.name} with the state of its widgets has {size} bytes; at most {MOST_BYTES}")
            launch = LAUNCH.format(project=PROJECT, version=version, name=path.name)
            _make_answerable(notebook, launch, path.stem, HERE.format(name=path.name) if lab else "")
            make_live(notebook, path.stem)
            notebook.cells = [each for cell in notebook.cells for each in _with_mark(cell)]
            if lab:
                add_cells(notebook)
            nbformat.write(notebook, target / path.name)


def _run_lesson(path: Path) -> Notebook:
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:  # the page has the inspector itself, so it needs no still picture of it
        if cell.pop("attachments", None):
            cell.source = cell.source.partition(STILL_NOTE)[0].rstrip()
        if cell.cell_type == "markdown":
            cell.source = already_run(cell.source)
            cell.source = TO_HEADING.sub(lambda link: link[1] + slugify(link[2]) + link[3], cell.source)
    notebook.cells.append(new_code_cell(ASK_FOR_SHEETS))
    return run(notebook, path.parent)


def already_run(text: str) -> str:
    """Say what is true on the site, where each cell has run and its picture stands there at once."""
    for asked, told in HAS_RUN:
        text = asked.sub(told, text)
    return text


def _with_mark(cell: Notebook) -> list[Notebook]:
    """A cell, below a mark to which the page of questions links if the cell answers one."""
    answers = any(tag.startswith(("answers:", "contradicts:")) for tag in cell.metadata.get("tags", ()))
    return [*([new_markdown_cell(f'<div id="cell-{cell.id}"></div>')] if answers else []), cell]


def _make_answerable(notebook: Notebook, launch: str, lesson: str, here: str) -> None:
    """Put beside each question what the page judges it by; where Python is needed, lead to Binder."""
    sheets = notebook.cells.pop().outputs[0]["data"][SHEETS]
    widgets = notebook.metadata["widgets"][STATE]["state"]
    for model, sheet in sheets.items():
        widgets[model]["state"]["sheet"] = sheet
    for cell in notebook.cells:
        if "check" in cell.metadata.get("tags", ()):
            cell.outputs.append(new_output("display_data", data={"text/html": TO_BINDER.format(launch=launch)}))
    place = f'\n\n<div data-minigrad-lesson="{lesson}"></div>' if sheets else ""
    notebook.cells[0].source += f"\n\n{here}[Open this lesson in Binder]({launch}){place}"


def run(notebook: Notebook, folder: Path) -> Notebook:
    """Run a notebook in a fresh kernel, in that folder; a traceback names files as the repository does."""
    client = NotebookClient(notebook, timeout=300, coalesce_streams=True, resources={"metadata": {"path": folder}})
    client.execute(env={**os.environ, "MINIGRAD_LIVE": "1"})  # the page has a player that runs the widgets
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [line.replace(f"{ROOT}/", "") for line in output.traceback]
    return notebook


def make_live(notebook: Notebook, lesson: str) -> None:
    """Put the player in the place of each widget's view; the state that it shows is in the notebook's metadata."""
    widgets = notebook.metadata.pop("widgets", {}).get(STATE, {}).get("state", {})
    shown = 0
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            view = data.pop(VIEW, None)
            model = widgets[view["model_id"]] if view else None
            if model and model["model_module"] == "anywidget":  # others have a text or a picture beside their view
                html = live(f"{lesson}-{shown}", model["state"], data.get("text/plain", ""))
                output["data"], shown = {"text/html": html}, shown + 1
    notebook.cells.append(new_markdown_cell(player("../_static/")))  # without an inspector too: it knows the theme


def live(place: str, state: dict[str, Any], text: str, *, plays: bool = False) -> str:
    """A place for an inspector in a page, with the state that it starts from, and its text where no script runs.

    With `plays` it steps by itself until somebody touches it.
    """
    plain = {name: value for name, value in state.items() if not name.startswith("_") and name != "layout"}
    written = json.dumps(plain).replace("<", "\\u003c")
    unattended = " data-minigrad-plays" if plays else ""
    return (f'<div class="live" data-minigrad="state-{place}"{unattended}></div>'
            f'<script type="application/json" id="state-{place}">{written}</script>'
            f"<noscript><pre>{escape(text)}</pre></noscript>")


def player(static: str) -> str:
    """What wakes the inspectors of a page; it stands after all of them."""
    return f'<script src="{static}player.js"></script>'
