"""Numbers and tensors as texts."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad.nn import functional as F
from minigrad.ops._dispatch.overloads import packets
from minigrad.recorder import record
from minigrad.trace.format import brief, inline, memory_text, number, op_name, shape_text, tensor_text


@pytest.mark.parametrize(
    ("entry", "text"),
    [(3.0, "3."), (1234.5678, "1234.57"), (1 / 32, "0.0312"), (3 / 32, "0.0938"),
     (-0.5, "-0.5"), (1 / 3, "0.3333"), (1.2e-7, "1.20e-7"), (123456.7, "1.23e5"), (0.0, "0."),
     ("nan", "nan"), ("-inf", "-inf"), (True, "True"), (None, "none")],
)  # fmt: skip
def test_numbers(entry: Any, text: str) -> None:
    assert number(entry) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (512, "512 B"), (1023, "1023 B"), (1024, "1 KiB"), (1152, "1.12 KiB"), (1536, "1.5 KiB"),
     (102_912, "100 KiB"), (1_023_000, "999 KiB"), (1_048_000, "1023 KiB"), (1 << 20, "1 MiB"), (3 << 40, "3 TiB")],
)  # fmt: skip
def test_bytes(count: int, text: str) -> None:
    assert memory_text(count) == text


def test_whole_numbers_have_no_point() -> None:
    assert number(3, "int64") == "3"


def value(shape: list[int], *data: float, dtype: str = "float32") -> dict[str, Any]:
    return {"shape": shape, "dtype": dtype, "data": list(data)}


def test_tensors_look_like_pytorchs() -> None:
    assert tensor_text(value([], 2.0)) == "tensor(2.)"
    assert tensor_text(value([3], 1, 2, 3, dtype="int64")) == "tensor([1, 2, 3])"
    assert tensor_text(value([2, 2], 1.0, 2.0, 3.0, -4.5)) == "tensor([[  1.,   2.],\n        [  3., -4.5]])"
    assert tensor_text(None) == "None"
    assert tensor_text(value([0])) == "tensor([])"
    assert tensor_text(value([10**12, 0])) == "tensor([], size=(1000000000000, 0))"


def test_long_ones_are_cut_on_one_line() -> None:
    long = value([40], *map(float, range(40)))
    assert len(inline(long)) == 96
    assert inline(long).endswith("…")
    assert inline(value([2, 2], 1.0, 20.0, 3.0, 4.0)) == "tensor([[1., 20.], [3., 4.]])"


def test_large_ones_tell_their_statistics() -> None:
    stats = {"min": -1.0, "max": 2.0, "mean": 0.25, "norm": 12.5, "nan": 1, "inf": 0}
    large = {"shape": [64, 64], "dtype": "float32", "stats": stats}
    assert tensor_text(large) == "tensor of [64, 64]: min -1., max 2., mean 0.25, norm 12.5, 1 nan"
    assert brief(large) == "64×64 ‖nan‖"  # a norm of the others would hide it
    assert brief({**large, "stats": {**stats, "nan": 0}}) == "64×64 ‖12.5‖"
    assert brief({**large, "stats": {**stats, "nan": 0, "inf": 2}}) == "64×64 ‖inf‖"
    assert brief({"shape": [2, 2], "dtype": "float32", "data": [1.0, "-inf", 2.0, 3.0]}) == "2×2 ‖inf‖"
    assert brief({"shape": [2, 2], "dtype": "float32", "data": [1.0, "nan", 2.0, "inf"]}) == "2×2 ‖nan‖"


def test_what_was_not_kept_is_no_none() -> None:
    """As with `detail="modules"`; and of a tensor that is all NaN only the norm is known."""
    nothing = {"min": None, "max": None, "mean": None, "norm": None, "nan": 0, "inf": 0}
    large = {"shape": [64, 64], "dtype": "float32", "stats": nothing}
    assert tensor_text(large) == "tensor of [64, 64]: values not kept"
    assert brief(large) == "64×64, not kept"
    lost = {**large, "stats": {**nothing, "norm": "nan", "nan": 4096}}
    assert tensor_text(lost) == "tensor of [64, 64]: norm nan, 4096 nan"


def test_edges_have_room_for_a_few_characters() -> None:
    assert brief(value([], 0.123456)) == "0.123"
    assert brief(value([3], 1.0, 2.0, 0.5)) == "[1., 2., 0.5]"
    assert brief(value([2, 2], 3.0, 0.0, 0.0, 4.0)) == "2×2 ‖5.‖"
    assert shape_text([]) == "scalar"


def test_ops_have_the_names_that_pytorch_has() -> None:
    names = {word: packet._name.removeprefix("aten.").lstrip("_") for word, packet in packets().items()}
    assert len(names) > 290 and {word: op_name(word) for word in names} == names


def test_an_op_whose_name_has_a_digit_is_found_by_it() -> None:
    with record() as trace:
        pooled = F.max_pool2d(torch.ones(1, 1, 4, 4, requires_grad=True), 2)
        F.smooth_l1_loss(pooled, torch.zeros(1, 1, 2, 2)).backward()
    assert [trace[name].label for name in ("max_pool2d_with_indices", "smooth_l1_loss")] == [
        "max_pool2d_with_indices", "smooth_l1_loss"]
