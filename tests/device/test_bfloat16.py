"""bfloat16 is on the CPU only: whatever would bring it to a device says so, and says what to do instead."""

from __future__ import annotations

import pytest

import minigrad
from minigrad import nn

CASES = {
    "a conversion": lambda x: x.bfloat16(),
    "to": lambda x: x.to(minigrad.bfloat16),
    "a new tensor": lambda x: minigrad.zeros(3, dtype=minigrad.bfloat16, device=x.device),
    "a new tensor like another": lambda x: minigrad.ones_like(x, dtype=minigrad.bfloat16),
    "a copy to the device": lambda x: minigrad.ones(3, dtype=minigrad.bfloat16).to(x.device),
    "a new tensor of the same device": lambda x: x.new_ones(3, dtype=minigrad.bfloat16),
    "random numbers": lambda x: minigrad.rand(3, dtype=minigrad.bfloat16, device=x.device),
    "random numbers like another": lambda x: minigrad.randn_like(x, dtype=minigrad.bfloat16),
    "steps": lambda x: minigrad.linspace(0, 1, 3, dtype=minigrad.bfloat16, device=x.device),
    "the same memory": lambda x: x.detach().view(minigrad.bfloat16),
    "a sum": lambda x: x.sum(dtype=minigrad.bfloat16),
    "a sum of rows": lambda x: x.sum(0, dtype=minigrad.bfloat16),
    "a mean": lambda x: x.mean(dtype=minigrad.bfloat16),
    "a product": lambda x: x.prod(dtype=minigrad.bfloat16),
    "a running sum": lambda x: x.cumsum(0, dtype=minigrad.bfloat16),
    "a softmax": lambda x: x.softmax(0, dtype=minigrad.bfloat16),
    "a module": lambda x: nn.Linear(3, 2, device=x.device).bfloat16(),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_on_a_device(cuda, name):
    x = minigrad.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match=r"bfloat16 on the CPU only.\n\nConvert the tensor first: x.float\(\)"):
        CASES[name](x)
    assert x.dtype is minigrad.float32 and x.grad_fn is None
