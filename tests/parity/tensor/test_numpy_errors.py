"""NumPy's settings are the user's own: under `np.errstate(all="raise")`, and with warnings as errors, every program
computes what PyTorch computes, in-place ops write once, and random numbers stay in step."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import minigrad
from tests.parity.outcome import plain

INF, NAN = float("inf"), float("nan")


def step(m, name):
    """A parameter after steps of an optimizer with a tiny and a huge gradient."""
    p = m.nn.Parameter(m.tensor([1e-30]))
    optimizer = getattr(m.optim, name)([p])
    for value in (1e-30, 1e30):
        p.grad = m.tensor([value])
        optimizer.step()
    return p


def leaf_grad(m, f, *values):
    x = m.tensor(values, requires_grad=True)
    f(x).sum().backward()
    return x.grad


def drawn(m, f):
    """What `f` draws, and what is drawn after it."""
    m.manual_seed(0)
    return f(), m.rand(2)


OPS = {
    "log of 0": lambda m: m.tensor([0.0]).log(),
    "1 / 0": lambda m: 1 / m.zeros(1),
    "0 / 0": lambda m: m.zeros(1) / m.zeros(1),
    "number too large": lambda m: m.full((2,), 1e30) * 1e30,
    "sum too large": lambda m: m.full((9,), 3e38).sum(),
    "difference": lambda m: m.tensor([INF]) - m.tensor([INF]),
    "number minus": lambda m: INF - m.tensor([INF]),
    "power": lambda m: (m.tensor([1e30]) ** 2, 1e30 ** m.tensor([3.0]), m.tensor([0.0]) ** -1),
    "exp": lambda m: (m.tensor([1000.0]).exp(), m.tensor([-100.0]).exp()),
    "sigmoid, tanh": lambda m: (m.tensor([-200.0, 1e-42]).sigmoid(), m.tensor([1e-42]).tanh()),
    "product of matrices": lambda m: m.full((2, 2), 1e30) @ m.full((2, 2), 1e30),
    "asin": lambda m: m.tensor([2.0]).asin(),
    "half": lambda m: m.tensor([1e30]).half(),
    "int of NaN": lambda m: m.tensor([1e300], dtype=m.float64).float(),
    "remainders": lambda m: (m.ones(1) % 0, m.ones(1) // 0, 1 % m.zeros(1), 1 // m.zeros(1)),
    "softmax of -inf": lambda m: (m.nn.functional.softmax(m.tensor([-INF, -INF]), 0),
                                  m.nn.functional.log_softmax(m.tensor([-INF, -INF]), 0)),
    "mse_loss": lambda m: m.nn.functional.mse_loss(m.tensor([1e30]), m.zeros(1)),
    "cross_entropy": lambda m: m.nn.functional.cross_entropy(m.tensor([[1e38, -1e38]]), m.tensor([1])),
    "normalize": lambda m: m.nn.functional.normalize(m.tensor([[1e30, 1e30]])),
    "linear": lambda m: m.nn.functional.linear(m.full((1, 2), 1e30), m.full((1, 2), 1e30), m.ones(1)),
    "of few": lambda m: (m.tensor([1.0]).mean(), m.tensor([]).mean(), m.tensor([]).sum()),
    "product of tiny": lambda m: m.tensor([1e-30]) * m.tensor([1e-30]),
    "gradient": lambda m: leaf_grad(m, lambda x: x.sqrt(), 0.0),
    "gradient, tiny": lambda m: leaf_grad(m, lambda x: x * x * x, 1e-30),
    "jacobian": lambda m: m.autograd.functional.jacobian(lambda x: x / 0, m.ones(1)),
    "add_ in half": lambda m: m.ones(2, dtype=m.float16).add_(m.tensor([1e30, 1.0])),
    "mul_ in half": lambda m: m.tensor([3.0, 2.0], dtype=m.float16).mul_(m.tensor([1e5, 1e3])),
    "written": lambda m: (x := m.ones(3, dtype=m.float16), x.__setitem__(slice(1, 3), m.tensor([1e30, 3.0])), x)[0],
    "*=": lambda m: (x := m.full((3,), 1e30), x.mul_(2.0), x.mul_(1e30), x._version),
    "/=": lambda m: (x := m.ones(3), x.div_(0), x.mul_(2), x._version),
    **{f"step of {name}": lambda m, name=name: step(m, name) for name in (
        "SGD", "Adagrad", "RMSprop", "Adadelta", "Adam", "AdamW", "Rprop", "NAdam", "RAdam", "Adamax")},
    "log_normal_": lambda m: drawn(m, lambda: m.empty(3).log_normal_(90, 50)),
    "normal_ in half": lambda m: drawn(m, lambda: m.empty(3, dtype=m.float16).normal_(0, 1e6)),
    "normal": lambda m: drawn(m, lambda: m.normal(m.zeros(2), m.tensor([3e38, 1e38]))),
    "gumbel_softmax": lambda m: drawn(m, lambda: m.nn.functional.gumbel_softmax(m.tensor([1e30, -1e30]))),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", OPS)
def test_numpys_settings_do_not_matter(torch, name):
    theirs = str(plain(OPS[name](torch)))
    with np.errstate(all="raise"):
        assert str(plain(OPS[name](minigrad))) == theirs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert str(plain(OPS[name](minigrad))) == theirs


@pytest.mark.torch
def test_warnings_come_once(torch):
    with np.errstate(all="raise"):
        for lib in (torch, minigrad):
            with pytest.warns(UserWarning, match="degrees of freedom") as caught:
                assert lib.tensor([1.0]).var().isnan()
            assert len(caught) == 1


def test_errors_of_the_users_are_not_hidden():
    calls = []

    def pack(x):
        calls.append(x)
        return np.zeros(1) / np.zeros(1)

    x = minigrad.ones(1, requires_grad=True)
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError), minigrad.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
            x * x
        assert np.geterr()["over"] == "raise"
        with pytest.raises(FloatingPointError):
            np.zeros(1) / np.zeros(1)
    assert len(calls) == 1
