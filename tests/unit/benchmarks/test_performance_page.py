"""docs/performance.md says what the files of figures say, and why each limit that is missed is missed."""

from __future__ import annotations

import json

import pytest

from benchmarks import page
from benchmarks.reasons import REASONS


def row(**changes):
    return {"group": "g", "name": "add, shape [1]", "threads": 1, "unit": "ms", "ratio": 0.5, "limit": 0.7,
            "times": {"minigrad": 1.0, "torch": 2.0}, "ratios": {"minigrad": 0.5, "torch": 1.0}, **changes}


def test_the_page_is_what_the_figures_make():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), "run `python -m benchmarks.page`"


@pytest.mark.parametrize("name", ["ratios", "peers"])
def test_the_plots_are_there_and_small(name):
    size = (page.IMAGES / f"performance_{name}.png").stat().st_size
    assert 5_000 < size < 100_000


def test_what_was_measured_later_is_marked():
    rows = [{"group": "a step"}, *[{"group": "a compiled step", "measured": "2026-11-27, AMD"}] * 2]
    text = 'The rows of the table "a compiled step" were measured later: 2026-11-27, AMD.\n\n'
    assert page.measured_later(rows) == text


def test_every_missed_limit_has_its_reason():
    rows = json.loads(page.RESULTS.read_text(encoding="utf-8"))["rows"]
    text = page.missed(rows)
    for each in filter(page.over, rows):
        assert each["name"] in text or (each["threads"] == 2 and each["name"] in page.disturbed(rows))
    assert all(len(reason) > 20 for _, reason in REASONS)


def test_a_row_that_keeps_its_limit_is_not_listed():
    assert page.missed([row()]) == "Every row keeps its limit.\n\n"
    missed = page.missed([row(), row(ratio=0.9)])
    assert "1 do not" in missed and "add, shape [1]" in missed


def test_two_threads_that_were_slower_than_one_are_not_judged():
    rows = [row(), row(threads=2, ratio=3.0, times={"minigrad": 9.0, "torch": 3.0})]
    assert page.disturbed(rows) == {"add, shape [1]"}
    assert "Every row keeps its limit" in page.missed(rows) and "1 rows could not be judged" in page.missed(rows)
    rows[1]["times"]["torch"] = 1.5
    assert page.disturbed(rows) == set() and "two threads" in page.missed(rows)


def test_a_missed_row_without_a_reason_is_an_error():
    with pytest.raises(StopIteration):
        page.missed([row(name="something new", ratio=0.9)])


def test_history_has_the_last_run():
    history = json.loads(page.RESULTS.with_name("history.json").read_text(encoding="utf-8"))
    rows = json.loads(page.RESULTS.read_text(encoding="utf-8"))["rows"]
    assert history[-1]["ratios"]["add, shape [], 1 thread"] == round(rows[0]["ratio"], 3)
    assert len(history) <= 20
