"""The view of a compiled step, without a browser: what it is given, its text and its still picture."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad_widgets import CompiledStep, Inspector, inspect
from tests.widgets.programs import compiled


def test_a_compiled_step_is_inspected() -> None:
    step = compiled()
    shown = inspect(step)
    assert isinstance(shown, CompiledStep)
    assert shown.compiled == step.inspection() and shown.step == 0
    assert isinstance(inspect(step, torch.ones(3)), Inspector)  # a call is recorded, as that of any function


def test_what_has_no_program_is_refused() -> None:
    def step(x: Any) -> Any:
        return x * 2

    with pytest.raises(RuntimeError, match="there is no program of step to inspect\n\nA step is traced at its second"):
        inspect(torch.compile(step, backend="numpy"))


def test_the_text_says_what_each_pass_did() -> None:
    shown = CompiledStep(compiled().inspection(), step=4)
    lines = shown.text.splitlines()
    assert lines[:2] == ["CompiledStep of step, on numpy", "    10  traced"]
    assert lines[5] == ">    9  dead code"
    assert lines[15] == "Dead code: 1 of 10 statements wrote what nobody reads."
    assert len(lines) == 16 + 9
    assert lines[16].split() == ["multiply(x,", "w,", "out=t1)", "#", "Mul,", "programs.py:86"]
    assert repr(shown) == shown.text


def test_a_long_program_is_cut_in_text_and_picture() -> None:
    step = compiled(30)
    shown = CompiledStep(step.inspection())
    traced = step.explain().traced
    assert shown.text.endswith(f"\n    ... and {traced - 24} more")
    written = [text.get_text() for text in shown.picture().figure.texts]
    assert written[0] == f"As it was traced: {traced} statements, one for each call that writes memory."
    assert written[-1] == f"… and {traced - 20} more"
    assert max(map(len, written[1:])) <= 104


def test_the_picture_has_a_bar_for_each_pass_and_the_statements() -> None:
    shown = CompiledStep(compiled().inspection(), step=4)
    (axes,) = shown.picture().figure.axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == [step["name"] for step in shown.compiled["steps"]]
    assert [round(bar.get_width()) for bar in axes.patches] == [10, 10, 10, 10, 9, 9, 8, 8, 8, 8, 8, 8, 8, 8]
    texts = [text.get_text().strip() for text in shown.picture().figure.texts]
    assert texts[1:3] == ["multiply(x, w, out=t1)", "# Mul, programs.py:86"]
    assert shown.to_png().startswith(b"\x89PNG") and "Dead code" in shown.to_svg()


def test_a_step_is_one_of_the_passes() -> None:
    assert CompiledStep(compiled().inspection(), step=99).step == 13


def test_the_page_holds_the_record() -> None:
    page = inspect(compiled()).to_html()
    assert '"compiled": {"name": "step"' in page
