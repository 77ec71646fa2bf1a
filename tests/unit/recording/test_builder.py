"""The statistics of large arrays, which are read in pieces, are those of the whole."""

import math

import numpy as np
import pytest

from minigrad.recording.bindings import Bindings
from minigrad.recording.builder import PIECE, statistics

DRAWN = np.random.default_rng(0).standard_normal(2 * PIECE + 100) * 100


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "complex128"])
def test_an_array_of_several_pieces(dtype: str) -> None:
    array = DRAWN.clip(0, 200).astype(dtype) if dtype == "uint8" else DRAWN.astype(dtype)
    found, numbers = statistics(array), (abs(array) if dtype == "complex128" else array).astype("float64")
    assert (found["min"], found["max"]) == (numbers.min(), numbers.max())
    assert found["mean"] == pytest.approx(numbers.mean(), rel=1e-12, abs=1e-12)
    assert found["norm"] == pytest.approx(math.sqrt((numbers * numbers).sum()), rel=1e-12)
    assert (found["nan"], found["inf"]) == (0, 0)


def test_what_is_not_finite_is_counted_in_each_piece() -> None:
    array = DRAWN.copy()
    array[[1, PIECE + 1, 2 * PIECE + 1]] = math.nan
    array[[2, PIECE + 2]] = math.inf, -math.inf
    found, finite = statistics(array), array[np.isfinite(array)]
    assert (found["nan"], found["inf"], found["norm"]) == (3, 2, "nan")
    assert (found["min"], found["max"]) == (finite.min(), finite.max())
    assert found["mean"] == pytest.approx(finite.mean())


def test_a_function_that_has_the_frame_of_one_that_ended_is_another_one() -> None:
    class Frame:
        f_code, f_lasti, f_lineno, f_back = test_an_array_of_several_pieces.__code__, 0, 1, None

        def __init__(self) -> None:
            self.f_locals: dict[str, object] = {}

    bindings, frame = Bindings([], {}), Frame()
    bindings.files = {Frame.f_code.co_filename: 0}
    bindings.look(frame, frame, {})  # type: ignore[arg-type]  # a frame cannot be made
    assert bindings.is_running(frame)  # type: ignore[arg-type]  # as above
    frame.f_code = test_what_is_not_finite_is_counted_in_each_piece.__code__
    assert not bindings.is_running(frame)  # type: ignore[arg-type]  # as above
