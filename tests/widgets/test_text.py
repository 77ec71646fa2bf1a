"""Numbers, tensors and events in words."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad.recorder import record
from minigrad_widgets.text import Words, brief, inline, number, shape_text, tensor


@pytest.mark.parametrize(
    ("entry", "text"),
    [(3.0, "3."), (-0.5, "-0.5"), (1 / 3, "0.3333"), (1.2e-7, "1.20e-7"), (123456.7, "1.23e5"), (0.0, "0."),
     ("nan", "nan"), ("-inf", "-inf"), (True, "True"), (None, "none")],
)  # fmt: skip
def test_numbers(entry: Any, text: str) -> None:
    assert number(entry) == text


def test_whole_numbers_have_no_point() -> None:
    assert number(3, "int64") == "3"


def value(shape: list[int], *data: float, dtype: str = "float32") -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype, "data": list(data)}


def test_tensors_look_like_pytorchs() -> None:
    assert tensor(value([], 2.0)) == "tensor(2.)"
    assert tensor(value([3], 1, 2, 3, dtype="int64")) == "tensor([1, 2, 3])"
    assert tensor(value([2, 2], 1.0, 2.0, 3.0, -4.5)) == "tensor([[  1.,   2.],\n        [  3., -4.5]])"
    assert tensor(None) == "None"
    assert tensor(value([0])) == "tensor([])"
    assert tensor(value([10**12, 0])) == "tensor([], size=(1000000000000, 0))"


def test_long_ones_are_cut_on_one_line() -> None:
    long = value([40], *map(float, range(40)))
    assert len(inline(long)) == 96
    assert inline(long).endswith("…")
    assert inline(value([2, 2], 1.0, 20.0, 3.0, 4.0)) == "tensor([[1., 20.], [3., 4.]])"


def test_large_ones_tell_their_statistics() -> None:
    stats = {"min": -1.0, "max": 2.0, "mean": 0.25, "norm": 12.5, "nan": 1, "inf": 0}
    large = {"shape": [64, 64], "dtype": "float32", "stats": stats}
    assert tensor(large) == "tensor of [64, 64]: min -1., max 2., mean 0.25, norm 12.5, 1 nan"
    assert brief(large) == "64×64 ‖nan‖"  # a norm of the others would hide it
    assert brief({**large, "stats": {**stats, "nan": 0}}) == "64×64 ‖12.5‖"
    assert brief({**large, "stats": {**stats, "nan": 0, "inf": 2}}) == "64×64 ‖inf‖"
    assert brief({"shape": [2, 2], "dtype": "float32", "data": [1.0, "-inf", 2.0, 3.0]}) == "2×2 ‖inf‖"
    assert brief({"shape": [2, 2], "dtype": "float32", "data": [1.0, "nan", 2.0, "inf"]}) == "2×2 ‖nan‖"


def test_what_was_not_kept_is_no_none() -> None:
    """As with `detail="modules"`; and of a tensor that is all NaN only the norm is known."""
    nothing = {"min": None, "max": None, "mean": None, "norm": None, "nan": 0, "inf": 0}
    large = {"shape": [64, 64], "dtype": "float32", "stats": nothing}
    assert tensor(large) == "tensor of [64, 64]: values not kept"
    assert brief(large) == "64×64, not kept"
    lost = {**large, "stats": {**nothing, "norm": "nan", "nan": 4096}}
    assert tensor(lost) == "tensor of [64, 64]: norm nan, 4096 nan"


def test_edges_have_room_for_a_few_characters() -> None:
    assert brief(value([], 0.123456)) == "0.123"
    assert brief(value([3], 1.0, 2.0, 0.5)) == "[1., 2., 0.5]"
    assert brief(value([2, 2], 3.0, 0.0, 0.0, 4.0)) == "2×2 ‖5.‖"
    assert shape_text([]) == "scalar"


def test_every_event_has_a_sentence(data: dict[str, Any]) -> None:
    words = Words(data)
    told = [words.describe(step) for step in range(len(data["events"]))]
    assert "MulBackward0 runs; it received tensor(1.)" in told
    assert told[-1] == "the pass is over"
    assert not any("kind that" in sentence for sentence in told)


def test_a_first_node_is_said_once() -> None:
    """The node that an op records is not told again of its result; a view that got one of its own is told."""
    x, plain = torch.tensor([1.0, 2.0], requires_grad=True), torch.zeros(2, 2)
    with record() as trace:
        row = plain[0]
        row.add_(x)
    assert Words(trace.to_dict()).describe(1) == (
        "add_ ran and wrote to plain; CopySlices was recorded; row had no node and has AsStridedBackward0 now")
