"""What the site's search knows of its pages (website/search.py)."""

from __future__ import annotations

from collections import Counter

from docutils import nodes  # type: ignore[import-untyped]  # it has no types
from docutils.utils import new_document  # type: ignore[import-untyped]  # it has no types

from website.search import MOST, _text, weights


def test_a_page_counts_by_how_much_it_says_about_a_word() -> None:
    pages = {"lesson": Counter(version=40, view=10, here=1, other=49), "list": Counter(version=1, view=12, other=387)}
    assert weights(pages) == {"version": {"lesson": MOST}, "view": {"lesson": MOST, "list": 5}, "other": {"list": MOST}}


def test_a_short_page_that_has_a_word_once_is_no_measure() -> None:
    pages = {"lesson": Counter(nan=20, other=380), "puzzles": Counter(nan=8, other=392), "short": Counter(nan=1)}
    assert weights(pages)["nan"] == {"lesson": MOST}


def test_a_word_of_one_page_needs_no_weight() -> None:
    assert weights({"lesson": Counter(version=40), "list": Counter(view=3)}) == {}


def test_what_no_reader_sees_is_not_counted() -> None:
    page = new_document("page")
    page += nodes.paragraph("", "", nodes.Text("the loss is "), nodes.strong("", "NaN"))
    page += nodes.raw("", '<script>{"value": "nan"}</script>', format="html")
    assert _text(page).split() == ["the", "loss", "is", "NaN"]
