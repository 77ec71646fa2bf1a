"""Copies, Parameters, arrays and gradients of tensors that are then used: what each still shares with the others."""

from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

import minigrad
from tests.parity.leaves import leaf
from tests.parity.tensors import outcome

pytestmark = pytest.mark.torch

LIVES = {
    "deepcopy grad_fn cut": lambda m: copy.deepcopy(leaf(m, 2).detach()),
    "deepcopy list twice": lambda m: ((x := leaf(m, 2)), (a := copy.deepcopy([x, x, {"a": x}])), a[0] is a[1],
        a[2]["a"] is a[0])[2:],
    "deepcopy grad shared": lambda m: ((x := leaf(m, 2)), (y := leaf(m, 2)), (g := m.ones(2)), setattr(x, "grad",
        g), setattr(y, "grad", g), (a := copy.deepcopy([x, y])), a[0].grad is a[1].grad)[-1],
    "deepcopy module with grads": lambda m: ((a := m.nn.Linear(2, 1)), a(m.ones(1, 2)).sum().backward(),
        (k := copy.deepcopy(a)), k.weight.grad)[-1],
    "deepcopy then backward": lambda m: ((x := leaf(m, 2)), (y := copy.deepcopy(x)), (y * 2).sum().backward(),
        x.grad, y.grad)[-2:],
    "deepcopy inference": lambda m: ((c := m.inference_mode()), c.__enter__(), (x := m.ones(2)), c.__exit__(None,
        None, None), (y := copy.deepcopy(x)), y.is_inference())[-1],
    "copy inference": lambda m: ((c := m.inference_mode()), c.__enter__(), (x := m.ones(2)), c.__exit__(None, None,
        None), (y := copy.copy(x)), y.is_inference())[-1],
    "Parameter inference": lambda m: ((c := m.inference_mode()), c.__enter__(), (x := m.ones(2)), c.__exit__(None,
        None, None), m.nn.Parameter(x).is_inference())[-1],
    "Parameter no_grad": lambda m: (m.set_grad_enabled(False), (p := m.nn.Parameter(m.ones(2))),
        m.set_grad_enabled(True), p.requires_grad)[-1],
    "Parameter frozen view": lambda m: ((x := leaf(m, 2)), (p := m.nn.Parameter(x)), p.grad_fn, p.is_leaf,
        p._version)[2:],
    "Parameter int": lambda m: m.nn.Parameter(m.arange(2)),
    "Parameter int frozen": lambda m: m.nn.Parameter(m.arange(2), requires_grad=False),
    "Parameter rg bad": lambda m: m.nn.Parameter(m.ones(2), requires_grad=1),
    "Parameter data set": lambda m: ((p := m.nn.Parameter(m.ones(2))), setattr(p, "data", m.zeros(3)), p,
        type(p.data).__name__)[-2:],
    "Parameter version shared": lambda m: ((x := m.ones(2)), (p := m.nn.Parameter(x)), x.add_(1), p._version,
        x._version)[-2:],
    "pickle version": lambda m: ((x := pickle.loads(pickle.dumps(leaf(m, 2)))), x._version)[-1],
    "pickle backward": lambda m: ((x := pickle.loads(pickle.dumps(leaf(m, 2)))), (x * x).sum().backward(),
        x.grad)[-1],
    "data_ptr 0d": lambda m: ((x := m.tensor(1.0)),
        x.data_ptr() == x.detach().data_ptr() == x.view(1).data_ptr())[-1],
    "result 0d shares": lambda m: ((y := leaf(m, 2).sum()), (d := y.detach()), d.add_(1), y.item(), y._version)[-2:],
    "result 0d numpy": lambda m: ((y := m.ones(2).sum()), (a := y.numpy()), a.__setitem__((), 5), y)[-1],
    "from_numpy int8": lambda m: [m.from_numpy(np.ones(1, d)) for d in ("int8", "int16", "int32", "int64", "uint8",
        "bool", "float16", "float32", "float64")],
    "from_numpy twice": lambda m: ((a := np.zeros(2)), (x := m.from_numpy(a)), (y := m.from_numpy(a)), x.add_(1), y,
        y._version)[-2:],
    "from_numpy grad": lambda m: ((x := m.from_numpy(np.ones(2)).requires_grad_()), (x * 2).sum().backward(),
        x.grad)[-1],
    "numpy of view": lambda m: m.arange(6).view(2, 3)[:, 1].numpy().strides,
    "numpy bool": lambda m: m.tensor([True]).numpy(),
    "numpy half": lambda m: m.ones(1, dtype=m.float16).numpy(),
    "tolist": lambda m: (m.tensor(1.5).tolist(), m.ones(2, 0).tolist(), m.tensor([[True]]).tolist(), m.ones(1,
        dtype=m.float16).tolist()),
    "item types": lambda m: [type(t.item()).__name__ for t in (m.tensor(1), m.tensor(1.0), m.tensor(True), m.ones(1,
        dtype=m.uint8), m.ones((), dtype=m.float16))],
    "grad set none": lambda m: ((x := leaf(m, 2)), setattr(x, "grad", m.ones(2)), setattr(x, "grad", None),
        x.grad)[-1],
    "grad of view": lambda m: ((x := leaf(m, 2, 2)), (v := x[0]), (v * v).sum().backward(), x.grad)[-1],
    "grad del": lambda m: ((x := leaf(m, 2)), setattr(x, "grad", m.ones(2)), delattr(x, "grad"), x.grad)[-1],
    "grad is view": lambda m: ((x := leaf(m, 2)), setattr(x, "grad", m.ones(4)[:2]), (x * 1).sum().backward(),
        x.grad, x.grad._is_view())[-2:],
    "dict attrs": lambda m: ((x := m.ones(1)), setattr(x, "a", 1), vars(x))[-1],
    "reduce_ex": lambda m: len(m.ones(1).__reduce_ex__(2)) in (2, 3),
    "bool tensor sum": lambda m: sum([m.tensor(True), m.tensor(False)]),
    "min list": lambda m: min([m.tensor(2.0), m.tensor(1.0)]),
    "sorted key": lambda m: sorted([m.tensor(2.0), m.tensor(1.0)], key=float),
    "eq none": lambda m: (operator.eq(m.ones(2), None), operator.ne(m.ones(2), None)),
    "is in tuple": lambda m: m.tensor(1.0) in (1.0, 2.0),
}


@pytest.mark.parametrize("name", LIVES)
def test_both_give_the_same(torch, every_warning, name):
    assert outcome(LIVES[name], minigrad) == outcome(LIVES[name], torch)
