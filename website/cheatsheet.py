"""The cheat sheet: `python -m website.cheatsheet` writes docs/cheatsheet.md; `--to DIR`, one page as SVG and as PDF.

What it says is found by running (facts.py); a test holds the committed page to it.
"""

import argparse
import textwrap
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

import minigrad
from minigrad_widgets.pictures.canvas import Chart
from website.facts import Table, tables

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cheatsheet.md"
WIDTH, HEIGHT = 1169, 827  # A4 on its side, in hundredths of an inch
MARGIN, GAP, LINE, TITLE = 40, 26, 15.6, 25
INK, SOFT, RULE, ACCENT = "#1d2127", "#5b626d", "#d9dce1", "#0072b2"
# For each column of the page: the tables in it by their place, and how wide each of their columns is, in letters.
PLACES = (((0, (34, 7, 14, 0)), (1, (34, 8, 9, 0)), (3, (34, 12, 0)), (7, (20, 0))), ((2, (15, 0)), (4, (3, 0))),
          ((5, (0,)), (6, (34, 0))))
SHARES = (0.385, 0.255, 0.36)  # of the page's width
LETTER = 5.55
TEXT = """# Cheat sheet

What minigrad and PyTorch 2.13 return, found by running them. `x`, `w` and `m` require grad, `d` does not, `a` is not a
leaf. This page is made by `python -m website.cheatsheet`; with `--to DIR`, it makes a printable sheet as SVG and PDF.

"""


def to_markdown(found: list[Table]) -> str:
    """The sheet as a page."""
    def row(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    parts = []
    for table in found:
        head, *rows = table.rows
        lines = [f"## {table.title}", "", row(head), row(("---",) * len(head))]
        parts.append("\n".join([*lines, *(row((f"`{first}`", *rest)) for first, *rest in rows)]))
    return TEXT + "\n\n".join(parts) + "\n"


def draw(found: list[Table]) -> Figure:
    """The sheet as a figure."""
    settings: dict[Any, Any] = {"font.family": "DejaVu Sans"}
    with rc_context(settings):
        figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(HEIGHT, 0)
        axes.text(MARGIN, MARGIN, "Autograd on one page", fontsize=17, weight="bold", color=INK, va="center")
        axes.text(WIDTH - MARGIN, MARGIN, "minigrad = PyTorch 2.13, found by running", fontsize=8, color=SOFT,
                  ha="right", va="center")
        x: float = MARGIN
        for share, column in zip(SHARES, PLACES):
            y: float = MARGIN + 42
            wide = share * (WIDTH - 2 * MARGIN - 2 * GAP)
            for place, widths in column:
                y = _draw_table(axes, found[place], (x, y), wide, widths)
            x += wide + GAP
    return figure


def _draw_table(axes: Any, table: Table, corner: tuple[float, float], wide: float, widths: tuple[int, ...]) -> float:
    x, y = corner
    axes.text(x, y, table.title, fontsize=11, weight="bold", color=ACCENT, va="center")
    y += TITLE * 0.8
    head, *rows = table.rows
    y = _draw_row(axes, head, (x, y), widths, {"color": SOFT, "weight": "bold"}) if len(widths) > 1 else y
    for row in rows:
        axes.plot([x, x + wide], [y - LINE * 0.62] * 2, color=RULE, linewidth=0.5)
        y = _draw_row(axes, row, (x, y), widths, {"color": INK})
    return y + TITLE * 0.7


def _draw_row(axes: Any, row: tuple[str, ...], corner: tuple[float, float], widths: tuple[int, ...],
              look: dict[str, Any]) -> float:
    """One row; a table in one column has its cells below each other."""
    x, y = corner
    letters = {"family": "DejaVu Sans Mono", "fontsize": 6.64, "va": "center", "parse_math": False}
    if len(widths) == 1:
        axes.text(x, y, row[0], **letters, **(look | {"weight": "bold"}))
        for line in textwrap.wrap(row[1], 66):
            y += LINE * 0.9
            axes.text(x, y, line, **letters, **(look | {"color": SOFT}))
        return float(y + LINE * 1.15)
    for cell, width in zip(row, widths):
        axes.text(x, y, cell, **letters, **look)
        x += width * LETTER
    return float(y + LINE)


def write_sheet(folder: Path) -> None:
    """Write cheatsheet.svg and cheatsheet.pdf into a folder."""
    figure = draw(list(tables(minigrad)))
    (folder / "cheatsheet.svg").write_text(Chart(figure).svg(), encoding="utf-8")
    canvas: Any = FigureCanvasPdf(figure)
    canvas.print_pdf(folder / "cheatsheet.pdf", metadata={"CreationDate": None})


def main() -> None:
    """Write the committed page, or the sheet to print."""
    parser = argparse.ArgumentParser(prog="python -m website.cheatsheet", description="Makes the cheat sheet.")
    parser.add_argument("--to", type=Path, help="a folder for cheatsheet.svg and cheatsheet.pdf")
    folder = parser.parse_args().to
    if folder is None:
        PAGE.write_text(to_markdown(list(tables(minigrad))), encoding="utf-8")
    else:
        write_sheet(folder)


if __name__ == "__main__":
    main()
