"""The PyTorch reader names the leaves of functions as minigrad's recorder does, and keeps none of them alive."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

import minigrad
from minigrad.recorder import record
from minigrad_widgets.torch_reader import record as read

pytestmark = pytest.mark.torch
LIBRARIES = pytest.mark.parametrize(("lib", "recorder"), [(minigrad, record), (torch, read)], ids=["minigrad", "torch"])


@LIBRARIES
def test_leaves_and_modules_of_a_function_have_its_names(lib: Any, recorder: Any) -> None:
    def helper(inner: Any) -> Any:
        return inner * inner

    def run() -> None:
        x, late = lib.ones(2, requires_grad=True), lib.ones(2, 2)
        late.requires_grad_()
        net = lib.nn.Sequential(lib.nn.Linear(2, 3), lib.nn.Tanh())
        net(helper(x) @ late).sum().backward()

    with recorder() as trace:
        run()
    names = {tensor["name"] for tensor in trace.tensors if tensor["is_leaf"] and tensor["requires_grad"]}
    assert names == {"x", "late", "net.0.weight", "net.0.bias"}
    assert [scope["name"] for scope in trace.scopes] == ["net", "0", "1"]


@LIBRARIES
def test_a_leaf_that_its_function_has_deleted_is_gone(lib: Any, recorder: Any) -> None:
    def run() -> bool:
        x, w = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        y = (x * w).sum()
        y.backward()
        gone = weakref.ref(w)
        del w, y
        (x * 2).sum()
        gc.collect()
        return gone() is None

    with recorder():
        assert run()


@LIBRARIES
def test_a_parameter_is_called_by_its_module(lib: Any, recorder: Any) -> None:
    """Not by the variable of a loop over all parameters, which holds the last one."""
    net = lib.nn.Linear(2, 3)
    for p in net.parameters():
        p.grad = None
    with recorder() as trace:
        net(lib.ones(1, 2)).sum().backward()
    assert {tensor["name"] for tensor in trace.tensors if tensor["parameter"]} == {"net.weight", "net.bias"}
