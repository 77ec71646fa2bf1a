"""What tracing bakes in is guarded: a program does not run where a number, a member of a class or a container that a
module reads has changed."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn
from minigrad.compiler.tracing import guards

own = types.ModuleType("own")
NAMES = types.SimpleNamespace(scale=1.0)
IN_BASE, IN_HELPER, IN_PROPERTY, IN_BACKWARD = ({"scale": 1.0} for _ in range(4))


class Mode(StrEnum):
    ONE, TWO = "one", "two"


class Settings:
    scale = 1.0


class Slotted:
    __slots__ = ("scale",)


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * IN_BACKWARD["scale"]


class Base(nn.Module):
    def forward(self, x: Any) -> Any:
        return x * IN_BASE["scale"]


class Reads(Base):
    """A module that reads numbers wherever there are some."""

    level = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2))
        self._private, self.number, self.mode = 1.0, np.float64(1), Mode.ONE
        self.table, self.queue, self.chosen, self.config = {Mode.ONE: 1.0}, deque([1.0]), {1.0}, {"one": 1.0}
        self.slotted = Slotted()
        self.slotted.scale, own.scale = 1.0, 1.0  # type: ignore[attr-defined]  # modules have what they are given

    @property
    def shown(self) -> float:
        return IN_PROPERTY["scale"]

    @staticmethod
    def helper() -> float:
        return IN_HELPER["scale"]

    def forward(self, x: Any) -> Any:
        numbers = (self.level, self._private, float(self.number), self.mode is Mode.ONE, self.table[Mode.ONE],
                   self.queue[0], *self.chosen, self.config.get("one", 3.0), self.slotted.scale, self.shown,
                   self.helper(), own.scale, NAMES.scale, Settings.scale)
        return Scaled.apply(super().forward(self.layers(x)) * sum(numbers))


def renamed(table: dict[str, float]) -> None:
    del table["one"]
    table["two"] = 1.0


CHANGES: dict[str, Callable[[Any, pytest.MonkeyPatch], Any]] = {
    "a member of its class": lambda model, patch: patch.setattr(Reads, "level", 2.0),
    "a private attribute": lambda model, patch: setattr(model, "_private", 2.0),
    "a number of NumPy's": lambda model, patch: setattr(model, "number", np.float64(2)),
    "a member of an Enum": lambda model, patch: setattr(model, "mode", Mode.TWO),
    "a key that is no text": lambda model, patch: model.table.update({Mode.ONE: 2.0}),
    "a deque": lambda model, patch: model.queue.appendleft(2.0),
    "a set": lambda model, patch: model.chosen.add(2.0),
    "a key that is gone": lambda model, patch: renamed(model.config),
    "a slot": lambda model, patch: setattr(model.slotted, "scale", 2.0),
    "what a property reads": lambda model, patch: patch.setitem(IN_PROPERTY, "scale", 2.0),
    "what a method reads": lambda model, patch: patch.setitem(IN_HELPER, "scale", 2.0),
    "what a method of its base reads": lambda model, patch: patch.setitem(IN_BASE, "scale", 2.0),
    "what a backward reads": lambda model, patch: patch.setitem(IN_BACKWARD, "scale", 2.0),
    "a module of the user's": lambda model, patch: patch.setattr(own, "scale", 2.0),
    "a namespace": lambda model, patch: patch.setattr(NAMES, "scale", 2.0),
    "a member of another class": lambda model, patch: patch.setattr(Settings, "scale", 2.0),
    "a layer more": lambda model, patch: model.layers.append(nn.Tanh())}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, x = Reads(), torch.ones(1, 2)
    called = torch.compile(model, backend="numpy", fullgraph=True)

    def left(function: Any) -> Any:
        model.zero_grad()
        result = function(x)
        result.sum().backward()
        return [result.tolist(), *[p.grad.tolist() for p in model.parameters()]]

    for i in range(6):
        if i == 3:
            before = left(model)
            CHANGES[name](model, monkeypatch)
            assert left(model) != before
        for found, expected in zip(left(called), left(model), strict=True):
            np.testing.assert_allclose(found, expected, 1e-5)
    assert called.explain().variants == 2


def test_arguments_that_are_no_tensors() -> None:
    """Those that are gone leave their addresses to others."""
    def function(x: Any, other: Any) -> Any:
        return x * torch.rand(2, generator=other) if isinstance(other, torch.Generator) else x * other

    called, x = torch.compile(function, backend="numpy", fullgraph=True), torch.ones(2)
    for i in range(4):
        assert called(x, np.float32(i)).tolist() == [i, i]
    for i in range(4):
        assert torch.equal(called(x, torch.Generator().manual_seed(i)), function(x, torch.Generator().manual_seed(i)))


def test_a_method_that_is_not_forward() -> None:
    scale = [1.0]

    class Encoder(nn.Module):
        def encode(self, x: Any) -> Any:
            return x * scale[0]

    class Trainer:
        def __init__(self) -> None:
            self.model = Encoder()

        def step(self, x: Any) -> Any:
            return encoded(self.model, x)

    def encoded(model: Any, x: Any) -> Any:
        return model.encode(x)

    called = torch.compile(Trainer().step, backend="numpy", fullgraph=True)
    for i in range(6):
        scale[0] = float(i // 3)
        assert called(torch.ones(1)).item() == scale[0]


def test_attributes_of_an_argument() -> None:
    called, x = torch.compile(lambda x: x * x.scale, backend="numpy", fullgraph=True), torch.ones(2)
    for i in range(6):
        x.scale = float(i // 3)
        assert called(x).tolist() == [x.scale, x.scale]


def test_keywords_are_no_dict_of_an_argument() -> None:
    called = torch.compile(lambda x, y=None: x[0] if isinstance(x, tuple) else x * 2, backend="numpy")
    for _ in range(3):
        assert called((torch.ones(1),), {"y": 1.0}).item() == 1 and called(torch.ones(1), y=1.0).item() == 2


def test_zeros_of_both_signs() -> None:
    settings = {"scale": 0.0}

    def step(x: Any, y: float) -> Any:
        return torch.atan2(x * y, torch.full((1,), settings["scale"]))

    compiled = torch.compile(step, backend="numpy")
    for settings["scale"] in (0.0, -0.0):
        for y in (0.0, -0.0):
            for _ in range(3):
                assert str(compiled(torch.ones(1), y).item()) == str(step(torch.ones(1), y).item())
    for _ in range(3):
        compiled(torch.ones(1), float("nan"))
    assert compiled.explain().variants == 5


@pytest.mark.parametrize("flag", [True, False])
def test_an_argument_that_requires_grad_afterwards(flag: bool) -> None:
    def step(x: Any) -> Any:
        y = (x * 2).detach()
        x.requires_grad_(flag)
        return y

    compiled = torch.compile(step, fullgraph=True)
    for _ in range(4):
        x = torch.ones(2, requires_grad=not flag)
        compiled(x)
        assert x.requires_grad is flag
    assert compiled.explain().variants == 1


def test_a_world_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MOST", 10)
    objects = [[i] for i in range(20)]

    def step(x: Any) -> Any:
        return x * len(objects)

    compiled = torch.compile(step)
    compiled(torch.ones(2))
    with pytest.warns(UserWarning, match="it reaches more than 10 objects"):
        assert compiled(torch.ones(2)).tolist() == [20.0, 20.0]


def test_the_functions_that_pytest_writes_into_an_assert_are_not_guarded() -> None:
    def step(x: Any) -> Any:
        assert x is not None
        return x * 2

    compiled = torch.compile(step, backend="numpy", fullgraph=True)
    for _ in range(3):
        compiled(torch.ones(2))
    assert "pytest" not in compiled.why and "saferepr" not in compiled.why
