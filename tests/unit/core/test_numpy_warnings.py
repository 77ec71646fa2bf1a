"""NumPy's warnings: none from a backward pass, whatever filters a user has; a user's own NumPy code keeps its."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import minigrad
from minigrad.core.engine import SILENCE, ignore_numpy_warnings
from minigrad.recording.builder import statistics
from tests.parity.compare import arrays_of
from tests.parity.tables import all_cases, all_plain
from tests.wasm import tables as wasm_tables


@pytest.fixture(autouse=True)
def numpys_own_state():
    """NumPy warns, as at first, also where other tests run while it raises (`MINIGRAD_NUMPY_ERRORS`)."""
    with np.errstate(all="warn", under="ignore"):
        yield


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
            assert np.geterr() == before
        warnings.filters.insert(0, ("error", None, RuntimeWarning, None, 0))  # not as `warnings` wants it
        with ignore_numpy_warnings():
            assert set(np.geterr().values()) == {"ignore"}


@pytest.mark.parametrize("change", [lambda: warnings.simplefilter("always"), lambda: warnings.simplefilter("error"),
                                    lambda: warnings.filterwarnings("default", category=RuntimeWarning),
                                    warnings.resetwarnings])
def test_no_filter_of_a_users_lets_an_op_warn(change):
    with warnings.catch_warnings(record=True) as caught:
        change()
        assert minigrad.tensor([0.0]).log().tolist() == [-np.inf]
        assert (1 / minigrad.zeros(1)).half().tolist() == [np.inf]
        assert caught == []
        with contextlib.suppress(RuntimeWarning):
            np.zeros(1) / np.zeros(1)
            assert [each.category for each in caught] == [RuntimeWarning]  # the user's own
        with warnings.catch_warnings():
            assert warnings.filters[0] == SILENCE
    assert warnings.filters.count(SILENCE) == 1


VALUES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e38, -1e38, 1e-38, 1e-45, 88.0, -88.0, 1.0, -1.0, 1e30, 2.5])


def special(inputs, dtype, seed):
    """Values at which functions overflow, divide by zero or are undefined, for the leaves of a case."""
    chosen = np.random.RandomState(seed)
    with np.errstate(all="ignore"):
        return [chosen.choice(VALUES, each.shape).astype(each.dtype) if each.dtype.kind == "f" else each
                for each in arrays_of(inputs, dtype, seed)]


def test_every_op_is_silent_and_computes_the_same(monkeypatch):
    """The tables of ops at special values: with a filter that shows all warnings, and where NumPy raises."""
    monkeypatch.setattr(wasm_tables, "arrays_of", special)
    for name, case in {**all_cases(), **all_plain()}.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            quietly = attempt(case)
            with np.errstate(all="raise"):
                loudly = attempt(case)
        assert [each.message for each in caught if each.category is RuntimeWarning] == [], name
        assert str(loudly) == str(quietly) or wasm_tables.close(loudly, quietly), name


def attempt(case):
    """What a case gives; some programs convert infinities to integers."""
    try:
        return wasm_tables.outcome(*case[:2])
    except OverflowError as error:
        return str(error)


def test_a_compiled_step_where_numpy_raises():
    """Forward, backward and the update of a compiled step overflow and underflow without an error."""
    def step(x):
        y = (x * x).exp()
        y.sum().backward()
        optimizer.step()
        return y

    x = minigrad.tensor([1e-30, 50.0, -1e30], requires_grad=True)
    optimizer = minigrad.optim.NAdam([x])
    compiled = minigrad.compile(step, backend="numpy")
    with np.errstate(all="raise"):
        for _ in range(4):
            optimizer.zero_grad()
            y = compiled(x)
    assert compiled.explain().variants == 1 and y.tolist()[0] == 1


def test_statistics_of_a_recorded_tensor_where_numpy_raises():
    x = minigrad.full((200,), 1e30, dtype=minigrad.float64) ** 6
    with np.errstate(all="raise"):
        found = statistics(x.numpy())
    assert found["norm"] == pytest.approx(1e180 * 200 ** 0.5)
