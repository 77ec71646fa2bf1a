"""The PyTorch reader names the leaves of functions as minigrad's recorder does, and keeps none of them alive."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import pytest
import torch

import minigrad
from minigrad.recorder import record
from minigrad.recording import tracker
from minigrad.recording.bindings import Bindings
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
def test_a_module_may_be_half_built(lib: Any, recorder: Any) -> None:
    """A copy is made before it is filled, and an op may run before a module has its tables."""
    class Early(lib.nn.Module):  # type: ignore[name-defined,misc]  # the class is of either library
        def __init__(self) -> None:
            self.size = (lib.ones(2, requires_grad=True) * 2).sum().item()
            super().__init__()
            self.layer = lib.nn.Linear(int(self.size), 2)

        def forward(self, x: Any) -> Any:
            return self.layer(x)

    model = lib.nn.Sequential(lib.nn.Linear(2, 4), lib.nn.Tanh())
    with recorder() as trace:
        average = copy.deepcopy(model)
        with lib.no_grad():
            for old, new in zip(average.parameters(), model.parameters()):
                old.mul_(0.5).add_(new * 0.5)
        head = Early()
        head(average(lib.ones(1, 2))).sum().backward()
    names = {tensor["name"] for tensor in trace.tensors if tensor["parameter"]}
    assert names >= {"average.0.weight", "average.0.bias", "head.layer.weight", "head.layer.bias"}
    assert [scope["name"] for scope in trace.scopes] == ["average", "0", "1", "head", "layer"]


@LIBRARIES
def test_leaves_in_containers_have_the_names_of_their_places(lib: Any, recorder: Any) -> None:
    weights = [lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)]
    layers = {"a": lib.nn.Linear(2, 2)}
    with recorder() as trace:
        h = weights[0] * weights[1]
        layers["a"](h).sum().backward()
    names = [tensor["name"] for tensor in trace.tensors if tensor["is_leaf"] and tensor["requires_grad"]]
    assert sorted(names) == ["layers['a'].bias", "layers['a'].weight", "weights[0]", "weights[1]"]


@LIBRARIES
def test_a_name_that_is_assigned_again_holds_one_tensor_after_the_other(lib: Any, recorder: Any) -> None:
    def block(x: Any) -> Any:
        y = x * 2
        y = y + x
        return y

    x = lib.ones(2, requires_grad=True)
    with recorder() as trace:
        for _ in range(2):
            x = block(x)
        x.sum().backward()
    made = [event["outputs"][0] for event in trace.events if event["kind"] == "forward"]
    calls = [[tensor for row in trace.bindings if row["call"] == call for name, tensor in row["names"] if name == "x"]
             for call in range(3)]
    assert calls == [[0, made[1], made[3]], [0], [made[1]]]


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


@LIBRARIES
def test_functions_that_have_not_moved_are_not_looked_into(lib: Any, recorder: Any, monkeypatch: Any) -> None:
    """Of the functions around an op the innermost is searched for each op, and its caller if it has assigned something;
    the others when they reach a line."""
    looked, searched = [], []
    changed, named = Bindings.changed, tracker.names_in
    monkeypatch.setattr(Bindings, "changed", lambda *given: (looked.append(1), changed(*given))[1])
    monkeypatch.setattr(tracker, "names_in", lambda *given: (searched.append(1), named(*given))[1])

    def nested(depth: int, x: Any) -> Any:
        if depth:
            return nested(depth - 1, x)
        for _ in range(100):
            x = x * 2
        return x

    x = lib.ones(2, requires_grad=True)
    with recorder() as trace:
        y = nested(30, x)
        y.sum().backward()
    assert len([event for event in trace.events if event["kind"] == "forward"]) == 101
    assert len(looked) <= 2 * 101 + 3 * 30
    assert len(searched) <= 2  # for the one leaf
