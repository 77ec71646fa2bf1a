"""In which grad mode each step ran: what is worked out from a trace is what the program saw."""

from __future__ import annotations

from typing import Any

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint
from minigrad_widgets import Inspector
from minigrad_widgets.inspector.grad_modes import mode_at, modes


def seen(trace: Trace, op: str) -> list[str]:
    """The mode at each step at which an op ran."""
    changes = modes(trace.to_dict())
    return [mode_at(changes, step) for step, e in enumerate(trace.events) if e["kind"] == "forward" and e["op"] == op]


class Watched(torch.autograd.Function):
    """Takes down in which mode its two halves run."""

    modes: list[bool]

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        Watched.modes.append(torch.is_grad_enabled())
        return x.exp()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        Watched.modes.append(torch.is_grad_enabled())
        return g.exp()


def test_what_the_program_switches() -> None:
    x = torch.ones(1, requires_grad=True)
    with record() as trace:
        x.sin()
        with torch.no_grad():
            x.sin()
            with torch.enable_grad():
                x.sin()
            x.sin()
        with torch.inference_mode():
            x.sin()
        torch.set_grad_enabled(False)
        x.sin()
        torch.set_grad_enabled(True)
        x.sin()
    assert seen(trace, "sin") == ["on", "off", "on", "off", "inference", "off", "on"]


def test_a_recording_that_begins_in_another_mode() -> None:
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad(), record() as trace:
        x.sin()
        with torch.enable_grad():
            x.sin()
    assert seen(trace, "sin") == ["off", "on"]


def test_inside_of_a_function_and_its_passes() -> None:
    Watched.modes = []
    x = torch.ones(1, requires_grad=True)
    with record() as trace:
        torch.autograd.grad(Watched.apply(x), x, create_graph=True)
        Watched.apply(x).backward()
    assert Watched.modes == [False, True, False, False]
    assert seen(trace, "exp") == ["on" if each else "off" for each in Watched.modes]


def test_a_checkpoint_that_runs_again() -> None:
    x = torch.ones(1, requires_grad=True)
    for reentrant, first in ((True, "off"), (False, "on")):
        with record() as trace:
            checkpoint(lambda t: t.exp().sin(), x, use_reentrant=reentrant).backward()
        assert seen(trace, "exp") == [first, "on"]


def test_a_pass_that_an_error_ends() -> None:
    x = torch.ones(1, requires_grad=True)
    with record() as trace:
        y = x.exp()
        with torch.no_grad():
            y.add_(1)
        try:
            y.backward()
        except RuntimeError:
            x.sin()
    assert seen(trace, "sin") == ["on"]


def test_modes_that_were_not_seen_are_not_told() -> None:
    x = torch.ones(1, requires_grad=True)
    with record() as trace:
        x.sin().backward()
    assert modes(trace.to_dict())
    assert modes({**trace.to_dict(), "library": "torch 2.13.0"}) == []


def test_the_inspector_says_so() -> None:
    x = torch.ones(1, requires_grad=True)
    with record() as trace:
        with torch.no_grad():
            x.sin()
        x.sin()
    steps = [step for step, e in enumerate(trace.events) if e["kind"] == "forward"]
    texts = [Inspector(trace, lens="forward", step=step).text for step in steps]
    assert [text.splitlines()[-1] == "grad mode off" for text in texts] == [True, False]
    assert "grad mode" not in Inspector(trace, step=steps[0]).text
