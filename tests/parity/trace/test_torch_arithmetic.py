"""The arithmetic of PyTorch's graphs: minigrad's formulas stand in for those in C++, and give PyTorch's gradients."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch

import minigrad
from minigrad.recorder import record
from minigrad_widgets.torch_reader import record as read
from tests.expressions import check_line, line_recorded
from tests.groups import has_torch
from tests.parity.tables import all_cases

pytestmark = pytest.mark.torch


def test_every_op_evaluates_to_what_pytorch_computed() -> None:
    """All lines of the op table, in float64."""
    checked = Counter[str]()
    # A correlation of 1 and the last bit: its clamp's slope is 0 or 1. Before 2.9 atan2 had no derivative at 0.
    left_out = () if has_torch() else ("corrcoef", "atan2 at 0")
    for name, (call, inputs, *args) in all_cases().items():
        if name in left_out:
            continue
        trace = line_recorded(torch, read, call, inputs, args[0] if args else ())
        if trace is not None:
            checked += check_line(trace, name, 1e-8)  # PyTorch's trigamma is right to 1e-9
    assert checked.total() > 6500 and len(checked) > 200


LINES = ["a * b", "a @ b", "a + row", "a.sum(1)", "a.mean(0)", "a.exp()", "a.tanh()", "a[0] + a[:, 1]", "a.t() @ b",
         "m.cat([a, b])", "m.stack([a, b], -1)", "a.softmax(-1)", "a.view(4)", "a.relu()", "a ** 2", "a / b",
         "m.nn.functional.linear(a, b, row)", "m.nn.functional.mse_loss(a, b)", "row.expand(2, 2) * a"]


@pytest.mark.parametrize("line", LINES)
def test_both_libraries_note_the_same(line: str) -> None:
    """The expressions that a PyTorch user sees are those that a minigrad user sees."""
    def expressions(lib: Any, recorder: Any) -> list[Any]:
        names = {"m": lib, "a": lib.tensor([[1., 2.], [3., 4.]], requires_grad=True),
                 "b": lib.tensor([[5., 6.], [7., 8.]], requires_grad=True),
                 "row": lib.tensor([1., -1.], requires_grad=True)}
        with recorder() as trace:
            eval(line, names).sum().backward()
        return [[None if i is None else trace.expressions[i] for i in node["derivatives"]]
                for node in trace.nodes if node["next"]]

    assert expressions(torch, read) == expressions(minigrad, record)
