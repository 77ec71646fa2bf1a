"""`vmap` and what is made with it on another device: one example after the other, with the CPU's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import minigrad as torch


def loss(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return ((x @ w).tanh() ** 2).sum()


CALLS: dict[str, Callable[..., Any]] = {
    "per-example gradients": lambda w, x: torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x),
    "out_dims": lambda w, x: torch.func.vmap(lambda row: row @ w, out_dims=1)(x),
    "nested": lambda w, x: torch.func.vmap(lambda row: torch.func.vmap(lambda column: (row @ column).exp(), 1)(w))(x),
    "jacrev": lambda w, x: torch.func.jacrev(lambda w: x @ w)(w),
    "jacfwd": lambda w, x: torch.func.jacfwd(lambda w: (x @ w).sin())(w),
    "hessian": lambda w, x: torch.func.hessian(loss)(w, x),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_device_gives_what_the_cpu_gives(cuda: object, name: str) -> None:
    torch.manual_seed(0)
    w, x = torch.randn(3, 2), torch.randn(4, 3)
    found = CALLS[name](w.cuda(), x.cuda())
    assert found.device.type == "cuda"
    torch.testing.assert_close(found.cpu(), CALLS[name](w, x))
