"""Mixed precision: a scaler does what PyTorch's does, and `autocast` is off where PyTorch switches it off;
test_autocast.py has what it does where it is on."""

from __future__ import annotations

import importlib

import pytest

import minigrad
import minigrad.nn
import minigrad.optim
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

PROGRAMS = """\
scaler = amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
result = [scaler.scale(m.ones(2)), scaler.scale([m.ones(1), m.ones(())]), scaler.get_scale(), scaler.state_dict()]

scaler = amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
result = [train(scaler) for _ in range(5)]

scaler = amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
result = [train(scaler), train(scaler, float("inf")), train(scaler), train(scaler, float("nan")), scaler.state_dict()]

scaler = amp.GradScaler("cpu", enabled=False)
result = [train(scaler), scaler.state_dict(), scaler.get_scale(), scaler.is_enabled()]

scaler = amp.GradScaler()
result = [train(scaler), scaler.is_enabled()]

scaler = amp.GradScaler("cpu")
scaler.scale((x * x).sum()).backward()
scaler.unscale_(optimizer)
result = x.grad
scaler.unscale_(optimizer)

scaler = amp.GradScaler("cpu")
scaler.scale((x * x).sum()).backward()
scaler.step(optimizer)
scaler.step(optimizer)

scaler = amp.GradScaler("cpu")
scaler.scale((x * x).sum()).backward()
scaler.step(optimizer)
scaler.unscale_(optimizer)

amp.GradScaler("cpu").update()

amp.GradScaler("cpu").step(optimizer)

scaler = amp.GradScaler("cpu")
train(scaler)
scaler.update()

scaler = amp.GradScaler("cpu")
scaler.scale(m.ones(1))
scaler.step(optimizer)

amp.GradScaler("cpu").step(optimizer, closure=len)

amp.GradScaler("cpu").scale(3)

amp.GradScaler("cpu", growth_factor=1.0)

amp.GradScaler("cpu", backoff_factor=1.0)

scaler = amp.GradScaler("cpu")
train(scaler)
scaler.update(8.0)
other = amp.GradScaler("cpu")
other.load_state_dict(scaler.state_dict())
result = other.get_scale(), scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()

amp.GradScaler("cpu").load_state_dict({})

scaler = amp.GradScaler("cpu", init_scale=3)
result = [scaler.get_scale(), scaler.scale(m.ones(1, dtype=m.bfloat16)), scaler.get_scale()]

scaler = amp.GradScaler("cpu", init_scale=1e38, growth_interval=1)
result = [train(scaler, 1e-35) for _ in range(3)]

scaler = amp.GradScaler("cpu", init_scale=0.1, backoff_factor=0.3)
result = [train(scaler, float("inf")) for _ in range(3)]

scaler = amp.GradScaler("cpu")
scaler.scale(m.ones(1))
scaler.unscale_(optimizer)
scaler.update()

scaler = amp.GradScaler("cpu")
scaler.scale(m.ones(1))
scaler.update(m.tensor([8.0, 2.0]))

scaler = amp.GradScaler("cpu")
scaler.scale(m.ones(1))
scaler.update(m.tensor(8.0, requires_grad=True))

import pickle
scaler = amp.GradScaler("cpu", init_scale=4.0)
result = [train(scaler), pickle.loads(pickle.dumps(scaler)).state_dict()]

import pickle
scaler = amp.GradScaler("cpu")
scaler.scale(x.sum()).backward()
scaler.unscale_(optimizer)
pickle.dumps(scaler)

with m.autocast("cuda"):
    result = m.mm(m.ones(2, 2), m.ones(2, 2)), m.is_autocast_enabled()

with m.autocast("cpu", enabled=False):
    result = m.mm(m.ones(2, 2), m.ones(2, 2)), m.is_autocast_enabled("cpu")

result = m.autocast("cuda", enabled=False)(lambda v: v * 2)(m.ones(1))

m.autocast("foo")

m.autocast(3)

import importlib
old = importlib.import_module(f"{m.__name__}.cuda.amp")
with old.autocast():
    result = [m.ones(1) * 2, old.GradScaler().is_enabled()]
"""


@pytest.mark.parametrize("source", PROGRAMS.strip().split("\n\n"))
def test_program(torch, source):
    def program(m):
        x = m.tensor([1.0, -2.0], requires_grad=True)
        optimizer = m.optim.SGD([x], lr=0.1)

        def train(scaler, factor=1.0):
            optimizer.zero_grad()
            scaler.scale((x * x * factor).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            return x.detach().clone(), scaler.get_scale()

        names = {"m": m, "amp": importlib.import_module(f"{m.__name__}.amp"), "x": x, "optimizer": optimizer,
                 "train": train}
        exec(source, names)
        return names.get("result")

    assert outcome(program, minigrad) == outcome(program, torch)
