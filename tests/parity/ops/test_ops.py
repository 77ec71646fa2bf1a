"""Every op against PyTorch: values, dtype, shape, the whole graph, first, second and third derivatives."""

from __future__ import annotations

import operator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minigrad
from minigrad import ops
from tests.parity.compare import (
    TOLERANCE,
    Input,
    arrays_of,
    derivatives,
    described,
    graph_of,
    leaves_of,
    numbers,
    outputs_of,
)
from tests.parity.tables import all_cases, all_plain

pytestmark = pytest.mark.torch
DTYPES = ("float32", "float64")
CASES, PLAIN = all_cases(), all_plain()


def agree(ours, theirs, dtype):
    """Assert that two results are the same; values within rounding of `dtype`."""
    assert described(ours) == described(theirs) or not hasattr(theirs, "grad_fn")
    if not hasattr(theirs, "grad_fn"):
        assert ours == theirs or ours == pytest.approx(theirs, rel=TOLERANCE[dtype])
        return
    tolerance = TOLERANCE[dtype]
    np.testing.assert_allclose(numbers(ours), numbers(theirs), rtol=tolerance, atol=tolerance)


def compare(torch, call, inputs, dtype, order=3):
    """Run a case under both libraries and compare all there is."""
    arrays = arrays_of(inputs, dtype, seed=len(inputs))
    sides = []
    for lib in (minigrad, torch):
        leaves = leaves_of(lib, inputs, arrays)
        results = outputs_of(call(lib, *leaves))
        sides.append((results, leaves))
    (ours, our_leaves), (theirs, their_leaves) = sides
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        agree(a, b, dtype)
        if hasattr(b, "grad_fn"):
            assert graph_of(a, our_leaves) == graph_of(b, their_leaves)
    differentiable = [v for v in theirs if getattr(v, "requires_grad", False)]
    if not differentiable:
        return
    for depth in range(1, order + 1):
        mine = derivatives(minigrad, *again(minigrad, call, inputs, arrays), depth)
        reference = derivatives(torch, *again(torch, call, inputs, arrays), depth)
        same_gradients(mine, reference, dtype)


def again(lib, call, inputs, arrays):
    """The results and leaves of a fresh run."""
    leaves = leaves_of(lib, inputs, arrays)
    return [v for v in outputs_of(call(lib, *leaves)) if hasattr(v, "grad_fn")], leaves


def same_gradients(mine, reference, dtype):
    """Gradients of all orders agree; one that is missing is the same as zeros from the second order on."""
    for order in range(max(len(mine), len(reference))):
        ours = mine[order] if order < len(mine) else (None,) * len(reference[0])
        theirs = reference[order] if order < len(reference) else (None,) * len(mine[0])
        for a, b in zip(ours, theirs, strict=True):
            if a is None or b is None:
                assert order or a is b
                assert not any(numbers(v).any() for v in (a, b) if v is not None)
                continue
            assert (str(a.dtype), tuple(a.shape)) == (str(b.dtype), tuple(b.shape))
            tolerance = 20 * TOLERANCE[dtype]
            np.testing.assert_allclose(numbers(a), numbers(b), rtol=tolerance, atol=tolerance,
                                       err_msg=f"derivative {order + 1}")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_op(torch, name, dtype):
    call, inputs = CASES[name]
    compare(torch, call, inputs, dtype)


@pytest.mark.parametrize("name", PLAIN)
def test_result_without_graph(torch, name):
    call, inputs = PLAIN[name]
    arrays = arrays_of(inputs, "float32", seed=1)
    with torch.no_grad(), minigrad.no_grad():
        ours = outputs_of(call(minigrad, *leaves_of(minigrad, inputs, arrays)))
        theirs = outputs_of(call(torch, *leaves_of(torch, inputs, arrays)))
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        agree(a, b, "float32")


BINARY = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
          "pow": lambda a, b: abs(a) ** b}
PAIRS = [((), ()), ((3,), ()), ((), (3,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((2, 3), (1,)), ((0, 3), (3,)), ((0,), ()),
         ((4, 1, 3), (2, 1)), ((1,), ()), ((1, 1), (1,)), ((2, 3), (2, 3))]


@pytest.mark.parametrize("shapes", PAIRS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_broadcasting(torch, name, shapes):
    compare(torch, lambda m, a, b: BINARY[name](a, b), [Input(s) for s in shapes], "float64", order=2)
    compare(torch, lambda m, a, b: BINARY[name](a, b), [Input(shapes[0]), Input(shapes[1], grad=False)], "float64")
    compare(torch, lambda m, a, b: BINARY[name](a, b), [Input(shapes[0], grad=False), Input(shapes[1])], "float64")


KINDS = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "eq", "lt"])
def test_promotion_of_two_tensors(torch, name, other):
    call = BINARY.get(name) or getattr(operator, name)
    for kind in KINDS:
        for shapes in PAIRS[:4]:
            inputs = [Input(s, k, positive=True, grad=k.startswith("float"))
                      for s, k in zip(shapes, (kind, other), strict=True)]
            if name == "sub" and "bool" in (kind, other):
                continue
            compare(torch, lambda m, a, b: call(a, b), inputs, "float16", order=1)


@pytest.mark.parametrize("number", [2, 2.5, True, -1, 0.0], ids=str)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_promotion_of_a_tensor_and_a_number(torch, name, number):
    for kind in KINDS:
        for shape in ((), (3,)):
            inputs = [Input(shape, kind, positive=True, grad=kind.startswith("float"))]
            if name == "sub" and (kind == "bool" or number is True):
                continue
            if kind == "uint8" and number == -1:
                continue
            for call in (lambda m, a: BINARY[name](a, number), lambda m, a: BINARY[name](number, a)):
                with np.errstate(all="ignore"):
                    compare(torch, call, inputs, "float16", order=1)


UNARY = ["exp", "log", "sqrt", "sin", "cos", "abs", "sign", "relu", "sigmoid", "tanh", "neg", "reciprocal", "square"]
EDGES = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-30, -1e-30, 1e30, 88.0, -88.0, 1.0, -1.0]


@pytest.mark.parametrize("name", UNARY)
def test_at_the_edges(torch, name):
    sides = []
    for lib in (minigrad, torch):
        x = lib.tensor(EDGES, requires_grad=True)
        y = getattr(x, name)()
        (g,) = lib.autograd.grad(y.sum(), x)
        sides.append([numbers(y), numbers(g)])
    for a, b in zip(*sides, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("size", [(), (1,), (2, 3), (200, 200)])  # relu and sum have ways of their own for some sizes
@pytest.mark.parametrize("value", EDGES)
def test_the_edges_at_every_size(torch, size, value):
    sides = []
    for lib in (minigrad, torch):
        x = lib.full(size, value)
        turned = lib.full((*size, 2, 3), value).transpose(-1, -2).relu()
        results = [numbers(x.relu()), numbers(turned), numbers(x.sum())]
        sides.append([*results, *[np.where(np.isnan(a), 0, np.signbit(a)) for a in results], turned.stride()[-2:]])
    for a, b in zip(*sides, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@given(shape=st.lists(st.integers(0, 4), max_size=3), dims=st.sets(st.integers(0, 2)), keep=st.booleans())
def test_sums_over_any_dimensions(torch, shape, dims, keep):
    dims = tuple(sorted(d for d in dims if d < len(shape)))
    inputs = [Input(tuple(shape))]
    compare(torch, lambda m, a: a.sum(dims, keepdim=keep), inputs, "float64", order=2)
    if 0 not in shape:
        compare(torch, lambda m, a: a.mean(dims, keepdim=keep), inputs, "float64", order=2)


indices = st.recursive(
    st.one_of(st.integers(-4, 3), st.none(), st.just(...), st.slices(4),
              st.lists(st.integers(-2, 1), min_size=1, max_size=3)).filter(
        lambda i: not isinstance(i, slice) or i.step is None or i.step > 0),
    lambda one: st.lists(one, min_size=1, max_size=4).map(tuple).filter(lambda t: t.count(...) < 2 and
                                                                        not any(isinstance(i, tuple) for i in t)),
    max_leaves=4)


@given(shape=st.lists(st.integers(2, 4), min_size=1, max_size=3), index=indices)
def test_any_index(torch, shape, index):
    array = np.arange(float(np.prod(shape))).reshape(shape)
    sides = []
    for lib in (minigrad, torch):
        x = lib.from_numpy(array.copy()).requires_grad_()
        try:
            y = x[index]
        except IndexError as error:
            sides.append(type(error))
            continue
        y.sum().backward()
        sides.append((tuple(y.shape), numbers(y).tolist(), numbers(x.grad).tolist(), graph_of(y, [x])))
    assert sides[0] == sides[1]


def test_every_method_has_a_case():
    """A method of Tensor that no case, here or in the tables, mentions is a method that nobody compared."""
    text = "\n".join(path.read_text() for path in Path(__file__).parents[1].rglob("*.py")
                     if path.parent.name not in ("programs", "scripts", "seeds"))
    names = {n for n in ops.METHODS if n not in SIMPLE}
    assert {n for n in names if f".{n}(" not in text and f'"{n}"' not in text} == set()


SIMPLE = {"cpu", "bool", "int", "float", "contiguous", "swapaxes", "new_zeros", "new_ones", "new_tensor", "numpy"}
