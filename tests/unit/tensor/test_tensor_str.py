"""Printing: character for character what PyTorch prints."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minigrad
from minigrad._base.tensor_data import OPTIONS, get_printoptions, printoptions, set_printoptions

FLOATS = ("float16", "float32", "float64")
DTYPES = (*FLOATS, "int8", "int16", "int32", "int64", "uint8", "bool")
SHAPES = st.one_of(
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5),
    st.sampled_from([(1000,), (1001,), (40, 40), (7, 3, 60), (10, 10, 11), (1, 2000), (2000, 1), (6, 6, 30)]),
)


def both(torch, array):
    """What PyTorch and minigrad print for an array."""
    array = np.asarray(array)
    theirs = torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape)
    return repr(theirs), repr(minigrad.from_numpy(array))


@st.composite
def arrays(draw):
    """Arrays of many sizes; floats near each other or far apart, whole or not, with NaN, infinities and -0."""
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(SHAPES)
    random = np.random.RandomState(draw(st.integers(0, 2**31)))
    values = random.standard_normal(shape) * 10.0 ** draw(st.integers(-9, 9))
    if draw(st.booleans()):
        values = values * 10.0 ** random.randint(-3, 3, shape)
    if draw(st.booleans()):
        values = np.round(values)
    if dtype not in FLOATS:
        return np.clip(values, -1e9, 1e9).astype(np.int64).astype(dtype)
    if draw(st.booleans()):
        odd = np.array([math.nan, math.inf, -math.inf, -0.0, 0.0])[random.randint(5, size=shape)]
        values = np.where(random.random(shape) < 0.3, odd, values)
    with np.errstate(over="ignore", under="ignore"):
        return values.astype(dtype)


settings_of_printing = st.fixed_dictionaries({}, optional={
    "precision": st.integers(0, 7), "threshold": st.integers(0, 60), "edgeitems": st.integers(0, 5),
    "linewidth": st.integers(10, 200), "sci_mode": st.sampled_from([None, True, False]),
    "profile": st.sampled_from(["default", "short", "full"]),
})


@pytest.mark.torch
@given(array=arrays())
def test_any_array_prints_as_in_pytorch(torch, array):
    theirs, ours = both(torch, array)
    assert ours == theirs


@pytest.mark.torch
@given(array=arrays(), options=settings_of_printing)
def test_any_settings_print_as_in_pytorch(torch, array, options):
    from_torch = torch._tensor_str
    with from_torch.printoptions(**options), printoptions(**options):
        assert get_printoptions() == from_torch.get_printoptions()
        theirs, ours = both(torch, array)
    assert ours == theirs


LITERALS = [
    7.0, 7, True, -0.0, math.nan, -math.inf, 1e-6, 123456.789, 1e8, 1.00001e8, [], [[]], [-0.0], [0.0, -0.0],
    [1.0, -0.0],
    [1000.0, 1.0], [1001.0, 1.0], [1e-4, 1e-3], [9.99e-5], [math.nan, 1.0], [math.inf, 1.5, 1e-9], [[1, 2], [-30, 4]],
    [[True], [False]], [0.1 + 0.2], [1e38, -1e38], [99999999.0], [0.00005], [1e-45],
]


@pytest.mark.torch
@pytest.mark.parametrize("data", LITERALS, ids=str)
def test_literals_print_as_in_pytorch(torch, data):
    assert repr(minigrad.tensor(data)) == repr(torch.tensor(data))


SUFFIXES = {
    "leaf": lambda m: m.ones(2, requires_grad=True),
    "result": lambda m: m.ones(2, requires_grad=True) * 2,
    "view": lambda m: m.ones(2, 3, requires_grad=True)[0],
    "double result": lambda m: m.ones(2, dtype=m.float64, requires_grad=True).sum(),
    "empty leaf": lambda m: m.ones(0, 3, requires_grad=True),
    "empty integers": lambda m: m.zeros(0, dtype=m.int64),
    "breaks the line": lambda m: m.ones(20, dtype=m.float64, requires_grad=True) * 1.5,
    "long rows": lambda m: m.ones(3, 21, requires_grad=True) + 0.5,
    "integers": lambda m: m.zeros(3, dtype=m.int32),
    "parameter": lambda m: m.nn.Parameter(m.ones(2, 2)),
    "frozen parameter": lambda m: m.nn.Parameter(m.ones(2, dtype=m.float64), requires_grad=False),
    "gradient": lambda m: m.autograd.grad((x := m.ones(2, requires_grad=True)).exp().sum(), x, create_graph=True),
    "a tuple of leaves": lambda m: (m.ones(1), m.zeros(1, requires_grad=True)),
    "a dtype": lambda m: [m.float32, m.float64, m.int64, m.bool, m.uint8],
    "a size": lambda m: (m.Size([2, 3]), m.ones(2, 3).shape, m.ones(3).size(), m.Size([]), m.ones(2, 3).shape[1:]),
}


@pytest.mark.torch
@pytest.mark.parametrize("make", SUFFIXES.values(), ids=SUFFIXES)
def test_what_follows_the_data_is_as_in_pytorch(torch, make):
    assert repr(make(minigrad)) == repr(make(torch))
    assert str(make(minigrad)) == str(make(torch))


def test_a_node_of_the_users_own_is_named_by_its_class():
    class Twice(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    assert repr(Twice.apply(minigrad.ones(1, requires_grad=True))) == "tensor([2.], grad_fn=<TwiceBackward>)"


FORMATS = {
    "two digits": (lambda m: m.tensor(2.0 / 3), ".2f"),
    "no spec": (lambda m: m.tensor(1.5), ""),
    "integer": (lambda m: m.tensor(7), "05d"),
    "with history": (lambda m: m.tensor(2.5, requires_grad=True) * 2, ".3f"),
    "an array": (lambda m: m.tensor([1.5, 2.0]), ""),
    "an array with a spec": (lambda m: m.tensor([1.5, 2.0]), ".2f"),
}


@pytest.mark.torch
@pytest.mark.parametrize(("make", "spec"), FORMATS.values(), ids=FORMATS)
def test_format_is_as_in_pytorch(torch, make, spec):
    assert formatted(make(minigrad), spec) == formatted(make(torch), spec)


def formatted(tensor, spec):
    """The formatted text, or the name of the error."""
    try:
        return format(tensor, spec)
    except TypeError as error:
        return type(error).__name__


def test_settings_last_for_the_block_and_profiles_set_them_all():
    before = get_printoptions()
    with printoptions(profile="short", linewidth=100):
        assert get_printoptions() == {**before, "precision": 2, "edgeitems": 2, "linewidth": 100}
        assert repr(minigrad.tensor([1.12345])) == "tensor([1.12])"
    assert get_printoptions() == before
    with pytest.raises(ZeroDivisionError), printoptions(sci_mode=True):
        assert OPTIONS.sci_mode is True
        raise ZeroDivisionError
    assert get_printoptions() == before
    set_printoptions(precision=1)
    set_printoptions(profile="default")
    assert get_printoptions() == before
