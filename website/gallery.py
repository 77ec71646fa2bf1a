"""The gallery with its inspectors alive: its code is run as one notebook, and what it shows replaces the pictures."""

import re

from nbformat.v4 import new_code_cell, new_notebook

from website.lessons import make_live, player, run
from website.pages import PICTURE, ROOT

CODE = re.compile(r"```python\n(?P<code>.*?)```\n", re.DOTALL)


def live_gallery(text: str) -> str:
    """The page of docs/gallery.md with a live inspector in the place of each picture whose code shows one."""
    blocks = list(CODE.finditer(text))
    notebook = new_notebook(cells=[new_code_cell(block["code"]) for block in blocks])
    run(notebook, ROOT)
    make_live(notebook, "gallery")
    for block, cell in reversed(list(zip(blocks, notebook.cells, strict=False))):
        shown = [output["data"]["text/html"] for output in cell.outputs
                 if 'class="live"' in output.get("data", {}).get("text/html", "")]
        picture = PICTURE.match(text, block.end() + 1)
        if shown and picture:
            text = f"{text[:picture.start()]}````{{raw}} html\n{shown[0]}\n````\n{text[picture.end():]}"
    return f"{text}\n````{{raw}} html\n{player('_static/')}\n````\n"
