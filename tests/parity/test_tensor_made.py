"""Tensors made from values: constructors, subclasses, Parameters, data that is set."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.tensors import having, leaf, outcome

pytestmark = pytest.mark.torch

MADE = {
    "Tensor()": lambda m: m.Tensor(),
    "Tensor(2,3)": lambda m: m.Tensor(2, 3).shape,
    "Tensor(2)": lambda m: m.Tensor(2).shape,
    "Tensor([1,2])": lambda m: m.Tensor([1, 2]),
    "Tensor([[1,2]])": lambda m: m.Tensor([[1.5, 2]]),
    "Tensor((2,))": lambda m: m.Tensor((1, 2)),
    "Tensor(size)": lambda m: m.Tensor(m.ones(2, 3).shape).shape,
    "Tensor(t)": lambda m: ((x := m.ones(2)), (y := m.Tensor(x)), y, y is x, y.data_ptr() == x.data_ptr())[-3:],
    "Tensor(t int)": lambda m: m.Tensor(m.arange(2)),
    "Tensor(nd)": lambda m: m.Tensor(np.arange(2)),
    "Tensor(1.5)": lambda m: m.Tensor(1.5),
    "Tensor grad": lambda m: m.Tensor(leaf(m, 2) * 2),
    "Tensor str": lambda m: m.Tensor("a"),
    "Tensor None": lambda m: m.Tensor(None),
    "Tensor neg": lambda m: m.Tensor(-1),
    "Tensor empty list": lambda m: m.Tensor([]),
    "Tensor 0": lambda m: m.Tensor(0),
    "isinstance Tensor": lambda m: (isinstance(m.ones(1), m.Tensor), isinstance(m.nn.Parameter(m.ones(1)),
        m.Tensor), isinstance(m.nn.Parameter(m.ones(1)), m.nn.Parameter), isinstance(m.ones(1), m.nn.Parameter)),
    "subclass": lambda m: ((C := type("C", (m.Tensor,), {})), (c := C([1.0, 2.0])), type(c).__name__, c)[-2:],
    "_make_subclass": lambda m: ((C := type("C", (m.Tensor,), {})), (x := leaf(m, 2)),
        (y := m.Tensor._make_subclass(C, x)), type(y).__name__, y.requires_grad, y.is_leaf,
        y.data_ptr() == x.data_ptr())[-4:],
    "_make_subclass rg": lambda m: ((C := type("C", (m.Tensor,), {})), (y := m.Tensor._make_subclass(C, m.ones(2),
        True)), y.requires_grad, y.is_leaf)[-2:],
    "_make_subclass err": lambda m: m.Tensor._make_subclass(int, m.ones(2), True),
    "subclass new": lambda m: ((C := type("C", (m.Tensor,), {"__new__": lambda cls, d: m.Tensor._make_subclass(cls,
        d, True)})), (c := C(m.ones(2))), (c * 2).sum().backward(), c.grad, type(c).__name__)[-2:],
    "subclass backward": lambda m: ((C := type("C", (m.Tensor,), {})), (c := C([1.0, 2.0])), c.requires_grad_(),
        (c * 3).sum().backward(), c.grad, type(c.grad).__name__)[-2:],
    "Parameter": lambda m: [(type(p).__name__, p.requires_grad, p.is_leaf,
        repr(p)) for p in (m.nn.Parameter(m.ones(2)), m.nn.Parameter(m.ones(2), False), m.nn.Parameter(leaf(m, 2)),
        m.nn.Parameter(leaf(m, 2) * 2))],
    "Parameter()": lambda m: m.nn.Parameter(),
    "Parameter list": lambda m: m.nn.Parameter([1.0, 2.0]),
    "Parameter of Parameter": lambda m: ((p := m.nn.Parameter(m.ones(2))), (q := m.nn.Parameter(p)), q is p,
        q.data_ptr() == p.data_ptr())[-2:],
    "Parameter ops": lambda m: (type(m.nn.Parameter(m.ones(2)) * 2).__name__,
        type(m.nn.Parameter(m.ones(2)).data).__name__, type(m.nn.Parameter(m.ones(2)).detach()).__name__,
        type(m.nn.Parameter(m.ones(2)).clone()).__name__, type(m.nn.Parameter(m.ones(2)).view(2)).__name__),
    "Parameter ver": lambda m: ((x := m.ones(2)), (p := m.nn.Parameter(x)), x.add_(1), p._version, p)[-2:],
    "Parameter base": lambda m: ((x := m.ones(2)), (p := m.nn.Parameter(x[:1])), p._base, p._is_view())[-2:],
    "data set": lambda m: ((x := leaf(m, 2)), having(x, data=m.zeros(3)), x, x.data)[-2:],
    "data set dtype": lambda m: having(leaf(m, 2), data=m.ones(2, dtype=m.float64)),
    "data set int": lambda m: having(leaf(m, 2), data=m.arange(2)),
    "data set int nograd": lambda m: having(m.ones(2), data=m.arange(2)),
    "data set bad": lambda m: having(leaf(m, 2), data=[1]),
    "data set none": lambda m: having(leaf(m, 2), data=None),
    "data set nd": lambda m: having(leaf(m, 2), data=np.ones(2)),
    "data del": lambda m: delattr(leaf(m, 2), "data"),
    "data set nonleaf": lambda m: having(leaf(m, 2) * 2, data=m.zeros(2)),
    "data set version": lambda m: ((x := m.ones(2)), x.add_(1), having(x, data=m.zeros(2)), x._version)[-1],
    "data set shares": lambda m: ((x := m.ones(2)), (y := m.zeros(2)), having(x, data=y), y.add_(1), x, x._version,
        y._version)[-3:],
    "data version": lambda m: ((x := m.ones(2)), x.data.add_(1), x._version)[-1],
    "data of result": lambda m: ((x := (leaf(m, 2) * 2).data), x)[-1],
    "data grad after set shape": lambda m: ((x := leaf(m, 2)), (x * 2).sum().backward(), having(x, data=m.zeros(3)),
        x.grad)[-1],
    "data set 0d float64": lambda m: m.tensor([m.tensor(1.0, dtype=m.float64)]),
    "tensor of 0d": lambda m: (m.tensor([m.tensor(1)]), m.tensor([m.tensor(1.0), 2]), m.tensor([m.tensor(True)]),
        m.tensor([[m.tensor(1.0, dtype=m.float64), 2.0]]), m.tensor([m.tensor(1), m.tensor(2.5)]), m.tensor([1,
        m.tensor(2.5, dtype=m.float64)])),
    "tensor of vecs": lambda m: m.tensor([m.ones(2), m.ones(2)]),
    "tensor of 1vecs": lambda m: m.tensor([m.ones(1), m.ones(1)]),
    "tensor of grads": lambda m: m.tensor([leaf(m), leaf(m)]),
    "tensor of half 0d": lambda m: m.tensor([m.tensor(1.0, dtype=m.float16)]),
    "tensor(tensor)": lambda m: m.tensor(m.ones(2)),
    "tensor(leaf)": lambda m: m.tensor(leaf(m, 2)),
    "tensor(t, rg)": lambda m: m.tensor(m.ones(2), requires_grad=True),
    "tensor mix": lambda m: (m.tensor([1, 2.5]), m.tensor([True, 2]), m.tensor([True, 2.5]), m.tensor([]),
        m.tensor([[]]), m.tensor([[], []]), m.tensor(()), m.tensor(1), m.tensor(True), m.tensor(1.5)),
    "tensor big int": lambda m: m.tensor(2 ** 63),
    "tensor range": lambda m: m.tensor(range(3)),
    "tensor gen": lambda m: m.tensor(i for i in range(3)),
    "tensor set": lambda m: m.tensor({1, 2}),
    "tensor dict": lambda m: m.tensor({}),
    "tensor np generic": lambda m: (m.tensor(np.float64(1)), m.tensor(np.float32(1)), m.tensor(np.int32(1)),
        m.tensor(np.bool_(True))),
    "tensor int dtype of float": lambda m: m.tensor([1.7, -1.7], dtype=m.int64),
    "tensor bool dtype": lambda m: m.tensor([0.5, 0], dtype=m.bool),
    "tensor uint8 neg": lambda m: m.tensor([-1], dtype=m.uint8),
    "tensor half": lambda m: m.tensor([10000000000.0], dtype=m.float16),
    "tensor float inf int": lambda m: m.tensor([float("nan")], dtype=m.int64),
    "as_tensor": lambda m: ((x := leaf(m, 2)), m.as_tensor(x) is x, m.as_tensor(x, dtype=m.float64),
        m.as_tensor([1.0, 2.0]), m.as_tensor(np.ones(2)), m.as_tensor(1))[1:],
    "as_tensor shares": lambda m: ((a := np.ones(2)), (t := m.as_tensor(a)), t.add_(1), a)[-1],
}

ALL = MADE


@pytest.mark.parametrize("name", ALL)
def test_both_give_the_same(torch, every_warning, name):
    assert outcome(ALL[name], minigrad) == outcome(ALL[name], torch)
