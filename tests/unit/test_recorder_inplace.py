"""What a recorder tells of ops in place: the values after the write."""

from __future__ import annotations

import minigrad
from minigrad.recorder import Trace, record


def shown(trace: Trace, value: int | None) -> object:
    """The numbers of a value."""
    return None if value is None else trace.values[value]["data"]


def test_a_saved_result_shows_what_was_written() -> None:
    x = minigrad.tensor([0.0, 1.0], requires_grad=True)
    with record() as trace:
        y = x * 1
        y.sigmoid_()
    (node,) = [n for n in trace.nodes if n["name"] == "SigmoidBackward0"]
    ((name, tensor, value),) = node["saved"]
    assert name == "result" and shown(trace, value) == y.tolist()
    assert shown(trace, trace.tensors[tensor]["value"]) == [0.0, 1.0]  # its record is what it was when it was made


def test_a_version_shows_what_the_tensor_holds_now() -> None:
    x = minigrad.tensor([[1.0, 2.0]])
    with record() as trace:
        x.add_(1)
        x.t_()
        x[0].mul_(5)
    versions = [e for e in trace.events if e["kind"] == "version"]
    assert [e["version"] for e in versions] == [1, 2, 3]
    assert [shown(trace, e["value"]) for e in versions] == [[2.0, 3.0], [2.0, 3.0], [10.0]]
    assert [x.shape, x._version] == [(2, 1), 3]
    assert [e["op"] for e in trace.events if e["kind"] == "forward"] == ["add_", "t_", "select", "mul_"]
