"""Custom Functions in one line, for tables that run under both libraries (`m` is the library)."""

from __future__ import annotations

import importlib
import re

import minigrad
from tests.parity.outcome import outcome


def agree(torch, case):
    """Fail unless a program gives the same values or error, and warnings, under both libraries."""
    theirs, ours = [outcome(lambda m: told(case(m)), lib) for lib in (torch, minigrad)]
    assert ours == theirs, f"\nPyTorch   {theirs}\nminigrad  {ours}"
    return theirs


def told(value):
    """A value as plain data: a tensor by all that autograd says of it, a node by its name and its edges."""
    if hasattr(value, "grad_fn"):
        history = () if value.grad_fn is None else (value.grad_fn.name(), value.output_nr, value._is_view())
        return ("tensor", value.detach().tolist(), str(value.dtype), value.requires_grad, value.is_leaf, *history)
    if hasattr(value, "next_functions"):
        return ("node", value.name(), [(None if n is None else n.name(), nr) for n, nr in value.next_functions])
    if isinstance(value, (list, tuple)):
        return tuple(map(told, value))
    if isinstance(value, dict):
        return {key: told(v) for key, v in value.items()}
    if value is None or isinstance(value, (int, float)):
        return value
    return re.sub(r"0x[0-9a-f]+", "0x", value if isinstance(value, str) else repr(value)).replace("minigrad", "torch")


def leaf(m, *shape, dtype="float32", value=1.0):
    """A tensor of one value that requires grad."""
    return m.full(shape, value, dtype=getattr(m, dtype)).requires_grad_()


def double(ctx, x):
    """The simplest forward."""
    return x * 2


def doubled(ctx, g):
    """And its backward."""
    return g * 2


def function(m, forward=double, backward=doubled, base=None, **body):
    """A Function class of these; every function in `body` is a static method too."""
    body.update(forward=forward, backward=backward)
    methods = {name: staticmethod(f) if callable(f) else f for name, f in body.items() if f is not None}
    return type("Mine", (base or m.autograd.Function,), methods)


def ran(m, forward=double, backward=doubled, inputs=None, **body):
    """Apply a Function to a leaf (or to `inputs`), run backward from the sum of its results, give `.grad`s."""
    inputs = [leaf(m, 2)] if inputs is None else inputs
    result = function(m, forward, backward, **body).apply(*inputs)
    outputs = result if isinstance(result, tuple) else (result,)
    sum(o.sum() for o in outputs if o is not None and getattr(o, "requires_grad", False)).backward()
    return [x.grad for x in inputs if m.is_tensor(x) and x.is_leaf]


def applied(m, forward=double, backward=doubled, inputs=None, **body):
    """Apply a Function to a leaf, or to `inputs`."""
    return function(m, forward, backward, **body).apply(*([leaf(m, 2)] if inputs is None else inputs))


def module(m):
    """`torch.autograd.function`."""
    return importlib.import_module(f"{m.__name__}.autograd.function")


def last(*values):
    """The last of some values that were computed in order: a program in one expression."""
    return values[-1]


def seen(m, forward=double, backward=None, look=None, inputs=None, create_graph=False):
    """What `look(ctx, *grads)` gives inside backward."""
    found = []

    def observed(ctx, *grads):
        found.append(look(ctx, *grads))
        return grads[0] if backward is None else backward(ctx, *grads)

    inputs = [leaf(m, 2)] if inputs is None else inputs
    result = applied(m, forward, observed, inputs)
    outputs = result if isinstance(result, tuple) else (result,)
    m.autograd.grad(sum(o.sum() for o in outputs if getattr(o, "requires_grad", False)),
                    [x for x in inputs if m.is_tensor(x) and x.requires_grad], create_graph=create_graph,
                    allow_unused=True)
    return found
