"""Arguments of a wrong type: the same kind of error, and PyTorch's sentence.

First what is no tensor and no flag, in all places outside of ops; then every op, function and method, called in every
wrong way; then the other ways to write a call, and `out=`.
"""

from __future__ import annotations

import functools
import operator
import pickle
from pathlib import Path

import numpy as np
import pytest

import minigrad
import minigrad.linalg
import minigrad.nn.functional
import minigrad.special
from minigrad import ops
from minigrad.ops._dispatch.signatures import TABLE, signatures_of
from tests.parity.outcome import outcome

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


class Mine:
    """A type of the user's own."""


GIVEN = {"array": np.ones(2), "NumPy's number": np.float32(1), "NumPy's bool": np.bool_(True), "object": Mine(),
         "text": "a", "list": [1.0, 2.0], "None": None}


def leaf(m):
    return m.ones(2, requires_grad=True)


def unpacked(m, v):
    """A pass with an unpack hook that gives this."""
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: v):
        y = leaf(m).exp()
    y.sum().backward()


def function(m, forward, backward):
    """A pass through a Function."""
    body = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    type("Mine", (m.autograd.Function,), body).apply(leaf(m)).sum().backward()


def hooked(y, register):
    """A pass with a hook."""
    register(y)
    y.sum().backward()


PLACES = {
    "a tensor's hook": lambda m, v: hooked(leaf(m), lambda y: y.register_hook(lambda g: v)),
    "a node's hook": lambda m, v: hooked(leaf(m) * 2, lambda y: y.grad_fn.register_hook(lambda g, h: v)),
    "an unpack hook": unpacked,
    "what backward returns": lambda m, v: function(m, lambda ctx, a: a * 1, lambda ctx, g: v),
    "what is saved": lambda m, v: function(m, lambda ctx, a: (ctx.save_for_backward(v), a * 1)[1], lambda ctx, g: g),
    "an input of grad": lambda m, v: m.autograd.grad(leaf(m).sum(), [v]),
    "an input of backward": lambda m, v: leaf(m).sum().backward(inputs=[v]),
    "grad_outputs": lambda m, v: m.autograd.grad(leaf(m).exp(), leaf(m), [v]),
    "grad": lambda m, v: setattr(leaf(m), "grad", v),
    "data": lambda m, v: setattr(leaf(m), "data", v),
    "requires_grad_": lambda m, v: leaf(m).requires_grad_(v) and None,
    "requires_grad": lambda m, v: setattr(leaf(m), "requires_grad", v),
    "set_grad_enabled": lambda m, v: m.set_grad_enabled(v) and None,
    "set_multithreading_enabled": lambda m, v: m.autograd.set_multithreading_enabled(v) and None,
    "Variable": lambda m, v: m.autograd.Variable(v) and None,
    "add_": lambda m, v: m.ones(2).add_(v) and None,
    "zeros_like": lambda m, v: m.zeros_like(v),
    "ones_like": lambda m, v: m.ones_like(v),
    "full_like": lambda m, v: m.full_like(v, 2.0),
    "empty_like": lambda m, v: m.empty_like(v),
    "rand_like": lambda m, v: m.rand_like(v),
    "randn_like": lambda m, v: m.randn_like(v),
    "cat": lambda m, v: m.cat([leaf(m), v]),
    "cat of it": lambda m, v: m.cat(v),
    "stack": lambda m, v: m.stack([v, leaf(m)]),
    "stack of it": lambda m, v: m.stack(v),
    "where: condition": lambda m, v: m.where(v, leaf(m), leaf(m)),
    "where: input": lambda m, v: m.where(leaf(m) > 0, v, leaf(m)),
    "where: other": lambda m, v: m.where(leaf(m) > 0, leaf(m), v),
    "exp": lambda m, v: m.exp(v),
    "add": lambda m, v: m.add(v, leaf(m)),
    "add: other": lambda m, v: m.add(leaf(m), v),
    "matmul: other": lambda m, v: m.matmul(leaf(m), v),
    "copy_": lambda m, v: m.ones(2).copy_(v) and None,
    "retain_graph": lambda m, v: leaf(m).sum().backward(retain_graph=v),
    "create_graph": lambda m, v: m.autograd.grad((x := leaf(m)).sum(), x, create_graph=v),
    "allow_unused": lambda m, v: m.autograd.grad((x := leaf(m)).sum(), x, allow_unused=v),
}


def first_line(m, place, given):
    """The kind of error and its first line."""
    result, _ = outcome(lambda lib: PLACES[place](lib, GIVEN[given]), m)
    return [str(each).split("\n")[0] for each in result] if isinstance(result, tuple) else "fine"


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("place", PLACES)
def test_both_say_the_same(torch, place, given):
    assert first_line(minigrad, place, given) == first_line(torch, place, given)


# every op

CALLS = {  # each argument by its letter in `values`
    "nothing": ("", {}), "a text": ("s", {}), "None": ("n", {}), "an array": ("r", {}),
    "a number and a tensor": ("ix", {}), "a tensor and a text": ("xs", {}), "a tensor and a list": ("xl", {}),
    "a tensor and an object": ("xo", {}), "two tensors and a text": ("xxs", {}), "five tensors": ("xxxxx", {}),
    "seven numbers": ("xiiiiiii", {}), "no such keyword": ("x", {"foo": "i"}), "a text for dim": ("x", {"dim": "s"}),
    "a text for other": ("x", {"other": "s"}), "a text for dtype": ("x", {"dtype": "s"}),
    "dim twice": ("xi", {"dim": "i"}), "a number for out": ("x", {"out": "i"}),
}
# Methods bound straight to their op have Python's errors; parsing would cost too much.
PYTHONS = {f"Tensor.{name}" for name in ops.DIRECT_METHODS} | {"Tensor.unflatten", "Tensor.new_tensor"}


def values(lib):
    """What the letters of CALLS stand for."""
    return {"s": "a", "n": None, "r": np.ones(2), "i": 1, "x": lib.ones(2, 3), "l": [0, "a"], "o": {}}


def called(name, way, lib):
    """A program: a function, or a method as `Tensor.name`, called in one way."""
    args, options = CALLS[way]
    given = values(lib)
    operator.attrgetter(name)(lib)(*[given[a] for a in args], **{key: given[a] for key, a in options.items()})


def parsing_names():
    """Every function and method that parses its arguments and whose signatures are known."""
    for name, each in ops.FUNCTIONS.items():
        if callable(each) and signatures_of(name, method=False):
            yield name
    for name in ops.METHODS:
        if signatures_of(name, method=True):
            yield f"Tensor.{name}"
    for module, prefix in ((minigrad.special, "special_"), (minigrad.linalg, "linalg_")):
        for name in module.__all__:
            if signatures_of(prefix + name, method=False):
                yield f"{module.__name__.removeprefix('minigrad.')}.{name}"
    yield from (f"nn.functional.{name}" for name in minigrad.nn.functional.IN_C)


@pytest.mark.parametrize("name", [name for name in parsing_names() if name not in PYTHONS])
def test_every_op_refuses_as_pytorch(torch, name):
    for way in CALLS:
        theirs, _ = outcome(functools.partial(called, name, way), torch)
        if theirs is None or theirs[0] != "TypeError":
            continue
        ours, _ = outcome(functools.partial(called, name, way), minigrad)
        assert ours == theirs, way


def test_the_signatures_are_pytorchs(torch):
    signatures = pytest.importorskip("tests.parity.ops.signatures")
    assert Path(TABLE).read_text(encoding="utf-8") == signatures.table(), "run `python -m tests.parity.ops.signatures`"


# other ways to write a call

WRITTEN = {
    "NumPy's names": lambda m: [m.sum(m.ones(2, 3), axis=0, keepdims=True), m.relu(a=m.ones(2)), m.relu(x=m.ones(2)),
                                m.add(x1=m.ones(2), x2=m.ones(2)), m.cat([m.ones(2)], axis=0),
                                m.ones(2, 3).amax(axis=1)],
    "all by name": lambda m: [m.flatten(input=m.ones(2, 3)), m.zeros(size=(2,)), m.ones(2, 3).permute(dims=(1, 0)),
                              m.ones(2).expand(size=(3, 2)), m.ones(2, 3).view(size=(3, 2)),
                              m.ones(2, 3).reshape(shape=(3, 2))],
    "numbers for tensors": lambda m: [m.add(2, m.ones(2)), m.add(2, 3), m.mul(2.5, m.ones(2, dtype=m.float64)),
                                      m.mul(2.5, m.ones(2, dtype=m.int64))],
    "tensors for numbers": lambda m: [m.ones(2, 3).flatten(m.tensor(0)),
                                      m.add(m.ones(2), m.ones(2), alpha=m.tensor(2.))],
    "Python's types for dtypes": lambda m: [m.zeros(2, dtype=float), m.zeros(2, dtype=int), m.zeros(2, dtype=bool)],
    "options that change nothing": lambda m: [m.zeros(2, 3, layout=m.strided, pin_memory=False),
                                              m.zeros_like(m.ones(2), layout=m.strided)],
    "a signature of early days": lambda m: m.add(m.ones(2), 2, m.ones(2)),
    "an error of the op's own": lambda m: m.sum(m.ones(2), 3),
    "an error of the op's own, by NumPy's name": lambda m: m.sum(m.ones(2), axis=3),
}
OUT = {
    "out": lambda m: m.add(m.ones(2), 1, out=m.zeros(2)),
    "it is the result": lambda m: (z := m.zeros(2)) is m.exp(m.ones(2), out=z),
    "its version": lambda m: (z := m.zeros(2), m.exp(m.ones(2), out=z), z._version)[1:],
    "of the input": lambda m: (w := m.ones(3), m.add(w, 1, out=w))[1],
    "a wider dtype": lambda m: m.add(m.ones(2), 1, out=m.zeros(2, dtype=m.float64)),
    "a lower kind of dtype": lambda m: m.add(m.ones(2), 1, out=m.zeros(2, dtype=m.int64)),
    "another shape": lambda m: m.add(m.ones(2, 3), 1, out=m.zeros(5)),
    "an empty one": lambda m: m.add(m.ones(2, 3), 1, out=m.zeros(0)),
    "of a factory": lambda m: m.zeros(2, out=m.ones(3)),
    "with gaps": lambda m: (w := m.zeros(6), m.add(m.ones(3), 1, out=w[::2]), w)[1:],
    "an argument requires grad": lambda m: m.add(m.ones(2, requires_grad=True), 1, out=m.zeros(2)),
    "it requires grad itself": lambda m: m.add(m.ones(2), 1, out=m.zeros(2, requires_grad=True)),
    "without grad mode": lambda m: without_grad(m, lambda: m.add(m.ones(2, requires_grad=True), 1, out=m.zeros(2))),
    "memory that overlaps": lambda m: (w := m.ones(3), m.add(w[:2], 1, out=w[1:])),
    "several": lambda m: list(m.max(m.ones(2, 3), 0, out=(m.ones(3), m.zeros(3, dtype=m.int64)))),
    "of where, stack and cat": lambda m: [m.where(m.ones(2) > 0, m.ones(2), m.ones(2), out=m.zeros(2)),
                                          m.stack([m.ones(2)] * 2, out=m.zeros(2, 2)),
                                          m.cat([m.ones(2)] * 2, out=m.zeros(0))],
    "of comparisons": lambda m: m.gt(m.ones(2), 0, out=m.zeros(2)),
    "no tensor": lambda m: m.exp(m.ones(2), out=3),
    "None": lambda m: m.exp(m.ones(2), out=None),
    "changed what was saved": lambda m: changed(m),
}


def without_grad(m, program):
    """A program in `no_grad`."""
    with m.no_grad():
        return program()


def changed(m):
    """A pass after `out` wrote into what a node saved."""
    y = m.ones(2, requires_grad=True).exp()
    z = y * y
    without_grad(m, lambda: m.add(m.ones(2), 1, out=y))
    z.sum().backward()


@pytest.mark.parametrize("name", WRITTEN)
def test_other_ways_to_write_a_call(torch, name):
    assert outcome(WRITTEN[name], minigrad)[0] == outcome(WRITTEN[name], torch)[0]


@pytest.mark.parametrize("name", OUT)
def test_out(torch, name):
    assert outcome(OUT[name], minigrad) == outcome(OUT[name], torch)


@pytest.mark.parametrize("name", ["exp", "add", "zeros", "special.erf", "linalg.inv", "nn.functional.gelu"])
def test_functions_can_be_pickled(name):
    function = operator.attrgetter(name)(minigrad)
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__doc__
