"""What a TorchDispatchMode is given: the ops of `torch.ops.aten` themselves, also when a checkpoint runs again."""

from __future__ import annotations

import importlib

import pytest

import minigrad
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch


def counting(m, op):
    """A mode that counts how often it is given one op."""
    mode = importlib.import_module(f"{m.__name__}.utils._python_dispatch").TorchDispatchMode

    class Counting(mode):
        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += func is op
            return func(*args, **(kwargs or {}))

    return Counting()


@pytest.mark.parametrize(("name", "overload", "run"), [
    ("sin", "default", lambda x: x.sin().sin()),
    ("exp", "default", lambda x: x.exp().sin()),
    ("mm", "default", lambda x: x @ x @ x),
    ("add", "Tensor", lambda x: x + x + 1),
    ("mul", "Tensor", lambda x: x * x * 2),
    ("t", "default", lambda x: x.t()),
    ("std", "correction", lambda x: x.std(0)),
    ("var", "correction", lambda x: x.var()),
], ids=lambda value: value if isinstance(value, str) else "")
def test_it_is_the_op_itself(torch, name, overload, run):
    def program(m):
        with counting(m, getattr(getattr(m.ops.aten, name), overload)) as mode:
            run(m.ones(2, 2, requires_grad=True))
        return mode.count

    assert outcome(program, minigrad) == outcome(program, torch)


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_checkpoint_that_runs_again(torch, early_stop):
    def program(m):
        x = m.ones(2, requires_grad=True)
        with counting(m, m.ops.aten.cos.default) as mode:
            with m.utils.checkpoint.set_checkpoint_early_stop(early_stop):
                y = m.utils.checkpoint.checkpoint(lambda x: x.cos().exp().clone(), x, use_reentrant=False)
            y.sum().backward()
        return mode.count, x.grad.tolist()

    assert outcome(program, minigrad) == outcome(program, torch)
