"""Errors in a lesson: the student's lines and the one that raised, without the engine's frames in between."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from traceback import walk_tb

import pytest
from IPython.core.interactiveshell import InteractiveShell

from minigrad_lessons.tracebacks import LIBRARY, RAISED, shorten, show

TWICE = "loss = (w * w).sum()\nloss.backward()\nloss.backward()"
IN_A_HOOK = "w.register_hook(lambda grad: grad.no_such_thing)\n(w * w).sum().backward()"


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """A shell as a kernel has it, in which the lessons were imported."""
    made = InteractiveShell.instance(history_length=0, colors="nocolor")
    made.run_cell("import minigrad as torch\nimport minigrad_lessons.tracebacks\nw = torch.ones(2, requires_grad=True)")
    made.run_cell("minigrad_lessons.tracebacks.shorten()")
    yield made
    made.set_custom_exc((), None)
    InteractiveShell.clear_instance()


def told(shell: InteractiveShell, code: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What a cell shows."""
    capsys.readouterr()
    assert not shell.run_cell(code).success
    return re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)


def library_frames(text: str) -> list[str]:
    """The functions of the library that a traceback shows."""
    return [line for line in text.splitlines() if line.startswith(f"File {LIBRARY}")]


def test_the_engine_is_left_out(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(shell, TWICE, capsys)
    assert "----> 3 loss.backward()" in text
    assert re.search(r"skipping hidden \d+ frame", text)
    assert len(library_frames(text)) == 1
    assert "RuntimeError: Trying to backward through the graph a second time" in text
    assert len(text.splitlines()) < 25


def test_what_the_student_wrote_stays(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(shell, IN_A_HOOK, capsys)
    assert "in <lambda>(grad)" in text
    assert "----> 2 (w * w).sum().backward()" in text
    assert "AttributeError: 'Tensor' object has no attribute 'no_such_thing'" in text.splitlines()


def test_the_debugger_has_every_frame(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    told(shell, TWICE, capsys)
    names = [frame.f_code.co_name for frame, _ in walk_tb(sys.last_traceback)]
    assert {"backward", "execute", "run"} <= set(names)


@pytest.mark.parametrize("code", ["1 +", "import nowhere_at_all", "int('x')"])
def test_other_errors_are_shown_as_ever(shell: InteractiveShell, capsys: pytest.CaptureFixture[str],
                                        code: str) -> None:
    short = told(shell, code, capsys)
    shell.set_custom_exc((), None)
    assert re.sub(r"In\[\d+\]", "In", short) == re.sub(r"In\[\d+\]", "In", told(shell, code, capsys))


def test_a_way_of_ones_own_is_kept(shell: InteractiveShell) -> None:
    shell.set_custom_exc((KeyError,), show)
    shell.run_cell("minigrad_lessons.tracebacks.shorten()")
    assert shell.custom_exceptions == (KeyError,)
    shell.set_custom_exc((), None)
    shell.run_cell("minigrad_lessons.tracebacks.shorten()")
    assert shell.custom_exceptions == RAISED


EARLIER = {
    "e.add_(w)\nreveal(\"1.4\", e.is_leaf)": ("`e`", None),
    "w = torch.ones(2)\ny = w * 3\nprint(\"the tensor y:  \", y, data)": ("`data`", None),
    "state_card(w=w, y=z)": ("`z`", None),
    "state_card(w=w, y=y)": ("`state_card`", "the first cell of this lesson"),
    "print(\"data.is_leaf:      \", data.is_leaf, same)": ("`data`", None),
    "(w * data).sum().backward()\nreveal(\"1.3\", sum(leaf.grad is not None for leaf in (w, data)))":
        ("`data`", "the one under “A common belief” that begins with `data = torch.tensor([5.0, 6.0])`"),
}


@pytest.mark.parametrize("code", EARLIER)
def test_a_missing_name_is_told_by_the_cell_that_makes_it(shell: InteractiveShell, capsys: pytest.CaptureFixture[str],
                                                          code: str) -> None:
    name, cell = EARLIER[code]
    text = told(shell, code, capsys).strip()
    if cell is None:  # made by the very cell, by a later one, or by none: the error is shown as ever
        assert "NameError: name" in text
    else:
        assert text.startswith(f"This cell needs {name}, which is made by ") and cell in text
        assert text.endswith("Run that cell first, then this one again.") and len(text.splitlines()) == 1


def test_outside_of_a_notebook_nothing_happens() -> None:
    shorten()
