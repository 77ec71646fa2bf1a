"""The table of docs/scale.md is what the model says."""

from __future__ import annotations

import json
import re
from pathlib import Path

from minigrad.trace.simulate import all_reduce_seconds

PAGE = Path(__file__).parents[3] / "docs" / "scale.md"
ALPHA, BETA, BUCKET = 5e-6, 0.04e-9, 25 * 2 ** 20


def milliseconds(parameters: int, ranks: int) -> str:
    """Of all gradients as float32, in buckets."""
    full, rest = divmod(4 * parameters, BUCKET)
    sizes = [BUCKET] * full + [rest]
    return f"{1e3 * sum(all_reduce_seconds(size, ranks, ALPHA, BETA) for size in sizes):.2f} ms"


def test_the_table_is_what_the_model_says() -> None:
    rows = re.findall(r"^\| ([\d,]+) million \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(rows) == 3
    for parameters, cells in rows:
        count = int(parameters.replace(",", "")) * 10 ** 6
        assert [cell.strip() for cell in cells.split("|")] == [milliseconds(count, ranks) for ranks in (8, 64, 1024)]


def test_the_predictions_are_those_of_the_benchmark() -> None:
    runs = json.loads((PAGE.parents[1] / "benchmarks" / "results" / "ranks_predicted.json").read_text(encoding="utf-8"))
    names = ("computing", "exposed", "predicted", "recorded")
    rows = [[str(run["ranks"]), *[f"{1e3 * run['prediction'][name]:.1f} ms" for name in names],
             f"{run['prediction']['ratio']:.2f}"] for run in runs]
    assert [row[0] for row in rows] == ["2", "4"]
    told = re.findall(r"^\| (\d) \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert [[ranks, *[cell.strip() for cell in cells.split("|")]] for ranks, cells in told] == rows
