"""docs/notebooks.md is what its script writes, and each test that it names exists."""

from __future__ import annotations

import ast

import pytest

from tests.browser.notebooks.matrix import COLUMNS, PAGE, ROOT, ROWS, page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_cell_names_a_test_that_exists_or_says_why_not(row: tuple[str, ...]) -> None:
    assert len(row) == len(COLUMNS)
    for cell in row[1:]:
        file, _, name = cell.partition("::")
        if name:
            tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
            assert name in {part.name for part in tree.body if isinstance(part, ast.FunctionDef)}
        else:
            assert cell.startswith(("by hand: ", "untried"))
