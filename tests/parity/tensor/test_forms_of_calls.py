"""Calls in forms that programs use rarely: operators called by name, options of older programs, what is refused."""

from __future__ import annotations

import pytest

from tests.parity.alike import alike
from tests.parity.outcome import Programs

pytestmark = pytest.mark.torch

programs = Programs({
    "rmatmul": lambda m: m.tensor([[1.0, 2.0], [3.0, 4.0]]).__rmatmul__(m.tensor([[0.0, 1.0], [1.0, 0.0]])),
    "rmatmul with a number": lambda m: m.ones(2, 2).__rmatmul__(3) is NotImplemented,
    "float with a memory format": lambda m: m.ones(1).float(memory_format=m.preserve_format),
    "double with channels last": lambda m: m.ones(1, 2, 2, 2).double(memory_format=m.channels_last).stride(),
    "float with another option": lambda m: m.ones(1).float(memory_format=3),
    "an item deleted": lambda m: m.ones(2).__delitem__(0),
    "a module copied by to": lambda m: m.nn.Linear(1, 1).to("cpu", copy=True),
    "a future of integers": lambda m: m.futures.Future[int].__args__,
    "padding of a bag out of range": lambda m: m.nn.functional.embedding_bag(m.tensor([[1]]), m.ones(4, 3),
                                                                            padding_idx=9),
    "factors of a bag of another dtype": lambda m: m.nn.functional.embedding_bag(
        m.tensor([3, 1]), m.ones(5, 2), m.tensor([0]), mode="sum", per_sample_weights=m.ones(2, dtype=m.float64)),
    "a profile without CUDA": lambda m: m.autograd.profiler.profile(use_cuda=False).enabled,
})


@pytest.mark.parametrize("name", programs)
def test_forms_of_calls(torch, name):
    alike(torch, programs[name])
