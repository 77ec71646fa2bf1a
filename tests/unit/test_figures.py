"""docs/reliability.md says what the figures say, and the figures are of all that is promised."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="the measures run where processes fork")
pytest.importorskip("playwright", reason="the measures need a browser's driver")
pytest.importorskip("ipykernel", reason="the measures need the extra lessons")

from tests.reliability import soak
from tests.reliability.figures import PAGE, faults, missing, page, read
from tests.reliability.measures import MEASURES

# Parts that wait for a whole run; an entry that is not needed any more fails the test.
NOT_YET: list[str] = []
ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_figures_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read()), "run `python -m tests.reliability.figures`"


def test_every_promise_was_measured_and_holds() -> None:
    assert faults(read()) == [], "run `python -m tests.reliability` for these"
    assert missing(read()) == NOT_YET


@pytest.mark.parametrize("name", MEASURES)
def test_a_part_is_tried_with_every_change(name: str) -> None:
    assert (ROOT / MEASURES[name].test).is_file()


def test_figures_that_lack_something_are_found() -> None:
    figures = read()
    for spoil, word in ((lambda f: f["kills"].update(gone=f["kills"]["save"]), "no gone"),
                        (lambda f: f["forks"]["os.fork"].update(tried=3), "3 of 21"),
                        (lambda f: f["fills"]["minigrad lab"].update(wrong=1), "1 wrong"),
                        (lambda f: f["forks"]["os.fork"].update(minigrad="0.0.1"), "0.0.1")):
        spoiled = copy.deepcopy(figures)
        spoil(spoiled)
        assert any(word in fault for fault in faults(spoiled))
    del figures["kills"]["save"]
    assert "kills, save" in missing(figures)


@pytest.mark.parametrize(("name", "count"), [("training steps", 600), ("recordings", 200)])
def test_memory_stays_flat(name: str, count: int) -> None:
    assert soak.alone(name, count) < 0.02


def test_memory_that_grows_is_found() -> None:
    kept = []
    assert soak.growth(lambda: kept.append(bytes(range(256)) * 4000), 100) > 0.02
