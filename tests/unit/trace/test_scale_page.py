"""The tables and the plot of docs/scale.md are what the model says, and what the benchmark has measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")  # a dependency of the benchmarks
from benchmarks.scale import all_gradients, draw

PAGE = Path(__file__).parents[3] / "docs" / "scale.md"
RESULTS = PAGE.parents[1] / "benchmarks" / "results"


def test_the_table_is_what_the_model_says() -> None:
    rows = re.findall(r"^\| ([\d,]+) million \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(rows) == 6
    measured = json.loads((RESULTS / "ranks.json").read_text(encoding="utf-8"))["model"]
    constants = [()] * 3 + [(measured["alpha"], measured["beta"])] * 3
    for (parameters, cells), known in zip(rows, constants, strict=True):
        count = int(parameters.replace(",", "")) * 10 ** 6
        assert [cell.strip() for cell in cells.split("|")] == [
            f"{1e3 * all_gradients(count, ranks, *known):.2f} ms" for ranks in (8, 64, 1024)]


def test_the_plot_shows_the_same() -> None:
    assert "(images/scale.png)" in PAGE.read_text(encoding="utf-8") and (PAGE.parent / "images" / "scale.png").exists()
    curves = [line for line in draw().axes[0].lines if line.get_marker() != "None"]
    for parameters, line in zip((10 ** 6, 10 ** 8, 10 ** 10), curves, strict=True):
        found = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert found[64] == pytest.approx(1e3 * all_gradients(parameters, 64))


def test_the_predictions_are_those_of_the_benchmark() -> None:
    runs = json.loads((RESULTS / "ranks_predicted.json").read_text(encoding="utf-8"))
    names = ("computing", "exposed", "predicted", "recorded")
    rows = [[str(run["ranks"]), *[f"{1e3 * run['prediction'][name]:.1f} ms" for name in names],
             f"{run['prediction']['ratio']:.2f}"] for run in runs]
    assert [row[0] for row in rows] == ["2", "4"]
    told = re.findall(r"^\| (\d) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert [[ranks, *[cell.strip() for cell in cells.split("|")]] for ranks, cells in told] == rows
