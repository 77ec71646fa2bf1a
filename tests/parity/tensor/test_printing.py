"""Printing: what `repr`, `str` and `format` give, with every option of `set_printoptions`, is PyTorch's text.

Here are random tensors of every dtype, shape and layout under random options, and a table of single programs.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from tests.parity.alike import alike

pytestmark = pytest.mark.torch

SHAPES = st.sampled_from([
    (), (0,), (1,), (2,), (7,), (30,), (1000,), (1001,), (3, 4), (0, 3), (3, 0, 2), (2, 3, 4), (1, 1, 1, 1), (7, 8, 9),
    (40, 40), (12, 100), (2, 2, 2, 2, 2), (1, 2000), (2000, 1), (11, 11, 11), (6, 7, 30), (5, 1, 300)])
DTYPES = st.sampled_from(["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"])
OPTIONS = st.fixed_dictionaries({}, optional={
    "precision": st.integers(0, 8), "threshold": st.sampled_from([0, 5, 50, 2000, math.inf]),
    "edgeitems": st.sampled_from([0, 1, 2, 5, 10]), "linewidth": st.sampled_from([20, 40, 80, 120, 200]),
    "sci_mode": st.sampled_from([None, True, False]), "profile": st.sampled_from(["default", "short", "full"])})
FORMS = {
    "repr": repr, "str": str, "format": lambda t: f"{t}", "in a list": lambda t: repr([t]),
    "leaf": lambda t: repr(t.requires_grad_() if t.is_floating_point() else t),
    "result": lambda t: repr(t.requires_grad_() * 1 if t.is_floating_point() else t),
    "transposed": lambda t: repr(t.permute(tuple(range(t.ndim))[::-1])),
}
ODD = np.array([math.nan, math.inf, -math.inf, -0.0, 0.0])


@st.composite
def arrays(draw):
    """Numbers near each other or far apart, whole or not, with NaN and infinities."""
    shape, dtype = draw(SHAPES), draw(DTYPES)
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    values = random.standard_normal(shape) * 10.0 ** draw(st.integers(-12, 12))
    kind = draw(st.sampled_from(["near", "far", "whole", "halves", "tiny"]))
    if kind == "far":
        values = values * 10.0 ** random.randint(-5, 5, shape)
    elif kind == "whole":
        values = np.round(values)
    elif kind == "halves":
        values = random.randint(-3, 1000, shape) + random.choice([0, 0.5, 0.25], size=shape)
    elif kind == "tiny":
        values = values * (1e-300 if dtype == "float64" else 1e-40)
    if not dtype.startswith("float"):
        return np.asarray(np.clip(values, -9e18, 9e18)).astype("int64").astype(dtype)
    if draw(st.booleans()):
        values = np.where(random.random_sample(shape) < 0.3, ODD[random.randint(5, size=shape)], values)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype)


@pytest.fixture(autouse=True)
def options_as_they_were(torch):
    yield
    for lib in (torch, minigrad):
        lib.set_printoptions(profile="default")
        lib.set_default_dtype(lib.float32)


@given(array=arrays(), options=OPTIONS, form=st.sampled_from(sorted(FORMS)), default=st.sampled_from(
    ["float32", "float64", "float16"]))
def test_any_tensor_under_any_options(torch, array, options, form, default):
    told = []
    for lib in (torch, minigrad):
        lib.set_default_dtype(getattr(lib, default))
        lib.set_printoptions(profile="default")
        lib.set_printoptions(**options)
        told.append(FORMS[form](lib.from_numpy(array.copy())))
    assert told[1] == told[0]


def with_options(m, value=None, **options):
    """The text of a tensor under options."""
    m.set_printoptions(**options)
    return repr(m.arange(12.0).reshape(3, 4) / 7 if value is None else value)


PROGRAMS = {
    "precision": lambda m: with_options(m, precision=2),
    "positional": lambda m: (m.set_printoptions(3, 5, 2, 40), repr(m.arange(12.0) / 7))[1],
    "options stay": lambda m: (m.set_printoptions(precision=2), m.set_printoptions(linewidth=30), repr(m.rand(0)),
                               repr(m.arange(12.0) / 7))[3],
    "sci_mode does not stay": lambda m: (m.set_printoptions(sci_mode=True), m.set_printoptions(precision=2), repr(
        m.ones(2) / 3))[2],
    "sci_mode": lambda m: with_options(m, sci_mode=True),
    "sci_mode, off": lambda m: with_options(m, m.tensor([1e-7, 1e9]), sci_mode=False),
    "profile short": lambda m: with_options(m, m.arange(2000.0) / 7, profile="short"),
    "profile full": lambda m: len(with_options(m, m.arange(2000.0) / 7, profile="full")),
    "profile and more": lambda m: with_options(m, profile="short", precision=6),
    "profile unknown": lambda m: with_options(m, profile="foo"),
    "threshold": lambda m: with_options(m, threshold=3, edgeitems=1),
    "unknown": lambda m: m.set_printoptions(foo=3),
    # suffixes
    "long suffix": lambda m: repr(m.ones(3, 9, dtype=m.float64, requires_grad=True)),
    "suffix on its own line": lambda m: repr((m.arange(21.0).reshape(3, 7) / 7).double().requires_grad_()),
    "grad_fn": lambda m: [repr(m.ones(2, requires_grad=True) * 2), repr(m.ones((), requires_grad=True).exp())],
    "grad_fn of a view": lambda m: repr(m.ones(2, 2, requires_grad=True)[0]),
    "empty": lambda m: [repr(m.zeros(n)) for n in ((0,), (0, 3), (2, 0), (1, 0, 2))],
    "empty of dtypes": lambda m: [repr(m.zeros(0, dtype=d)) for d in (m.int64, m.bool, m.float64, m.float16)],
    "empty with grad": lambda m: repr(m.zeros(0, 2, requires_grad=True)),
    "0-d": lambda m: [repr(m.tensor(v)) for v in (1, 1.0, 1.5, True, 1e10, 1e-10, math.nan, math.inf, -math.inf, -0.0)],
    "0-d of dtypes": lambda m: [repr(m.tensor(3, dtype=d)) for d in (m.float16, m.float64, m.int8, m.uint8, m.int32)],
    "Parameter": lambda m: repr(m.nn.Parameter(m.ones(2, 3))),
    "Parameter of double": lambda m: repr(m.nn.Parameter(m.ones(2, dtype=m.float64))),
    "Parameter without grad": lambda m: repr(m.nn.Parameter(m.ones(2), requires_grad=False)),
    "Parameter, 0-d": lambda m: [str(m.nn.Parameter(m.tensor(1.5))), f"{m.nn.Parameter(m.tensor(1.5))}"],
    "nothing but nan": lambda m: repr(m.full((3,), math.nan)),
    "all zeros": lambda m: [repr(m.zeros(2, 2)), repr(m.zeros(2, dtype=m.int64)), repr(m.zeros(2, dtype=m.bool))],
    "int64 ends": lambda m: repr(m.tensor([-2**63, 2**63 - 1])),
    "bools": lambda m: repr(m.tensor([[True, False], [False, False]])),
    # str and format
    "str": lambda m: [str(m.ones(2)), str(m.tensor(2.5)), str(m.arange(3))],
    "format of 0-d": lambda m: [f"{m.tensor(2.5):.3f}", f"{m.tensor(3):5d}|", f"{m.tensor(True)}", f"{m.tensor(2.5)}"],
    "format of 0-d, with grad": lambda m: f"{m.tensor(2.5, requires_grad=True):.1f}",
    "format of 0-d, wrong": lambda m: f"{m.tensor(2.5):d}",
    "format of many": lambda m: f"{m.ones(2)}",
    "format of many, with a spec": lambda m: f"{m.ones(2):.2f}",
    "format of one in a list": lambda m: f"{m.ones(1):.2f}",
    # more elements than there is memory for: a view of one, which a copy would not survive
    "a huge view": lambda m: [repr(m.ones(1).expand(2**40)), repr(m.arange(3).expand(2**38, 3))],
    # names
    "Size": lambda m: [repr(m.Size([2, 3])), str(m.ones(()).shape), f"{m.ones(2, 3).shape}", repr(m.Size([2, 3])[1:])],
    "dtypes": lambda m: [repr(d) for d in (m.float32, m.half, m.double, m.long, m.int, m.short, m.uint8, m.bool)],
    "device": lambda m: [repr(m.device("cpu")), str(m.device("cpu")), repr(m.device("cuda:1")),
                         str(m.device("cuda", 1))],
    "layout": lambda m: [repr(m.strided), str(m.ones(1).layout)],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(torch, name):
    alike(torch, PROGRAMS[name])
