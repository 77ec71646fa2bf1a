"""What a leaf is called that only a function inside of the recording knows."""

from __future__ import annotations

import gc
import sys
import weakref
from types import FrameType
from typing import Any

import pytest

import minigrad as torch
from benchmarks.counts import calls
from minigrad import nn
from minigrad.recorder import Trace, record

KEPT = [torch.ones(2, requires_grad=True)]


class Scaled(nn.Module):
    """A layer with a parameter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def leaves(trace: Trace) -> list[str | None]:
    return [tensor["name"] for tensor in trace.tensors if tensor["requires_grad"] and tensor["is_leaf"]]


def test_leaves_have_the_names_of_the_function_that_uses_them():
    def run() -> None:
        x, scale = torch.ones(2, requires_grad=True), torch.full((2,), 3.0).requires_grad_()
        (x * scale).sum().backward()

    with record() as trace:
        run()
    assert leaves(trace) == ["x", "scale"]


@pytest.mark.parametrize("times", [False, True])
def test_no_name_comes_from_outside_of_the_recording(times):
    def recorded() -> Trace:
        with record(times=times) as trace:
            (KEPT[0] * 2.0).sum().backward()
        return trace

    outside = KEPT[0]
    assert leaves(recorded()) == [None] and outside.grad is not None


def test_the_function_furthest_out_says_the_name():
    def square(inner: torch.Tensor) -> torch.Tensor:
        return inner * inner

    def run(outer: torch.Tensor) -> None:
        square(outer).sum().backward()

    with record() as trace:
        run(torch.ones(2, requires_grad=True))
    assert leaves(trace) == ["outer"]
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        run(x)
    assert leaves(trace) == ["x"]


def test_no_code_of_a_model_runs_when_its_parameters_are_named():
    class Deep(nn.Sequential):
        def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("the recorder asked the model")

        named_modules = named_parameters

    def run() -> None:
        model = Deep(*[Scaled() for _ in range(30)])
        model(torch.ones(3)).sum().backward()

    with record() as trace:
        run()
    assert leaves(trace) == [f"model.{at}.weight" for at in range(30)]
    assert [scope["name"] for scope in trace.scopes] == ["model", *map(str, range(30))]


def test_an_op_is_recorded_in_few_calls_whatever_the_variables_hold():
    def recorded() -> None:
        a, b = torch.ones(3, requires_grad=True), torch.ones(3)
        model, tables = nn.Sequential(*[nn.Linear(3, 3) for _ in range(5)]), {"a": [b] * 20, "b": [1, 2, 3]}
        with record():
            c = a + b
        assert (c is not None) and model and tables

    recorded()
    assert calls(recorded) - calls(lambda: nn.Sequential(*[nn.Linear(3, 3) for _ in range(5)])) < 500


def test_a_parameter_that_is_replaced_while_the_model_is_recorded():
    def run() -> None:
        model = nn.Sequential(Scaled(), Scaled())
        model(torch.ones(3)).sum().backward()
        model[1].weight, model[0].weight = model[0].weight, nn.Parameter(torch.full((3,), 2.0))
        model(torch.ones(3)).sum().backward()

    with record() as trace:
        run()
    assert leaves(trace) == ["model.0.weight", "model.1.weight", "model.0.weight"]


def test_parameters_are_named_by_the_module_in_a_variable():
    def run() -> None:
        net = nn.Sequential(Scaled(), nn.Linear(3, 1))
        net(torch.ones(2, 3)).sum().backward()

    with record() as trace:
        run()
    assert set(leaves(trace)) == {"net.0.weight", "net.1.weight", "net.1.bias"}
    assert [scope["name"] for scope in trace.scopes] == ["net", "0", "1"]


def test_what_nothing_holds_has_no_name_nor_what_is_private():
    def run() -> None:
        _x, _found = torch.ones(2, requires_grad=True), [torch.ones(2, requires_grad=True)]
        (_x * _found[0] * torch.ones(2, requires_grad=True)).sum().backward()

    with record() as trace:
        run()
    assert leaves(trace) == [None, None, None]


def test_looking_at_variables_keeps_nothing_alive():
    def run() -> bool:
        x = torch.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        gone = weakref.ref(x)
        del x
        gc.collect()
        return gone() is None

    with record():
        assert run()


def test_a_debugger_finds_its_function_unharmed():
    """A debugger writes the copy of the variables back: emptied, it would delete them."""
    def run() -> int:
        x, kept = torch.ones(2, requires_grad=True), 7
        y = x.sum()
        y.backward()
        return kept

    def debugger(frame: FrameType, event: str, arg: Any) -> Any:
        if frame.f_code is run.__code__ and event == "line" and "y" in frame.f_locals:
            (frame.f_locals["x"] * torch.ones(2, requires_grad=True)).sum()  # as if typed at its prompt
        return debugger

    before = sys.gettrace()
    with record() as trace:
        sys.settrace(debugger)
        try:
            kept = run()
        finally:
            sys.settrace(before)
    assert kept == 7 and "x" in leaves(trace)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="f_locals is no copy any more")
def test_the_variables_that_a_function_has_asked_for_stay():
    def run() -> list[str]:
        x = torch.ones(2, requires_grad=True)
        mine = locals()
        (x * 2).sum().backward()
        return sorted(mine)

    with record():
        assert "x" in run()


def test_many_leaves_without_a_name_are_not_looked_for_for_ever():
    def run() -> None:
        total = torch.ones(1)
        for _ in range(200):
            total = total * torch.ones(1, requires_grad=True)
        late = torch.ones(1, requires_grad=True)
        (total * late).backward()

    with record() as trace:
        run()
    assert leaves(trace).count(None) == 201
