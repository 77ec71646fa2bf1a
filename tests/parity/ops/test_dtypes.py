"""Every op with every pair of dtypes, on arrays and on numbers: result, graph and gradients as in PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import minigrad

pytestmark = pytest.mark.torch

DTYPES = ("float16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool")
SHAPES = (((3,), (3,)), ((3,), ()), ((), (3,)), ((), ()), ((2, 3), (3,)))

OPS = {
    "add": lambda m, a, b: a + b,
    "mul": lambda m, a, b: a * b,
    "div": lambda m, a, b: a / b,
    "where": lambda m, a, b: m.where(a > 0, a, b),
    "cat": lambda m, a, b: m.cat([a.reshape(-1), b.reshape(-1)]),
    "stack": lambda m, a, b: m.stack([a.reshape(-1)[:1], b.reshape(-1)[:1]]),
    "mse_loss": lambda m, a, b: m.nn.functional.mse_loss(a, b),
    "l1_loss": lambda m, a, b: m.nn.functional.l1_loss(a, b),
    "matmul": lambda m, a, b: a.reshape(1, -1) @ b.reshape(-1, 1) if a.numel() == b.numel() else a,
    "eq": lambda m, a, b: a == b,
    "lt": lambda m, a, b: a < b,
    "equal": lambda m, a, b: m.equal(a, b),
    "add_": lambda m, a, b: a.clone().add_(b),
    "mul_": lambda m, a, b: a.clone().mul_(b),
    "div_": lambda m, a, b: a.clone().div_(b),
    "copy_": lambda m, a, b: a.clone().copy_(b),
}
UNARY = {
    "sum": lambda m, a: a.sum(),
    "sum dim": lambda m, a: a.sum(-1),
    "mean": lambda m, a: a.mean(),
    "norm": lambda m, a: a.norm(),
    "exp": lambda m, a: a.exp(),
    "log": lambda m, a: a.log(),
    "sqrt": lambda m, a: a.sqrt(),
    "sin": lambda m, a: a.sin(),
    "relu": lambda m, a: a.relu(),
    "sigmoid": lambda m, a: a.sigmoid(),
    "tanh": lambda m, a: a.tanh(),
    "abs": lambda m, a: a.abs(),
    "neg": lambda m, a: -a,
    "sign": lambda m, a: a.sign(),
    "square": lambda m, a: a.square(),
    "reciprocal": lambda m, a: a.reciprocal(),
    "times 2.5": lambda m, a: a * 2.5,
    "times True": lambda m, a: a * True,
    "2 minus": lambda m, a: 2 - a,
    "True plus": lambda m, a: True + a,
    "1 over": lambda m, a: 1 / a,
    "over 2": lambda m, a: a / 2,
    "squared": lambda m, a: a**2,
    "root": lambda m, a: a**0.5,
    "2 to the": lambda m, a: 2**a,
    "2.5 to the": lambda m, a: 2.5**a,
    "add_ 2": lambda m, a: a.clone().add_(2),
    "mul_ 2.5": lambda m, a: a.clone().mul_(2.5),
    "fill_": lambda m, a: a.clone().fill_(1.5),
    "zero_": lambda m, a: a.clone().zero_(),
    "any": lambda m, a: a.any(),
    "all": lambda m, a: a.all(),
    "to double": lambda m, a: a.double(),
    "to half": lambda m, a: a.half(),
    "to long": lambda m, a: a.long(),
    "to bool": lambda m, a: a.bool(),
    "item": lambda m, a: a.reshape(-1)[0].item(),
    "zeros_like": lambda m, a: m.zeros_like(a),
    "full_like": lambda m, a: m.full_like(a, 1),
}


def seen(m, call, arrays):
    """What can be seen of a call: exactly compared things, and arrays that may differ by rounding."""
    leaves = [m.from_numpy(array.copy()) for array in arrays]
    for leaf in leaves:
        leaf.requires_grad_(leaf.is_floating_point())
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        y = call(m, *leaves)
        if not hasattr(y, "grad_fn"):
            return (type(y).__name__,), [np.asarray(y)]
        grads = m.autograd.grad(y.float().sum(), wanted, allow_unused=True) if y.requires_grad else ()
    except (RuntimeError, TypeError, IndexError) as error:
        return (type(error).__name__, str(error).split("\n")[0]), []
    tensors = [y, *grads]
    name = y.grad_fn.name() if y.grad_fn is not None else None
    exact = [(str(t.dtype), tuple(t.shape)) if t is not None else None for t in tensors]
    return (name, y.requires_grad, *exact), [t.detach().numpy(force=True) for t in tensors if t is not None]


def differences(torch, call, pairs):
    """Where the two libraries differ: a line for each."""
    lines = []
    for dtypes, shapes in pairs:
        random = np.random.RandomState(1)
        arrays = [np.asarray(random.randint(1, 4, s)).astype(d) for s, d in zip(shapes, dtypes, strict=True)]
        with np.errstate(all="ignore"):
            ours, theirs = seen(minigrad, call, arrays), seen(torch, call, arrays)
        near = len(ours[1]) == len(theirs[1]) and all(
            np.allclose(a.astype(float), b.astype(float), rtol=1e-2, atol=1e-2, equal_nan=True)
            for a, b in zip(ours[1], theirs[1], strict=True) if a.shape == b.shape)
        if ours[0] != theirs[0] or not near:
            lines.append(f"{dtypes} {shapes}\n  PyTorch  {theirs}\n  minigrad {ours}")
    return lines


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("name", OPS)
def test_two_operands(torch, name):
    found = differences(torch, OPS[name], itertools.product(itertools.product(DTYPES, DTYPES), SHAPES))
    assert not found, "\n".join(found[:5])


@pytest.mark.parametrize("name", UNARY)
def test_one_operand(torch, name):
    found = differences(torch, UNARY[name], itertools.product([(d,) for d in DTYPES], [((3,),), ((),), ((2, 3),)]))
    assert not found, "\n".join(found[:5])
