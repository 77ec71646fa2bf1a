"""Parameters and buffers against PyTorch: what they are made of, what ops make of them, how they are copied."""

from __future__ import annotations

import copy
import pickle

import pytest

import minigrad
from tests.parity.alike import told
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

MADE = {
    "ones": lambda m, make: make(m.ones(2)),
    "nothing": lambda m, make: make(),
    "None": lambda m, make: make(None),
    "a list": lambda m, make: make([1]),
    "a number": lambda m, make: make(3),
    "text": lambda m, make: make("a"),
    "integers": lambda m, make: make(m.tensor([1])),
    "doubles": lambda m, make: make(m.ones(2).double()),
    "a result": lambda m, make: make(m.ones(2, requires_grad=True) * 2),
    "a parameter": lambda m, make: make(m.nn.Parameter(m.ones(1))),
    "one of its own": lambda m, make: make(make(m.ones(1))),
    "in no_grad": lambda m, make: m.no_grad()(lambda: make(m.ones(1)))(),
    "by name": lambda m, make: make(data=m.ones(1)),
    "by a wrong name": lambda m, make: make(x=3),
    "three arguments": lambda m, make: make(m.ones(1), True, 3),
    "the same data": lambda m, make: [x := m.ones(2), m.no_grad()(lambda: make(x).fill_(3))(), x],
    "its version": lambda m, make: [x := m.ones(2), made := make(x), x.add_(1), made._version],
    "is it one": lambda m, make: [isinstance(made, kind) for made in (make(m.ones(1)), m.ones(1))
                                  for kind in (m.nn.Parameter, m.nn.Buffer, m.Tensor)],
    "printed": lambda m, make: [str(make(m.ones(2))), f"{make(m.tensor(2.0))}", f"{make(m.tensor(2.0)):.3f}"],
    "ops": lambda m, make: [type(made).__name__ for x in [make(m.ones(2))] for made in (
        x.data, x.detach(), x.clone(), x[0], x + 1, x.double(), x.view(2))],
    "copy": lambda m, make: copied(make(m.ones(2)), copy.copy),
    "deepcopy": lambda m, make: copied(make(m.ones(2)), copy.deepcopy),
    "pickle": lambda m, make: copied(make(m.ones(2)), lambda x: pickle.loads(pickle.dumps(x))),
    "in place": lambda m, make: make(m.ones(2)).add_(1),
    "in place in no_grad": lambda m, make: m.no_grad()(lambda: make(m.ones(2)).add_(1))(),
    "gradient": lambda m, make: [x := make(m.ones(2)), (x * x).sum().backward(), x.grad],
    "without grad": lambda m, make: make(m.ones(1)).requires_grad_(False),
}
PROGRAMS = {f"{kind}: {name}": lambda m, kind=kind, program=program: program(m, getattr(m.nn, kind))
            for kind in ("Parameter", "Buffer") for name, program in MADE.items()}
PROGRAMS |= {
    "without grad": lambda m: m.nn.Parameter(m.ones(1), False),
    "without grad by name": lambda m: m.nn.Parameter(m.tensor([1]), requires_grad=False),
    "number for requires_grad": lambda m: m.nn.Parameter(m.ones(1), 3),
    "None for requires_grad": lambda m: m.nn.Parameter(m.ones(1), requires_grad=None),
    "persistent": lambda m: [m.nn.Buffer(m.ones(1)).persistent, m.nn.Buffer(m.ones(1), persistent=False).persistent],
    "persistent by place": lambda m: m.nn.Buffer(m.ones(1), False),
    "persistent copied": lambda m: copy.deepcopy(m.nn.Buffer(m.ones(1), persistent=False)).persistent,
    "persistent detached": lambda m: hasattr(m.nn.Buffer(m.ones(1)).detach(), "persistent"),
    "not converted": lambda m: type(m.nn.Parameter(m.ones(1)).to(m.float32)).__name__,
}


def copied(made, how):
    """A copy, whether it is apart, and what it is."""
    made.note = [1]
    twin = how(made)
    twin.data.fill_(5)
    return [twin, made, type(twin) is type(made), getattr(twin, "note", None), twin.requires_grad]


@pytest.mark.parametrize("name", PROGRAMS)
def test_alike(torch, name):
    def program(m):
        return told(PROGRAMS[name](m))
    assert outcome(program, minigrad) == outcome(program, torch)
