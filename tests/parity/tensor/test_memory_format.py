"""Memory formats: what is copied into which order, and what a tensor says of its own."""

from __future__ import annotations

import pytest

import minigrad
import minigrad.nn
from tests.parity.outcome import outcome

pytestmark = pytest.mark.torch

LINES = """\
x.clone(memory_format=m.channels_last).stride()
m.clone(x, memory_format=m.channels_last)
x.contiguous(memory_format=m.channels_last)
x.contiguous(memory_format=m.channels_last).stride()
x.is_contiguous(memory_format=m.channels_last)
x.to(memory_format=m.channels_last).stride()
x.to(memory_format=m.channels_last)
x.to(memory_format=m.contiguous_format) is x
x[0].contiguous(memory_format=m.channels_last)
x[0].clone(memory_format=m.channels_last)
x[0].is_contiguous(memory_format=m.channels_last)
x[0].to(memory_format=m.channels_last)
x.is_contiguous(memory_format=m.preserve_format)
x.permute(0, 2, 3, 1).is_contiguous(memory_format=m.channels_last)
x.permute(0, 3, 1, 2).is_contiguous(memory_format=m.channels_last)
x.contiguous(memory_format=m.channels_last).clone().stride()
x.contiguous(memory_format=m.channels_last).clone(memory_format=m.contiguous_format).stride()
x.contiguous(memory_format=3)
x.clone(memory_format=3)
x[None].contiguous(memory_format=m.channels_last_3d).stride()
m.nn.Conv2d(2, 3, 2).to(memory_format=m.channels_last).weight.stride()
x.to(m.float32, memory_format=m.channels_last).stride()
x.permute(0, 2, 3, 1).contiguous(memory_format=m.preserve_format)
(repr(m.channels_last), str(m.preserve_format))
x.contiguous(memory_format=m.channels_last).is_contiguous()
m.autograd.grad((x.contiguous(memory_format=m.channels_last) ** 2).sum(), x)[0].stride()
x[:, :1].to(memory_format=m.channels_last).stride()
m.nn.Conv2d(1, 3, 1).double()(x[:, :1].to(memory_format=m.channels_last)).stride()
m.nn.Conv2d(2, 3, 1).double()(x[:, :, :1, :1].to(memory_format=m.channels_last)).stride()
m.nn.Conv2d(1, 4, 3).to(memory_format=m.channels_last).weight.stride()
m.empty(2, 1, 3, 4, memory_format=m.channels_last).stride()
m.empty((2, 3), memory_format=m.contiguous_format).stride()
m.empty(2, memory_format=m.channels_last)
m.empty(2, memory_format=m.preserve_format)
m.zeros(2, memory_format=m.contiguous_format)
x[0].mT.unsqueeze(-1).stride()
x[0].mT[..., None].stride()
m.cat([x[0].mT.unsqueeze(-1)] * 2, -1).stride()
"""


@pytest.mark.parametrize("expression", LINES.splitlines())
def test_line(torch, expression):
    def program(m):
        x = m.arange(24.0, dtype=m.float64).view(1, 2, 3, 4).requires_grad_()
        return eval(expression, {"m": m, "x": x})

    assert outcome(program, minigrad) == outcome(program, torch)
