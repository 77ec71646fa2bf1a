"""`torch.FloatTensor` and its kind: constructors, and names of what a tensor is."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch
TYPES = ["BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
         "LongTensor", "ShortTensor"]
BUILT = {
    "sizes": lambda m, of: of(2, 3).shape, "a Size": lambda m, of: of(m.Size([2])).shape, "nothing": lambda m, of: of(),
    "numbers": lambda m, of: of([1, 0, 1]), "floats": lambda m, of: of([1.5, 0.0]), "bools": lambda m, of: of([True]),
    "nested": lambda m, of: of([[1, 2], [3, 4]]), "a tuple": lambda m, of: of((2, 3)),
    "an array": lambda m, of: of(np.ones(2)), "a tensor": lambda m, of: of(m.ones(2)),
    "a tensor of its own": lambda m, of: of(m.ones(2, dtype=of.dtype)), "ragged": lambda m, of: of([[1, 2], [3]]),
    "a float": lambda m, of: of(3.5), "a text": lambda m, of: of("a"), "texts": lambda m, of: of(["a"]),
    "much": lambda m, of: of([300]), "on the CPU": lambda m, of: of(2, device="cpu").shape,
    "on a GPU": lambda m, of: of(2, device="cuda"), "values on the CPU": lambda m, of: of([1], device="cpu"),
    "a tensor and a device": lambda m, of: of(m.ones(2, dtype=of.dtype), device="cpu"),
    "a tensor and None": lambda m, of: of(m.ones(2, dtype=of.dtype), device=None),
    "a tensor and a GPU": lambda m, of: of(m.ones(2), device="cuda"),
    "values and None": lambda m, of: of([1], device=None), "instances": lambda m, of: [
        isinstance(x, of) for x in (m.ones(2), m.ones(2, dtype=m.int64), m.ones(2, dtype=m.bool), 1)],
    "cast": lambda m, of: m.tensor([0.0, 1.5]).type(of), "looks": lambda m, of: [
        repr(of), of.__name__, str(of.dtype), of.is_cuda, str(of.layout)],
}


@pytest.mark.parametrize("how", BUILT)
@pytest.mark.parametrize("name", TYPES)
def test_constructors(torch, every_warning, name, how):
    assert outcome(lambda m: BUILT[how](m, getattr(m, name)), minigrad) == \
        outcome(lambda m: BUILT[how](m, getattr(m, name)), torch)


def test_a_tensor_given_is_shared():
    x = minigrad.ones(2)
    minigrad.FloatTensor(x)[0] = 5
    assert x.tolist() == [5, 1]


@pytest.mark.parametrize("name", TYPES)
def test_copies_are_the_type_itself(name):
    kind = getattr(minigrad, name)
    assert copy.deepcopy(kind) is kind
    assert pickle.loads(pickle.dumps(kind)) is kind
