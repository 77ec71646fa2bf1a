"""The table of docs/scale.md is what the model says."""

from __future__ import annotations

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
