"""docs/doctor.md is what running its programs gives, numbers with a point aside, and leaves no rule out."""

from __future__ import annotations

import re

from tests.doctor_page import PAGE, RULES, page
from tests.widgets.doctor.corpus_runs import FAULTY, LEARNING


def without_floats(text: str) -> str:
    return re.sub(r"\d+(\.\d+)?(e[-+]\d+)|\d+\.\d+", "#", text)


def test_the_page_is_what_runs() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert without_floats(written) == without_floats(page()), "run `python -m tests.doctor_page`"


def test_every_rule_is_there() -> None:
    assert set(RULES) == {each.rule for each in FAULTY + LEARNING}
