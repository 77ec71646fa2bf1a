"""Small things that ended otherwise than in PyTorch once: values, errors and warnings of whole programs."""

from __future__ import annotations

import copy
import operator
import pickle

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch



def doubled(m, n):
    x = m.ones(n, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g.mul_(2))
    y.sum().backward()
    return x.grad


PROGRAMS = Programs({
    "few degrees of freedom, twice": lambda m: [
        str(f().tolist()) for f in (m.ones(1).var, m.ones(1).var, m.ones(2, 1).cov, m.ones(2, 1).cov)],
    "a mask of bytes, twice": lambda m: [m.ones(2)[m.tensor([1, 0], dtype=m.uint8)] for _ in range(2)],
    "a hook that doubles the one gradient of a sum": lambda m: doubled(m, 1),
    "a hook that doubles the gradients of a sum": lambda m: doubled(m, 3),
    "a list for a tuple, twice": lambda m: [m.ones(2, 2)[[[0], [1]]] for _ in range(2)],
})

NO_TENSORS = [[1.0, 2.0], 3, None, "a"]
FUNCTIONS = {
    "linear": lambda m, x: m.nn.functional.linear(x, m.ones(2, 2)),
    "linear, weight": lambda m, x: m.nn.functional.linear(m.ones(2), x),
    "Linear": lambda m, x: m.nn.Linear(2, 2)(x),
    "Embedding": lambda m, x: m.nn.Embedding(2, 2)(x),
    "LayerNorm": lambda m, x: m.nn.LayerNorm(2)(x),
    "ReLU": lambda m, x: m.nn.ReLU()(x),
    "Dropout": lambda m, x: m.nn.Dropout()(x),
    "MaxPool2d": lambda m, x: m.nn.MaxPool2d(2)(x),
    "CrossEntropyLoss": lambda m, x: m.nn.CrossEntropyLoss()(x, m.tensor([0])),
    "nll_loss": lambda m, x: m.nn.functional.nll_loss(input=x, target=m.tensor([0])),
    "cosine_similarity": lambda m, x: m.nn.functional.cosine_similarity(x, m.ones(2)),
    "scaled_dot_product_attention": lambda m, x: m.nn.functional.scaled_dot_product_attention(x, m.ones(2), m.ones(2)),
    "unfold": lambda m, x: m.nn.functional.unfold(x, 2),
    "silu": lambda m, x: m.nn.functional.silu(x),
}


def changed(change):
    """A program that changes four numbers in place."""
    def program(m):
        x = m.arange(4.0, requires_grad=True)
        y = x * 2
        change(m, y)
        (y * y).sum().backward()
        return y, x.grad
    return program


PROGRAMS.update({f"with its own elements: {name}": changed(change) for name, change in {
    "fill_": lambda m, y: y.fill_(y[3]),
    "masked_fill_": lambda m, y: y.masked_fill_(y > 2, y[0]),
    "index_fill_": lambda m, y: y.index_fill_(0, m.tensor([0]), y[3]),
    "masked_scatter_": lambda m, y: y.masked_scatter_(y > 2, y[:2]),
    "all of an index": lambda m, y: y.__setitem__(slice(None), y[1]),
    "clamp_ by name": lambda m, y: y.clamp_(max=y[2]),
    "mul_": lambda m, y: y.mul_(y[2]),
}.items()})


@PROGRAMS
def sums_and_multiples_of_sizes(m):
    size, more, add = m.ones(2, 3).shape, (4, m.tensor(5), True), operator.add
    made = [add(size[:-1], more), add(more, size), size + size, size * 2, 2 * size, sum([size, size], ())]
    return [(repr(each), each) for each in made]


PROGRAMS.update({f"a size {name}": program for name, program in {
    "and fractions": lambda m: operator.add(m.Size([1]), (2.5,)),
    "behind letters": lambda m: operator.add(("a",), m.Size([1])),
    "and a list": lambda m: operator.add(m.Size([1]), [2]),
    "behind a list": lambda m: operator.add([2], m.Size([1])),
    "and nothing": lambda m: m.Size([1]) + None,
    "times 1.5": lambda m: m.Size([1]) * 1.5,
}.items()})


@PROGRAMS
def a_number_of_a_tensor_without_grad_mode(m):
    x = m.ones(1, requires_grad=True)
    with m.no_grad():
        return float(x), complex(x), int(x)


@PROGRAMS
def copies_of_a_generator_go_on_alike(m):
    g = m.Generator().manual_seed(4)
    m.randn(3, generator=g)
    others = [copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))]
    return [(m.randn(3, generator=each), each.initial_seed(), str(each.device)) for each in (g, *others)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_ends_as_in_pytorch(torch, name):
    (mine, warned), (theirs, expected) = (outcome(PROGRAMS[name], lib) for lib in (minigrad, torch))
    assert mine == theirs
    assert [each for each in warned if each[0] != "RuntimeWarning"] == expected  # NumPy has its own


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_tensor_is_refused_as_in_pytorch(torch, name):
    for value in NO_TENSORS:
        mine, theirs = (outcome(lambda m, value=value: FUNCTIONS[name](m, value), lib) for lib in (minigrad, torch))
        assert mine == theirs


def test_functions_in_python_can_be_pickled():
    functions = minigrad.nn.functional
    for name in (*functions.HANDED_ON, *functions.OTHERWISE):
        assert pickle.loads(pickle.dumps(getattr(functions, name))) is getattr(functions, name)
