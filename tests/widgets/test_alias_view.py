"""The alias view without a browser: what it says of saved tensors is what the engine then does."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import minigrad
from minigrad.recorder import Trace, record
from minigrad_widgets import AliasView
from minigrad_widgets.lenses.alias_view import status
from tests.groups import has_torch, require

OPS: dict[str, Callable[[Any], Any]] = {
    "exp": lambda x: x.exp(), "sigmoid": lambda x: x.sigmoid(), "relu": lambda x: x.relu(), "sqrt": lambda x: x.sqrt(),
    "tanh": lambda x: x.tanh(), "mul": lambda x: x * 2, "square": lambda x: x * x, "pow": lambda x: x ** 2,
    "sin": lambda x: x.sin(), "add": lambda x: x + 1, "view": lambda x: x.view(2, 2), "relu_": lambda x: x.relu_(),
    "sigmoid_": lambda x: x.sigmoid_(), "clone": lambda x: x.clone(),
}
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "nothing": lambda x, y: None, "result": lambda x, y: y.add_(1), "input": lambda x, y: x.add_(1),
    "detached": lambda x, y: y.detach().add_(1), "part": lambda x, y: y.detach().view(-1)[:1].add_(1),
    "data": lambda x, y: (y.data.add_(1), x.data.add_(1)),
}


@pytest.fixture(params=["minigrad", pytest.param("torch", marks=pytest.mark.torch)])
def library(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A library, and what records it."""
    if request.param == "minigrad":
        return minigrad, record
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    return import_module("torch"), import_module("minigrad_widgets.torch_reader").record


def program(library: tuple[Any, Any], op: Callable[[Any], Any],
            write: Callable[[Any, Any], Any]) -> tuple[Trace, bool, bool]:
    """The trace of an op whose result or input is then written to; whether backward raised; whether .grad is wrong."""
    torch, recorder = library

    def run(write: Callable[[Any, Any], Any]) -> Any:
        leaf = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        x = leaf * 1
        y = op(x)
        kept = write(x, y)  # the PyTorch reader misses writes to what is gone when the next op comes
        y.sum().backward()
        del kept
        return leaf.grad

    raised, grad = False, None
    with recorder() as trace:
        try:
            grad = run(write)
        except RuntimeError:
            raised = True
    return trace, raised, grad is not None and not torch.equal(grad, run(lambda x, y: None))


def verdicts(view: AliasView, step: int) -> list[str]:
    """The first letter of what is said of each saved tensor at a step."""
    view.step = step
    return [status(save, view.versions, view.step)[0] for storage in view.storages for save in storage["saves"]]


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("op", OPS)
def test_it_foresees_what_the_engine_does(library: tuple[Any, Any], op: str, write: str) -> None:
    trace, raised, wrong = program(library, OPS[op], WRITES[write])
    before = next(step for step, event in enumerate(trace.events) if event["kind"] == "backward_start") - 1
    view = AliasView(trace)
    assert ("✗" in verdicts(view, before)) is raised
    if wrong:
        assert "!" in verdicts(view, before)
    if write == "nothing":
        assert set(verdicts(view, before)) <= {"✓"}
    if library[0] is minigrad:  # PyTorch does not tell why a pass failed that the program has caught
        view.step = len(trace.events)
        assert ("✗ raised: it is at version" in view.text) is raised


@pytest.fixture
def trace() -> Trace:
    x = minigrad.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    with record() as trace:
        y = x * 2
        part = y[1:3]
        apart, data = y.detach(), y.data
        loss = (y * y).sum()
        data.mul_(2)
        apart[1:].add_(1)
        part.sum()
        try:
            loss.backward()
        except RuntimeError:
            pass
    return trace


def test_the_text(trace: Trace) -> None:
    view = AliasView(trace, step=len(trace.events))
    lines = view.text.splitlines()
    assert lines[0].startswith("AliasView, RuntimeError: one of the variables needed for gradient computation")
    assert lines[1] == "storage 1: 4. 9. 13. 17."
    assert "  y [4], version 1: the first tensor in this memory" in lines
    assert "  part [2], version 1: a view of y, elements 1 2" in lines
    assert "  data [4], version 1: the memory of y, with a version counter of its own" in lines
    assert "  apart [4], version 1: detached from y: one version counter" in lines
    assert "  MulBackward0 #3 saved y (self) at version 0: ✗ raised: it is at version 1" in lines
    assert view.text == AliasView(trace, step=len(trace.events)).text == repr(view)


def test_a_tensor_is_there_from_when_it_was_made() -> None:
    """`detach` is no op that minigrad records: its result is named by the op that takes it first, and exists before."""
    with record() as trace:
        w = minigrad.tensor([1.0, 2.0], requires_grad=True)
        d, _ = w.detach(), w.clone()
        w.clone()
        d.mul_(10)
    view = AliasView(trace)
    assert "clone(w)" in view.text
    assert "  d [2], version 0: detached from w: one version counter" in view.text.splitlines()
    assert "storage 0: 1. 2." in view.text.splitlines()


def test_steps_go_both_ways(trace: Trace) -> None:
    view = AliasView(trace)
    assert view.step == 0
    texts = []
    for step in range(len(trace.events)):
        view.step = step
        texts.append(view.text)
    for step in reversed(range(len(trace.events))):
        view.step = step
        assert view.text == texts[step]
    view.step = -5
    assert view.step == 0


def test_quiet_memory_is_left_out() -> None:
    x = minigrad.ones(3)
    with record() as trace:
        (x + 1).sum()
    view = AliasView(trace, step=len(trace.events))
    assert view.storages == []
    assert view.text.count("\n") == 0
    with record() as nothing:
        pass
    assert AliasView(nothing).text == "AliasView, nothing was recorded"
    assert AliasView(nothing).to_png().startswith(b"\x89PNG")


def test_large_tensors_are_not_drawn() -> None:
    x = minigrad.zeros(1000, requires_grad=True)
    with record() as trace:
        y = x * 2
        y.view(10, 100)
    view = AliasView(trace, step=len(trace.events))
    assert view.storages[0]["tensors"][0]["cells"] is None
    assert view.to_png().startswith(b"\x89PNG")


def test_pictures(trace: Trace, tmp_path: Any) -> None:
    view = AliasView(trace, step=len(trace.events))
    bundle, _ = view._repr_mimebundle_()
    assert bundle["text/plain"] == view.text
    assert len(view.to_png()) < 60_000
    assert "a view of y" in view.to_svg()
    assert view.to_svg() == AliasView(trace, step=len(trace.events)).to_svg()
    assert '"aliases"' in view.to_html(tmp_path / "page.html")
    trace.tensors[1]["name"] = "</script><img src=x> $a$"
    hostile = AliasView(trace, step=len(trace.events))
    assert "<img" not in hostile.to_html()
    assert "<img" not in hostile.to_svg()
