"""A compiled module, or function, whose result keeps its graph: the loss and the backward pass stand outside."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn, optim
from minigrad.compiler import compiled, variant
from minigrad.compiler.tracing import guards
from minigrad.nn import functional as F
from tests.unit.compiler.steps import Made, compare, loops_in_python
from tests.unit.compiler.test_same_as_eager import (
    Attention,
    Checkpointed,
    Recurrent,
    Tied,
    Words,
    batch,
    images,
    mlp,
    words,
)


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                    nn.Linear(12, 5))

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Several(nn.Module):
    """Results of all kinds: alone and in a tuple, views of results, of inputs and of parameters, some without grad."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(6, 5), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        hidden = self.one(x)
        return {"hidden": hidden, "flat": hidden.view(-1), "rest": (self.two(x).exp(), hidden.detach() * 2, hidden),
                "input": x, "turned": x.t(), "weight": self.one.weight, "rows": self.two.weight[1:3],
                "parts": (hidden * 2).chunk(2, 1), "largest": hidden.argmax(1), "apart": self.one.bias.detach()}


BUILDS: dict[str, tuple[Callable[[], Any], Callable[[int], Any]]] = {
    "mlp": (mlp(), batch), "dropout": (mlp(lambda: nn.Dropout(0.5)), batch), "batch norm": (Normed, images),
    "batch norm, evaluating": (lambda: Normed().eval(), images), "lstm": (Recurrent, batch),
    "embedding": (Words, words), "transformer": (Attention, batch), "tied weights": (Tied, batch),
    "checkpoint": (Checkpointed, batch), "layer norm": (mlp(lambda: nn.LayerNorm(16), nn.GELU), batch)}


def outside(name: str, accumulate: int = 1) -> Callable[[], Made]:
    """A step whose model alone is compiled; gradients of several calls may be added up."""
    def make() -> Made:
        build, inputs = BUILDS[name]
        model = build()
        optimizer, calls = optim.SGD(model.parameters(), lr=0.05), []

        def step(called: Any, x: Any, y: Any) -> Any:
            calls.append(1)
            loss = F.cross_entropy(called(x), y)
            loss.backward()
            if len(calls) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad(set_to_none=accumulate == 1)
            return loss

        return Made(step, inputs, [*model.parameters(), *model.buffers()], module=model)
    return make


@pytest.fixture
def python_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python runs what numba would compile."""
    monkeypatch.setattr(variant, "optional", lambda name, extra: SimpleNamespace(functions_of=loops_in_python))
    monkeypatch.setattr(compiled, "optional", lambda name, extra: None)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BUILDS)
def test_modules_with_the_loss_outside(name: str, dtype: str) -> None:
    found = compare(outside(name), steps=20, dtype=dtype)
    assert "def forward(" in found.source and "def backward(" in found.source


@pytest.mark.parametrize("name", BUILDS)
def test_modules_in_loops(name: str, python_loops: None) -> None:
    compare(outside(name), steps=4, backend="numba", tolerance=1e-8)


def test_modules_with_numba() -> None:
    pytest.importorskip("numba")
    compare(outside("mlp"), steps=5, backend="numba")


def test_gradients_are_added_up_over_calls() -> None:
    compare(outside("mlp", accumulate=3), steps=9)


def used(results: Any) -> Any:
    """A loss of all results that require grad."""
    flat: list[Any] = []
    guards.leaves_of(results, flat, [])
    return sum((k + 1) * t.square().mean() for k, t in enumerate(flat) if t.requires_grad), flat


@pytest.mark.parametrize("kind", ["plain", "leaf", "result"])
def test_results_and_inputs_that_require_grad(kind: str) -> None:
    def left(wrap: Callable[[Any], Any]) -> Any:
        torch.manual_seed(0)
        model = Several()
        called, found = wrap(model), []
        for _ in range(5):
            leaf = torch.randn(4, 6, requires_grad=kind != "plain")
            x = leaf * 2 if kind == "result" else leaf
            loss, flat = used(called(x))
            loss.backward()
            found.append([(t.tolist(), t.requires_grad, t.data_ptr() == x.data_ptr()) for t in flat])
            found.append([None if t.grad is None else t.grad.tolist() for t in (leaf, *model.parameters())])
        return found, called

    found, called = left(lambda model: torch.compile(model, backend="numpy", fullgraph=True))
    expected, _ = left(lambda model: model)
    for a, b in zip(found, expected, strict=True):
        for one, other in zip(a, b, strict=True):
            if isinstance(one, tuple):
                assert one[1:] == other[1:]
            one, other = (each[0] if isinstance(each, tuple) else each for each in (one, other))
            assert (one is None) == (other is None)
            if one is not None:
                np.testing.assert_allclose(one, other, 1e-4, 1e-5)
    assert called.explain().variants == 1


def test_modes_are_guards() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    called, x = torch.compile(model, backend="numpy", fullgraph=True), torch.randn(6, 3)
    for _ in range(3):
        assert called(x).requires_grad
    called.eval()
    expected = model(x)
    for _ in range(2):
        assert torch.allclose(called(x), expected)
    with torch.no_grad():
        for _ in range(2):
            assert not called(x).requires_grad
    assert "def backward(" not in called.source
    called.train()
    assert called(x).requires_grad and called.explain().variants == 3


def test_the_trace_is_undone_before_its_program_runs() -> None:
    """Buffers, their versions and the random numbers of the traced call are those of one call."""
    torch.manual_seed(0)
    model, twin = (nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)) for _ in range(2))
    called = torch.compile(model, backend="numpy")
    for i in range(4):
        x = torch.randn(6, 3)
        torch.manual_seed(i)
        found, after = called(x), torch.rand(1)
        torch.manual_seed(i)
        assert torch.allclose(found, twin(x)) and torch.equal(after, torch.rand(1))
        for a, b in zip(model.buffers(), twin.buffers(), strict=True):
            assert torch.allclose(a, b) and a._version == b._version


def test_the_wrapper_is_a_module() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    called = torch.compile(model, backend="numpy")
    assert isinstance(called, nn.Module) and called._orig_mod is model and called is not model
    assert next(n for n, _ in called.named_parameters()) == "_orig_mod.0.weight"
    assert list(called.state_dict())[-1] == "_orig_mod.1.num_batches_tracked"
    assert repr(called).startswith("OptimizedModule(\n  (_orig_mod): Sequential(") and len(called) == 2
    called.mark = 3
    assert model.mark == called.mark == 3
    del called.mark
    assert not hasattr(model, "mark") and not hasattr(called, "mark")
    twin = copy.deepcopy(called)
    twin.load_state_dict(called.state_dict())
    assert twin._orig_mod is not model and torch.equal(twin(torch.ones(2, 2)), called(torch.ones(2, 2)))
    with pytest.raises(TypeError, match="Linear does not support len()"):
        len(torch.compile(nn.Linear(1, 1)))


def test_a_copy_of_a_module_that_holds_a_compiled_function() -> None:
    model = nn.Linear(2, 2)
    model.called = torch.compile(lambda x: model(x).tanh(), backend="numpy")
    twin = copy.deepcopy(model)
    for _ in range(3):
        model.called(torch.ones(1, 2))
    assert torch.equal(twin.called(torch.ones(1, 2)), model.called(torch.ones(1, 2)))
    assert (twin.called.explain().calls, model.called.explain().calls) == (1, 4)


def test_a_compiled_module_inside_of_a_compiled_step() -> None:
    torch.manual_seed(0)
    model = torch.compile(nn.Linear(2, 2), backend="numpy")
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @torch.compile(backend="numpy", fullgraph=True)
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        losses = [step(torch.ones(1, 2)).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True) and step.explain().variants == 1
