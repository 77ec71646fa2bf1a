"""Where a loop finds the elements of an array: whether two arrays have an element in common."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from minigrad.compiler.loops.grouping import Access
from minigrad.compiler.program.statements import Memory

MEMORY = Memory(np.zeros(64, np.float32), "temporary")
DIMENSIONS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 6)), min_size=1, max_size=3)  # sizes and strides


@given(DIMENSIONS, st.integers(0, 12), st.integers(0, 12))
def test_two_accesses_are_apart_if_no_element_is_in_both(
        dimensions: list[tuple[int, int]], here: int, there: int) -> None:
    """A stride may be 0, as of what a sum writes, and dimensions may overlap, as those of windows do."""
    cuts = tuple(itertools.accumulate([size for size, _ in dimensions], lambda below, size: below * size))
    one, other = (Access(MEMORY, cuts, tuple([stride for _, stride in dimensions]), offset, np.dtype("float32"))
                  for offset in (here, there))
    elements = [{offset + sum(steps) for steps in itertools.product(*[range(0, size * stride or 1, stride or 1)
                                                                      for size, stride in dimensions])}
                for offset in (here, there)]
    assert one.apart(other) == (not elements[0] & elements[1])
