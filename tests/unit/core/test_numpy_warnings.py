"""NumPy's warnings: none from a backward pass, whatever filters a user has; a user's own NumPy code keeps its."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from minigrad.core.engine import SILENCE, ignore_numpy_warnings

OPS = {
    "sqrt of 0": (lambda m, x: x.sqrt(), 0.0, [np.inf]),
    "log of 0": (lambda m, x: x.log(), 0.0, [np.inf]),
    "1 / 0": (lambda m, x: 1 / x, 0.0, [-np.inf]),
    "overflow": (lambda m, x: (x * 1e30) * 1e30, 1.0, [np.inf]),
    "inf - inf": (lambda m, x: x * np.inf - x * np.inf, 1.0, [np.nan]),
    "0 to the 0.5": (lambda m, x: x ** 0.5, 0.0, [np.inf]),
}


def made(m, name):
    """A leaf and a result, made while NumPy is quiet."""
    f, value, _ = OPS[name]
    x = m.tensor([value], requires_grad=True)
    with np.errstate(all="ignore"):
        return x, f(m, x).sum()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("action", ["error", "always", "default"])
@pytest.mark.parametrize("name", OPS)
def test_no_pass_breaks_off(m, name, action, create_graph):
    x, y = made(m, name)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        (g,) = m.autograd.grad(y, x, create_graph=create_graph)
    assert caught == []
    np.testing.assert_array_equal(g.detach().numpy(), np.array(OPS[name][2], np.float32))


def test_all_leaves_get_their_gradients(m):
    x, y = (m.tensor([0.0, 4.0], requires_grad=True) for _ in range(2))
    with np.errstate(all="ignore"):
        z = (x.log() + y.sqrt()).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z.backward()
    assert x.grad.tolist() == [np.inf, 0.25]
    assert y.grad.tolist() == [np.inf, 0.25]


def test_what_numpy_does_afterwards_is_the_users(m):
    _, y = made(m, "sqrt of 0")
    before = np.geterr()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y.backward()
        assert np.geterr() == before
        with pytest.raises(RuntimeWarning):
            np.zeros(1) / np.zeros(1)


def test_hooks_keep_their_warnings_where_no_filter_is_before_ours(m):
    x, y = made(m, "sqrt of 0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.filters[:] = [SILENCE, ("always", None, RuntimeWarning, None, 0)]
        warnings._filters_mutated()
        x.register_hook(lambda g: np.zeros(1) / np.zeros(1) and None)
        y.backward()
    assert [each.category for each in caught] == [RuntimeWarning]
    assert x.grad.tolist() == [np.inf]


def test_filters_about_other_warnings_change_nothing(m):
    with warnings.catch_warnings():
        warnings.filters[:] = [SILENCE]
        warnings.simplefilter("error", DeprecationWarning)
        warnings.simplefilter("ignore")
        before = np.geterr()
        with ignore_numpy_warnings():
            assert np.geterr() == before
        warnings.simplefilter("error")
        with ignore_numpy_warnings():
            assert set(np.geterr().values()) == {"ignore"}
