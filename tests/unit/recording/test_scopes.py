"""What a recorder tells of modules: which call of which module a node belongs to."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad.recording.observer import WATCHING
from minigrad.utils.checkpoint import checkpoint


class Block(nn.Module):
    """Calls modules of a list that is itself never called, and one module twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> Any:
        for layer in self.layers:
            x = self.act(layer(x))
        return x


def paths(trace: Trace) -> list[str]:
    """Each node with the calls that it is inside of."""
    found = []
    for node in trace.nodes:
        path, scope = node["name"], node.get("scope")
        while scope is not None:
            record_of = trace.scopes[scope]
            path, scope = f"{record_of['name']}/{path}", record_of["parent"]
        found.append(path)
    return found


def test_nodes_know_the_call_that_made_them() -> None:
    model = nn.Sequential(Block(), nn.Linear(2, 1))
    with record() as trace:
        model(torch.ones(1, 2)).sum().backward()
    assert [(scope["name"], scope["module"], scope["parent"]) for scope in trace.scopes] == [
        ("model", "Sequential", None), ("0", "Block", 0), ("layers.0", "Linear", 1), ("act", "ReLU", 1),
        ("layers.1", "Linear", 1), ("act", "ReLU", 1), ("1", "Linear", 0)]
    told = paths(trace)
    assert "model/0/layers.1/AddmmBackward0" in told
    assert "model/1/AccumulateGrad" in told
    assert told.count("model/0/act/ReluBackward0") == 2
    assert told[-1] == "SumBackward0"
    assert trace.nodes[-1].get("scope") is None


def test_a_file_keeps_them_and_an_older_one_has_none() -> None:
    model = nn.Linear(2, 1)
    with record() as trace:
        model(torch.ones(1, 2))
    assert Trace.from_json(trace.to_json()) == trace
    older = trace.to_dict()
    del older["scopes"]
    older["nodes"] = [{key: value for key, value in node.items() if key != "scope"} for node in older["nodes"]]
    assert Trace.from_dict(older).scopes == []


def test_an_error_ends_the_scopes() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 3))
    x = torch.ones(1, 2, requires_grad=True)
    with record() as trace:
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            model(x)
        y = x * 2
    assert len(trace.scopes) == 3
    assert y.grad_fn is not None
    assert paths(trace)[-1] == "MulBackward0"


def test_hooks_run_inside_of_their_modules() -> None:
    model = nn.Linear(2, 1)
    model.register_forward_hook(lambda module, args, result: result * 2)
    with record() as trace:
        model(torch.ones(1, 2))
    assert paths(trace)[-1] == "model/MulBackward0"


def test_what_runs_again_has_scopes_of_its_own() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with record() as trace:
        checkpoint(model, torch.ones(1, 2, requires_grad=True), use_reentrant=False).sum().backward()
    assert [scope["name"] for scope in trace.scopes if scope["parent"] is None] == ["model", "model"]


def test_nothing_is_kept_and_other_threads_are_left_alone() -> None:
    model = nn.Linear(2, 1)
    gone = weakref.ref(model)
    with record() as trace:
        thread = threading.Thread(target=model, args=(torch.ones(1, 2),))
        thread.start()
        thread.join()
        assert trace.scopes == []
        model(torch.ones(1, 2))
        assert len(WATCHING) == 1
    assert len(trace.scopes) == 1
    assert WATCHING == []
    del model, thread
    gc.collect()
    assert gone() is None


def test_transforms_are_frames_and_batches_show_all_examples() -> None:
    w, xs, layer = torch.tensor([1.0, 2.0]), torch.arange(6.0).reshape(3, 2), nn.Linear(2, 1, bias=False)

    def loss(w: torch.Tensor, x: torch.Tensor) -> Any:
        return (layer(x) * (w * x).sum()).sum()

    with record() as trace:
        torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, xs)
        torch.func.vjp(torch.sin, w)
        torch.func.linearize(torch.sin, w)
    trace = Trace.from_json(trace.to_json())  # which checks each field
    named = [(each["name"], each["module"], each["parent"]) for each in trace.scopes]
    assert named == [("vmap ×3", "vmap", None), ("grad", "grad", 0), ("layer", "Linear", 1), ("vjp", "vjp", None),
                     ("linearize", "linearize", None), ("vjp", "vjp", 4)]
    summed = next(each for each in trace.nodes if each["name"] == "SumBackward0" and each["scope"] == 1)
    value = trace.values[trace.tensors[summed["outputs"][0]]["value"]]
    assert value["data"] == (xs @ w).tolist()  # one for each example
    assert "vmap ×3" in str(trace.summary())


def test_a_transform_that_raises_ends_its_frame() -> None:
    def broken(x: torch.Tensor) -> Any:
        return x.sum() if x.numel() < 2 else x[5]

    with record() as trace:
        with pytest.raises(IndexError):
            torch.func.vmap(broken)(torch.ones(2, 3))
        (torch.ones(1, requires_grad=True) * 2).sum()
    assert [each["name"] for each in trace.scopes] == ["vmap ×2"]
    assert all("scope" not in each for each in trace.nodes)


def test_tangents_stand_beside_values() -> None:
    x = torch.tensor([1.0, 2.0])
    with record() as trace:
        value, moved = torch.func.jvp(lambda x: (x.exp() * x).sum(), (x,), (torch.tensor([1.0, 0.0]),))
    tangents = {trace.values[each["value"]]["data"][0]: trace.values[trace.tensors[each["tangent"]]["value"]]["data"]
                for each in trace.tensors if "tangent" in each}
    assert tangents[value.item()] == [moved.item()]
    assert tangents[1.0] == [1.0, 0.0]  # of the argument
