"""Dtypes, devices and sizes as objects, the default dtype, conversions, overflow, and no complex numbers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import minigrad
from tests.parity.alike import alike

pytestmark = pytest.mark.torch

DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool")
ALIASES = {"half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32",
           "long": "int64"}


def each(m):
    """All dtypes."""
    return [getattr(m, name) for name in DTYPES]


def fields(thing, *names):
    """Attributes, by name."""
    return [getattr(thing, name) for name in names]


def default(m, name, program):
    """What a program gives under a default dtype."""
    m.set_default_dtype(getattr(m, name))
    try:
        return program(m)
    finally:
        m.set_default_dtype(m.float32)


def on(m, name, program):
    """What a program gives under a default device."""
    m.set_default_device(name)
    try:
        return program(m)
    finally:
        m.set_default_device(None)


def made(m):
    """The dtype of everything that is created without one."""
    ones = m.ones(2, 2)
    return [t.dtype for t in (
        m.tensor(1.0), m.tensor([1.0, 2]), m.tensor([]), m.tensor(1), m.tensor(True), m.zeros(1), ones, m.empty(1),
        m.full((1,), 2.5), m.full((1,), 2), m.full((1,), True), m.eye(2), m.arange(3), m.arange(3.0),
        m.arange(0, 1, 0.5),
        m.linspace(0, 1, 3), m.rand(1), m.randn(1), m.normal(0.0, 1.0, (1,)), m.randint(3, (1,)), m.randperm(2),
        m.Tensor(2), m.Tensor([1]), m.scalar_tensor(1), m.as_tensor([1.0]), m.as_tensor(1), m.zeros_like(m.arange(2)),
        m.arange(2) * 1.5, m.arange(2) / 2, m.arange(2).exp(), m.tensor(True) + 0.5, ones.new_tensor([1.0]),
        m.where(m.tensor([True]), 1.0, 2.0), m.ones(1, dtype=m.int8).sqrt(), m.arange(2).float(),
        m.nn.Linear(1, 1).weight,
        m.logspace(0, 1, 2), m.ones(2, dtype=m.float16) * 2.5, m.arange(3).sum(), m.arange(3).to(float))]


PROGRAMS = {
    "names": lambda m: [repr(d) for d in each(m)],
    "aliases": lambda m: [getattr(m, a) is getattr(m, d) for a, d in ALIASES.items()],
    "facts": lambda m: [fields(d, "itemsize", "is_floating_point", "is_complex", "is_signed", "abbr") for d in each(m)],
    "to_real": lambda m: [d.to_real() is d for d in each(m)],
    "to_complex of integers": lambda m: m.int64.to_complex(),
    "new dtype": lambda m: m.dtype(),
    "type": lambda m: [isinstance(d, m.dtype) for d in each(m)],
    "equality": lambda m: [m.float32 == "float32", m.float32 == m.float, m.float32 != m.float64, m.int8 in {m.int8}],
    "copies": lambda m: [copy.copy(d) is d and copy.deepcopy(d) is d for d in each(m)],
    "pickles": lambda m: [pickle.loads(pickle.dumps(d)) is d for d in each(m)],
    "reduced": lambda m: m.float32.__reduce__(),
    "numbers by name": lambda m: [m.pi, m.e, m.inf, str(m.nan), m.newaxis, m.ones(2)[:, m.newaxis].shape],
    # limits
    "finfo": lambda m: [repr(m.finfo(d)) for d in each(m)[:3]],
    "finfo fields": lambda m: [fields(m.finfo(d), "bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution",
                                      "dtype") for d in each(m)[:3]],
    "finfo of the default": lambda m: [repr(m.finfo()), default(m, "float64", lambda m: repr(m.finfo()))],
    "finfo by name": lambda m: repr(m.finfo(type=m.float64)),
    "finfo of integers": lambda m: m.finfo(m.int32),
    "finfo of a number": lambda m: m.finfo(3),
    "finfo of None": lambda m: m.finfo(None),
    "infos are equal": lambda m: [m.finfo(m.float32) == m.finfo(), m.finfo(m.float64) == m.finfo(), m.finfo() == 3,
                                  m.iinfo(m.int8) == m.iinfo(m.int8), m.iinfo(m.int8) != m.iinfo(m.uint8)],
    "iinfo": lambda m: [repr(m.iinfo(d)) for d in each(m)[3:8]],
    "iinfo fields": lambda m: [fields(m.iinfo(d), "bits", "max", "min", "dtype") for d in each(m)[3:8]],
    "iinfo of floats": lambda m: m.iinfo(m.float32),
    "iinfo of bools": lambda m: m.iinfo(m.bool),
    "iinfo of a number": lambda m: m.iinfo(3),
    # how dtypes meet
    "promote_types": lambda m: [[m.promote_types(a, b) for a in each(m)] for b in each(m)],
    "can_cast": lambda m: [[m.can_cast(a, b) for a in each(m)] for b in each(m)],
    "promote_types of a number": lambda m: m.promote_types(m.int8, 3),
    "promote_types of a word": lambda m: m.promote_types("a", m.int8),
    "can_cast to a number": lambda m: m.can_cast(m.float32, 3),
    "can_cast by names": lambda m: m.can_cast(from_=m.float32, to=m.float64),
    "result_type of numbers": lambda m: [m.result_type(a, b) for a in (True, 2, 2.5) for b in (False, 3, 0.5)],
    "result_type by names": lambda m: m.result_type(tensor=m.ones(1), other=2),
    # the default dtype
    **{f"made under {name}": lambda m, name=name: default(m, name, made) for name in DTYPES[:3]},
    "default": lambda m: [m.get_default_dtype(), default(m, "float64", lambda m: m.get_default_dtype())],
    "default, integers": lambda m: m.set_default_dtype(m.int64),
    "default, a word": lambda m: m.set_default_dtype("float64"),
    "default, a number": lambda m: m.set_default_dtype(3),
    "default prints": lambda m: default(m, "float64", lambda m: [repr(m.ones(1)), repr(m.ones(1, dtype=m.float32))]),
    "Tensor's type": lambda m: default(m, "float64", lambda m: [m.Tensor().type(), m.arange(2).type(m.float16).dtype]),
    # devices
    "devices": lambda m: [repr(d) for d in (
        m.device("cpu"), m.device("cpu:0"), m.device("cpu", 0), m.device(type="cuda", index=1), m.device("cuda:1"),
        m.device("cuda", 1), m.device("mps"), m.device("meta"), m.device(m.device("cuda:1")))],
    "devices, text": lambda m: [str(m.device("cuda:1")), str(m.device("cpu")), m.device("cuda:3").index,
                                m.device("cpu").index, m.device("cuda").type],
    "devices are equal": lambda m: [m.device("cuda:0") == m.device("cuda"), m.device("cpu") == m.device("cpu"),
                                    m.device("cpu") == "cpu", hash(m.device("cpu")) == hash(m.device("cpu"))],
    "device, copied": lambda m: [copy.deepcopy(m.device("cuda:1")), pickle.loads(pickle.dumps(m.device("cuda", 1)))],
    **{f"device {text!r}": lambda m, text=text: m.device(text)
       for text in ("foo", "", "cuda:", "cuda:a", "cuda:-1", "cuda:01", "CPU", "cpu:x1", "cuda1", 1, -1, 1.5, None)},
    "device, two indices": lambda m: m.device("cuda:1", 1),
    "device, negative index": lambda m: m.device("cuda", -1),
    "device, index a word": lambda m: m.device("cuda", "1"),
    "made on cpu": lambda m: [m.ones(1, device=d).device for d in ("cpu", m.device("cpu"), None)],
    "made on cuda": lambda m: m.ones(1, device="cuda"),
    "made on cuda:1": lambda m: m.zeros(1, device=m.device("cuda:1")),
    "made on foo": lambda m: m.ones(1, device="foo"),
    "made on 3": lambda m: m.ones(1, device=3),
    "tensor on cuda": lambda m: m.tensor([1.0], device="cuda"),
    "default device": lambda m: [m.get_default_device(), on(m, "cpu", lambda m: m.ones(1).device)],
    "default device, cuda": lambda m: on(m, "cuda", lambda m: m.zeros(2)),
    "default device, foo": lambda m: on(m, "foo", lambda m: m.zeros(2)),
    "with device": lambda m: with_device(m, "cpu"),
    "with device, cuda": lambda m: with_device(m, "cuda"),
    # conversions
    "to itself": lambda m: [(x := m.ones(2)).to(*a, **k) is x for a, k in (
        ((m.float32,), {}), (("cpu",), {}), ((m.float32,), {"copy": True}), ((), {"dtype": m.float32}), ((None,), {}),
        ((m.device("cpu"), m.float32), {}), ((m.ones(1),), {}))],
    "to": lambda m: [m.ones(2).to(*a, **k).dtype for a, k in (
        ((m.float64,), {}), (("cpu", m.int8), {}), ((m.device("cpu"),), {"dtype": m.int32}),
        ((m.float64, True, True), {}), ((m.float64,), {"non_blocking": True}), ((m.ones(1, dtype=m.int8),), {
            "copy": True}), ((float,), {}), ((int,), {}))],
    "to cuda": lambda m: m.ones(2).to("cuda"),
    "to cuda, named": lambda m: m.ones(2).to(device="cuda:0"),
    "to 0": lambda m: m.ones(2).to(0),
    "to a word": lambda m: m.ones(2).to("float64"),
    "cuda": lambda m: m.ones(2).cuda(),
    "to and back": lambda m: ((x := m.ones(2, requires_grad=True)).to(m.float64).to(m.float32).sum().backward(),
                              x.grad),
    "short names": lambda m: [getattr(m.ones(2), n)().dtype for n in (
        "half", "float", "double", "byte", "char", "short", "int", "long", "bool")],
    "old names": lambda m: [m.ones(1, dtype=d).type() for d in each(m)],
    "type of": lambda m: [m.ones(2).type("torch.DoubleTensor").dtype, m.ones(2).type(m.int8).dtype],
    "type of a word": lambda m: m.ones(2).type("foo"),
    "type of a number": lambda m: m.ones(2).type(3),
    "type_as": lambda m: m.ones(2).type_as(m.ones(1, dtype=m.int8)),
    "fractions are cut off": lambda m: m.tensor([1.7, -1.7]).to(m.int32),
    "dtypes of Python": lambda m: [m.zeros(1, dtype=d).dtype for d in (float, int, bool)],
    # integers
    "overflow": lambda m: [m.tensor([127], dtype=m.int8) + 1, m.tensor([255], dtype=m.uint8) + 1,
                           m.tensor([2**63 - 1]) + 1, m.tensor([100], dtype=m.int8) * 2,
                           -m.tensor([-128], dtype=m.int8), m.tensor([-128], dtype=m.int8).abs(),
                           m.tensor([1], dtype=m.uint8) - 2],
    "too large for uint8": lambda m: m.tensor([300], dtype=m.uint8),
    "too large for int8": lambda m: m.tensor([128], dtype=m.int8),
    "too large for int64": lambda m: m.tensor([2**63]),
    "300 as uint8": lambda m: m.tensor([300.0]).to(m.int64).to(m.uint8),
    "over 0": lambda m: repr([m.tensor([1, 0]) / 0, m.tensor([1.0, 0.0]) // 0, m.tensor([1.0]) % 0]),
    "// 0": lambda m: m.tensor([1]) // 0,
    "% 0": lambda m: m.tensor([1]) % 0,
    "fmod 0": lambda m: m.tensor([1]).fmod(0),
    "// zeros": lambda m: m.tensor([1]) // m.tensor([0]),
    "negative power": lambda m: m.tensor([2]) ** -1,
    "sums": lambda m: [m.ones(2, dtype=d).sum() for d in each(m)],
    "mean of integers": lambda m: m.ones(2, dtype=m.int64).mean(),
    "mean of bools": lambda m: m.ones(2, dtype=m.bool).mean(),
    "float16 times a number": lambda m: [m.tensor([3.0, 0.001], dtype=m.float16) * c for c in (0.1, 1e6, 3001, 1e-9)],
    "float16 over a number": lambda m: [m.tensor([3.0, 1e4], dtype=m.float16) / c for c in (0.1, 1e6, 3001, 1e-3)],
    "float16 times a number, gradient": lambda m: ((x := m.ones(2, dtype=m.float16, requires_grad=True)), (
        x * 0.1).sum().backward(), x.grad)[2],
    # no complex numbers
    "parts of real tensors": lambda m: [m.real(m.ones(2)), m.ones(2).real, m.ones(2).conj(), m.is_conj(m.ones(2)),
                                        m.ones(2).resolve_conj(), m.is_complex(m.ones(2)), m.isreal(m.ones(2)),
                                        m.ones(2).is_neg(), m.ones(2).conj_physical(), m.ones(2).resolve_neg()],
    "imag": lambda m: m.ones(2).imag,
    "imag, function": lambda m: m.imag(m.ones(2)),
    "view_as_real": lambda m: m.view_as_real(m.ones(2, 2)),
    # Size
    "Size": lambda m: [m.Size([2, 3]).numel(), m.Size([2, 3]) == (2, 3), repr(m.Size([])), m.Size((1, 2))[0]],
}


def with_device(m, name):
    """Where a tensor is made in a `with` block."""
    with m.device(name):
        inside = m.zeros(1).device
    return [inside, m.ones(1).device]


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    with np.errstate(all="ignore"):
        alike(torch, PROGRAMS[name])


ABSENT = {
    "complex64": lambda m: m.complex64,
    "cfloat": lambda m: m.cfloat,
    "uint16": lambda m: m.uint16,
    "a complex number": lambda m: m.tensor(1j),
    "complex numbers in a list": lambda m: m.tensor([1, 2j]),
    "complex()": lambda m: m.complex(m.ones(1), m.ones(1)),
    "view_as_complex": lambda m: m.view_as_complex(m.ones(2, 2)),
    "polar": lambda m: m.polar(m.ones(1), m.ones(1)),
    "Tensor.cfloat": lambda m: m.ones(1).cfloat(),
    "Tensor.cdouble": lambda m: m.ones(1).cdouble(),
    "Tensor.chalf": lambda m: m.ones(1).chalf(),
    "to_complex": lambda m: m.float32.to_complex(),
    "result_type": lambda m: m.result_type(m.ones(1), 1j),
}


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_not_here_says_so(name):
    with pytest.raises((AttributeError, RuntimeError, TypeError, NotImplementedError), match="no complex numbers"):
        ABSENT[name](minigrad)
