"""Shapes and reductions by dimension: of empty and 0-d tensors, by several dimensions, by the name `axis`."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.leaves import leaf
from tests.parity.tensors import outcome
from tests.parity.values import grads, same_end
from tests.parity.values import leaf as spread

pytestmark = pytest.mark.torch

DIMS = {
    "squeeze": lambda m: (x := spread(m, 1, 2, 1), y := x.squeeze((0, 1, -1)), grads(m, y, x), y.grad_fn.name()),
    "movedim": lambda m: (x := spread(m, 2, 3, 4), y := x.movedim((0, -1), (1, 0)), grads(m, y, x)),
    "movedim of one to two": lambda m: spread(m, 2, 3).movedim((0, 1), (0,)),
    "NumPy's integers": lambda m: spread(m, 2, 3).sum(np.int64(1)),
    "any out of range": lambda m: m.ones(2).any(3),
}

SHAPES = {
    "cat empty": lambda m: m.cat([m.empty(0), m.ones(2, 3)]),
    "cat empty2": lambda m: m.cat([m.ones(2, 3), leaf(m, 0)], dim=1),
    "cat empty grad": lambda m: ((x := leaf(m, 0)), (y := leaf(m, 2, 3)), m.cat([x, y]).sum().backward(), x.grad,
        y.grad)[2:],
    "cat empties": lambda m: m.cat([m.empty(0), m.empty(0)]),
    "cat empty dtype": lambda m: m.cat([m.empty(0, dtype=m.float64), m.ones(2, 3)]),
    "cat none": lambda m: m.cat([]),
    "cat 0d": lambda m: m.cat([m.tensor(1.0), m.tensor(2.0)]),
    "cat axis": lambda m: m.cat([m.ones(2, 3), m.ones(2, 3)], axis=1),
    "stack axis": lambda m: m.stack([m.ones(2), m.ones(2)], axis=1),
    "transpose 0d": lambda m: (m.tensor(1.0).transpose(0, 0), m.tensor(1.0).transpose(-1, 0)),
    "transpose 0d bad": lambda m: m.tensor(1.0).transpose(0, 1),
    "transpose 0d grad": lambda m: leaf(m).transpose(0, -1),
    "T 0d": lambda m: m.tensor(1.0).t(),
    "swapaxes 0d": lambda m: m.tensor(1.0).swapaxes(0, 0),
    "movedim 0d": lambda m: m.tensor(1.0).movedim(0, 0),
    "permute 0d": lambda m: m.tensor(1.0).permute(()),
    "flatten 0d": lambda m: m.tensor(1.0).flatten(),
    "unsqueeze 0d": lambda m: m.tensor(1.0).unsqueeze(0),
    "squeeze 0d": lambda m: m.tensor(1.0).squeeze(0),
    "view(0,-1)": lambda m: m.ones(0, 3).view(0, -1),
    "reshape(0,-1)": lambda m: m.ones(0, 3).reshape(0, -1),
    "view(-1) empty": lambda m: m.ones(0, 3).view(-1),
    "view(-1,3) empty": lambda m: m.ones(0, 3).view(-1, 3),
    "view(-1,-1)": lambda m: m.ones(4).view(-1, -1),
    "view(-2)": lambda m: m.ones(4).view(-2, 2),
    "view bad": lambda m: m.ones(4).view(3),
    "view noncontig": lambda m: m.ones(2, 3).t().view(6),
    "view()": lambda m: m.ones(1).view(()),
    "split 0": lambda m: m.ones(4).split(0),
    "split neg": lambda m: m.ones(4).split(-1),
    "split sizes bad": lambda m: m.ones(4).split([1, 2]),
    "split 0 of 0": lambda m: m.ones(0).split(0),
    "split 0d": lambda m: m.tensor(1.0).split(1),
    "chunk 0": lambda m: m.ones(4).chunk(0),
    "chunk 0d": lambda m: m.tensor(1.0).chunk(1),
    "split neg size": lambda m: m.ones(4).split([-1, 5]),
    "unbind 0d": lambda m: m.tensor(1.0).unbind(),
    "unbind bad": lambda m: m.ones(2).unbind(1),
}

REDUCED = {
    "sum axis": lambda m: (m.ones(2, 3).sum(axis=0), m.sum(m.ones(2, 3), axis=1, keepdims=True), m.ones(2,
        3).mean(axis=-1), m.mean(m.ones(2, 3), axis=(0, 1), keepdims=True)),
    "any axis": lambda m: (m.ones(2, 3).any(axis=0), m.ones(2, 3).all(axis=1, keepdims=True)),
    "sum 0d": lambda m: m.tensor(1.0).sum(0),
    "mean 0d": lambda m: m.tensor(1.0).mean(-1),
    "sum 0d bad": lambda m: m.tensor(1.0).sum(1),
    "mean int": lambda m: m.arange(3).mean(),
    "sum kw": lambda m: m.sum(input=m.ones(2)),
}


@pytest.mark.parametrize("name", DIMS)
def test_several_dimensions(torch, name):
    same_end(torch, DIMS[name])


@pytest.mark.parametrize("name", SHAPES | REDUCED)
def test_empty_and_0d_tensors(torch, every_warning, name):
    program = (SHAPES | REDUCED)[name]
    assert outcome(program, minigrad) == outcome(program, torch)
