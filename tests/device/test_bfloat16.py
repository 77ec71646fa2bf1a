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
    "a module": lambda x: nn.Linear(3, 2, device=x.device).bfloat16(),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_on_a_device(cuda, name):
    x = minigrad.ones(3, device="cuda", requires_grad=True)
    with pytest.raises(RuntimeError, match=r"bfloat16 on the CPU only.\n\nConvert the tensor first: x.float\(\)"):
        CASES[name](x)
    assert x.dtype is minigrad.float32 and x.grad_fn is None
