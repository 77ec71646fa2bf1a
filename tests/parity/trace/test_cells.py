"""The source of a trace of a notebook's cell ends with the block that was recorded: what looks at it is left out."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
import torch

import minigrad
from minigrad.recorder import record
from minigrad_widgets.torch_reader import record as read

pytestmark = pytest.mark.torch
BOTH = pytest.mark.parametrize(("lib", "recorder"), [(minigrad, record), (torch, read)], ids=["minigrad", "torch"])
BLOCK = """x = m.tensor([1., 2.], requires_grad=True)
with record() as trace:
    y = x * x
    y.sum().backward()
"""
BEFORE = """def run():
    with record() as trace:
        square(m.ones(2, requires_grad=True)).sum().backward()
    return trace
def square(x):
    return x * x
"""


def ran(text: str, name: str, lib: Any, recorder: Any) -> list[list[str]]:
    """The source texts in the trace of a cell, or of a file of this name."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"m": lib, "record": recorder, "seen": lambda trace: None}
    exec(compile(text, name, "exec"), names)
    return [file["lines"] for file in names["trace"].files]


@BOTH
def test_a_cell_ends_with_its_block(lib: Any, recorder: Any) -> None:
    behind = BLOCK + "\nseen(trace)\ntrace\n"
    assert ran(behind, "<ipython-input-1-a>", lib, recorder) == [BLOCK.splitlines()]


@BOTH
def test_a_function_that_ran_is_shown_wherever_it_stands(lib: Any, recorder: Any) -> None:
    text = BEFORE + "trace = run()\nseen(trace)\n"
    assert ran(text, "<ipython-input-2-a>", lib, recorder) == [BEFORE.splitlines()]


@BOTH
def test_a_block_that_ends_in_an_error(lib: Any, recorder: Any) -> None:
    inner = "".join(f"    {line}" for line in BLOCK.splitlines(keepends=True))
    text = f"try:\n{inner}        1 / 0\nexcept Exception:\n    pass\n"
    assert ran(text, "<ipython-input-3-a>", lib, recorder) == [text.splitlines()[:6]]


@BOTH
def test_a_file_is_shown_whole(lib: Any, recorder: Any) -> None:
    text = BLOCK + "seen(trace)\n"
    assert ran(text, "/elsewhere/program.py", lib, recorder) == [text.splitlines()]


@BOTH
def test_a_cell_in_which_nothing_was_recorded(lib: Any, recorder: Any) -> None:
    """As where PyTorch's tensors are used while minigrad's recorder is on: the source ends with the block."""
    text = "with record() as trace:\n    total = 1 + 1\nseen(trace)\n"
    assert ran(text, "<ipython-input-4-a>", lib, recorder) == [text.splitlines()[:2]]
