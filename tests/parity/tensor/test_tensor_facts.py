"""What a tensor says of itself, and what it is to Python."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.leaves import leaf
from tests.parity.tensors import having, outcome

pytestmark = pytest.mark.torch


def number_without_grad_mode(m):
    """Python's numbers of a leaf."""
    x = leaf(m, 1)
    with m.no_grad():
        return float(x), complex(x), int(x)


FACTS = {
    "reversed": lambda m: [list(reversed(m.arange(3))), reversed(m.tensor([[1, 2], [3, 4]])), reversed(m.tensor(3.0)),
                           reversed(m.ones(2, requires_grad=True))],
    "is_tensor": lambda m: (m.is_tensor(m.ones(1)), m.is_tensor(1), m.is_tensor(np.ones(1)),
        m.is_tensor(m.nn.Parameter(m.ones(1)))),
    "typename": lambda m: [m.typename(v) for v in (m.ones(1), 1, "a", m.nn.Parameter(m.ones(1)), m.arange(2),
        m.tensor([True]), np.ones(1), None, len)],
    "type()": lambda m: [m.ones(1, dtype=d).type() for d in (m.float16, m.float32, m.float64, m.uint8, m.int8,
        m.int16, m.int32, m.int64, m.bool)],
    "type(dtype)": lambda m: (m.ones(2).type(m.float64), leaf(m, 2).type(m.float64),
        m.ones(2).type("torch.DoubleTensor"), m.ones(2).type(m.int64)),
    "type same": lambda m: ((x := m.ones(2)), x.type(m.float32) is x)[-1],
    "type bad": lambda m: m.ones(2).type("foo"),
    "type param": lambda m: m.nn.Parameter(m.ones(2)).type(),
    "type_as": lambda m: m.ones(2).type_as(m.arange(2)),
    "is_cuda": lambda m: (m.ones(1).is_cuda, m.ones(1).is_sparse, m.ones(1).is_quantized, m.ones(1).is_meta),
    "layout": lambda m: m.ones(1).layout,
    "torch.strided": lambda m: m.strided,
    "layout eq": lambda m: m.ones(1).layout is m.strided,
    "itemsize": lambda m: [(t.itemsize, t.nbytes, t.element_size()) for t in (m.ones(2, 3), m.ones(2,
        dtype=m.float64), m.tensor(True), m.ones(0), m.ones(3).expand(2, 3))],
    "numel": lambda m: (m.numel(m.ones(2, 3)), m.ones(2, 3).nelement(), m.ones(2, 3).numel()),
    "ndimension": lambda m: (m.ones(2, 3).ndimension(), m.ones(2).dim(), m.ones(2).ndim),
    "is_same_size": lambda m: (m.ones(2).is_same_size(m.ones(2)), m.ones(2).is_same_size(m.ones(3))),
    "is_floating": lambda m: (m.is_floating_point(m.ones(1)), m.ones(1).is_floating_point(),
        m.arange(2).is_floating_point(), m.ones(1).is_complex(), m.is_complex(m.ones(1)), m.ones(1).is_signed(),
        m.tensor([True]).is_signed(), m.ones(1, dtype=m.uint8).is_signed()),
    "is_nonzero": lambda m: (m.tensor(1.0).is_nonzero(), m.is_nonzero(m.tensor([0]))),
    "is_nonzero bad": lambda m: m.ones(2).is_nonzero(),
    "is_set_to": lambda m: ((x := m.ones(2)), x.is_set_to(x), x.is_set_to(m.ones(2)))[1:],
    "is_inference": lambda m: (m.ones(1).is_inference(), m.is_inference(m.ones(1))),
    "get_device": lambda m: m.ones(1).get_device(),
    "real": lambda m: ((x := m.ones(2)), x.real is x)[-1],
    "in list": lambda m: ((x := m.tensor(1.0)), x in [m.tensor(2.0), x], m.tensor(2.0) in [x])[1:],
    "in list of vectors": lambda m: m.ones(2) in [m.zeros(2)],
    "in list same": lambda m: ((x := m.ones(2)), x in [x])[-1],
    "index in list": lambda m: [m.tensor(1.0), m.tensor(2.0)].index(m.tensor(2.0)),
    "in tensor": lambda m: (1 in m.arange(3), 5 in m.arange(3), m.tensor(2) in m.arange(3), True in m.arange(3)),
    "in tensor broadcast": lambda m: m.ones(2) in m.ones(3, 2),
    "in tensor str": lambda m: "a" in m.arange(3),
    "in tensor list": lambda m: [1] in m.arange(3),
    "in tensor 0d": lambda m: 1 in m.tensor(1.0),
    "bool": lambda m: [bool(t) for t in (m.tensor(1.0), m.tensor([0]), m.tensor([[True]]))],
    "bool many": lambda m: bool(m.ones(2)),
    "bool none": lambda m: bool(m.ones(0)),
    "not": lambda m: not m.tensor(0.0),
    "and": lambda m: m.ones(2) and 1,
    "float grad": lambda m: float(leaf(m, 1)),
    "int grad": lambda m: int(leaf(m, 1)),
    "item grad": lambda m: leaf(m, 1).item(),
    "bool grad": lambda m: bool(leaf(m, 1)),
    "float vec": lambda m: float(m.ones(2)),
    "int vec": lambda m: int(m.ones(2)),
    "complex": lambda m: complex(m.tensor(1.5)),
    "complex vec": lambda m: complex(m.ones(2)),
    "complex grad": lambda m: complex(leaf(m, 1)),
    "round": lambda m: round(m.tensor(1.5)),
    "index": lambda m: (range(5)[m.tensor(2)], range(5)[m.tensor([[3]])], [1, 2][m.tensor(True)]),
    "index float": lambda m: range(5)[m.tensor(2.0)],
    "index vec": lambda m: range(5)[m.tensor([1, 2])],
    "math": lambda m: math.sqrt(m.tensor(4.0)),
    "divmod": lambda m: divmod(m.tensor(7.0), 2),
    "len": lambda m: (len(m.ones(3, 2)), len(m.ones(0))),
    "len0": lambda m: len(m.tensor(1)),
    "iter": lambda m: list(m.arange(6).view(3, 2)),
    "iter grad": lambda m: [v * 2 for v in leaf(m, 2, 2)],
    "unpack": lambda m: (lambda a, b: (a, b))(*leaf(m, 2)),
    "iter empty": lambda m: list(m.ones(0, 3)),
    "zip": lambda m: dict(zip(m.arange(2).tolist(), m.arange(2))),
    "sum()": lambda m: sum(m.arange(3)),
    "max()": lambda m: max(m.arange(3)),
    "sorted": lambda m: sorted(m.tensor([3.0, 1.0])),
    "any()": lambda m: any(m.tensor([0, 1])),
    "dir": lambda m: all(n in dir(m.ones(1)) for n in ("grad", "backward", "add", "is_leaf", "requires_grad")),
    "dir attr": lambda m: "zz" in dir(having(m.ones(1), zz=1)),
    "volatile": lambda m: m.ones(1).volatile,
    "volatile set": lambda m: having(m.ones(1), volatile=True),
    "format": lambda m: (f'{m.tensor(1.23456):.2f}', f'{leaf(m):.1f}', f'{m.arange(3)[1]:d}', f'{m.ones(2)}',
        f'{m.tensor(1.5)}', f'{leaf(m)}', f'{leaf(m) * 2}'),
    "format bad": lambda m: f'{m.ones(2):.2f}',
    "format >": lambda m: f'{m.tensor(1.5):>8}',
    "format param": lambda m: f'{m.nn.Parameter(m.tensor(1.5)):.2f}',
    "%": lambda m: operator.mod("%.2f %d %s", (m.tensor(1.5), m.tensor(3), m.ones(2))),
    "%grad": lambda m: operator.mod("%.2f", leaf(m)),
    "str": lambda m: str(m.ones(2)),
    "repr": lambda m: repr(leaf(m, 2)),
    "setstate": lambda m: ((x := m.zeros(2)), x.__setstate__((True, None, {})), x)[-1],
    "setstate 5": lambda m: ((x := m.zeros(2)), x.__setstate__((m.ones(3), None, {}, True, None)), x)[-1],
    "setstate nonleaf": lambda m: (leaf(m, 2) * 2).__setstate__((True, None, {})),
    "contains grad": lambda m: 1.0 in leaf(m, 2),
    "grad on view": lambda m: ((x := leaf(m, 3)), (v := x[1:]), (v * 2).sum().backward(), x.grad,
        v.retains_grad)[-2:],
    "numel nd": lambda m: m.numel(np.ones(2)),
    "hash eq": lambda m: len({m.ones(1), m.ones(1)}),
    "numbers of one without grad mode": number_without_grad_mode,
}


@pytest.mark.parametrize("name", FACTS)
def test_both_give_the_same(torch, every_warning, name):
    assert outcome(FACTS[name], minigrad) == outcome(FACTS[name], torch)


READ_ONLY = ("_base", "_version", "T", "device", "dtype", "grad_fn", "is_cpu", "is_leaf", "itemsize", "layout", "mT",
             "name", "nbytes", "ndim", "output_nr", "retains_grad", "shape")


@pytest.mark.parametrize("name", (*READ_ONLY, "data", "grad", "requires_grad"))
def test_deleted_attributes(torch, name):
    def program(m, x):
        delattr(x, name)
        return x.requires_grad, x.grad

    for make in (lambda m: m.ones(2, 2), lambda m: leaf(m, 2, 2), lambda m: leaf(m, 2, 2) * 1):
        alike(torch, lambda m, make=make: program(m, make(m)))


@pytest.mark.parametrize("name", (*READ_ONLY, "real"))
def test_attributes_set(torch, name):
    alike(torch, lambda m: having(m.ones(2, 2), **{name: m.zeros(2, 2)}))
