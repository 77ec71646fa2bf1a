"""`Variable`, and the engine as an object. Each test runs under minigrad and under PyTorch."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.outcome import outcome


def variable(m, *args, **options):
    """What `Variable` makes."""
    return m.autograd.Variable(*args, **options)


PROGRAMS = {
    "data": lambda m: variable(m, m.ones(2)),
    "data by name": lambda m: variable(m, data=m.ones(2)),
    "requires grad": lambda m: variable(m, m.ones(2), True),
    "requires grad by name": lambda m: variable(m, m.ones(2), requires_grad=True),
    "requires grad, as a number": lambda m: variable(m, m.ones(2), requires_grad=1),
    "requires grad, as a word": lambda m: variable(m, m.ones(2), requires_grad="a"),
    "requires grad, as None": lambda m: variable(m, m.ones(2), requires_grad=None),
    "integers require grad": lambda m: variable(m, m.ones(2, dtype=m.int64), True),
    "nothing": lambda m: variable(m),
    "None": lambda m: variable(m, None),
    "a list": lambda m: variable(m, [1.0]),
    "a number": lambda m: variable(m, 1.0),
    "of a leaf": lambda m: variable(m, m.ones(2, requires_grad=True)),
    "of a result": lambda m: variable(m, m.ones(2, requires_grad=True) * 2),
    "volatile": lambda m: variable(m, m.ones(2), volatile=True),
    "volatile and requires grad": lambda m: variable(m, m.ones(2), True, True),
    "a grad_fn": lambda m: variable(m, m.ones(2), _grad_fn=3),
    "shares memory and version": lambda m: ((x := m.ones(2)), (v := variable(m, x)), v.add_(1), x._version, v._version),
    "is a tensor": lambda m: type(variable(m, m.ones(2))) is m.Tensor,
    "every tensor is one": lambda m: isinstance(m.ones(2), m.autograd.Variable),
    "every parameter is one": lambda m: isinstance(m.nn.Parameter(m.ones(2)), m.autograd.Variable),
    "a number is none": lambda m: isinstance(3, m.autograd.Variable),
    "it is a class": lambda m: (isinstance(m.autograd.Variable, type), m.autograd.Variable.__name__),
    "in its module": lambda m: m.autograd.variable.Variable is m.autograd.Variable,
    "the engine runs": lambda m: m.autograd.Variable._execution_engine.run_backward(
        ((x := m.ones(2, requires_grad=True)) * 2,), (m.ones(2),), False, False, (x,), allow_unreachable=False,
        accumulate_grad=False),
}


@pytest.mark.torch
@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)


class TestMultithreading:
    """A flag that code for PyTorch sets and reads."""

    def flag(self, m):
        return m.autograd.is_multithreading_enabled()

    def test_a_context(self, m):
        with m.autograd.set_multithreading_enabled(False) as given:
            assert given is None
            assert not self.flag(m)
        assert self.flag(m)

    def test_a_function(self, m):
        m.autograd.set_multithreading_enabled(False)
        assert not self.flag(m)
        m.autograd.set_multithreading_enabled(True)
        assert self.flag(m)

    def test_a_decorator_leaves_it_switched(self, m):
        inside = m.autograd.set_multithreading_enabled(False)(lambda: self.flag(m))
        assert (self.flag(m), inside()) == (False, False)
        m.autograd.set_multithreading_enabled(True)
        assert (inside(), self.flag(m)) == (False, True)

    @pytest.mark.parametrize("value", [1, None, "a"])
    def test_only_a_bool(self, m, value):
        with pytest.raises(TypeError, match="argument 'enabled' .* must be bool, not"):
            m.autograd.set_multithreading_enabled(value)

    def test_the_pass_is_the_same(self, m):
        x = m.ones(2, requires_grad=True)
        with m.autograd.set_multithreading_enabled(False):
            (x * 2).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0]
