"""The end of lesson 0: a network made of the student's own class learns to tell two moons apart."""

from __future__ import annotations

import math
from typing import Any

import pytest

from minigrad_lessons import two_moons
from minigrad_lessons.exercises import report
from minigrad_lessons.exercises.moons import Network, drawn, moons
from tests.lessons.answers.lesson00 import WHOLE


@pytest.fixture
def scalar(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the key."""
    monkeypatch.setattr(report, "verdicts", {})
    file = tmp_path / "scalar.py"  # the check counts the lines of the class
    file.write_text("import math\n\n\n" + WHOLE.partition("\n\n\ncheck.")[0])
    names: dict[str, Any] = {"__name__": "scalar", "math": math}
    exec(compile(file.read_text(), str(file), "exec"), names)
    return names["Scalar"]


def test_it_waits_for_the_check_of_the_class(scalar: Any, capsys: pytest.CaptureFixture[str]) -> None:
    two_moons(scalar)
    assert capsys.readouterr().out == ("two_moons: not yet. This trains with your class: finish it, and let its check "
                                       "pass.\n")


def test_it_ends_with_every_point_on_its_side(scalar: Any, capsys: pytest.CaptureFixture[str],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(report.verdicts, "check.value_class", True)
    two_moons(scalar)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "after 0 backward passes, 20 of 40 points are on their side"
    assert last == "after 1,600 backward passes, 40 of 40 points are on their side"


def test_the_picture_has_the_points_and_says_what_it_shows(scalar: Any) -> None:
    network, points = Network(scalar), moons()
    picture = drawn(network, points, "20 < 40")
    assert picture.count("<circle") == len(points) == 40
    assert 'aria-label="20 &lt; 40"' in picture
    for point in points[:4]:
        assert network(point).data == pytest.approx(network.answer(point.x, point.y))
