"""The state explorer: what is found by running, in both libraries, and how it is shown."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

import minigrad
from minigrad_widgets import StateExplorer, explore
from minigrad_widgets.lenses.state_explorer import ATTRIBUTES, CALLS
from tests.groups import has_torch, require

BACKWARD = "t.sum().backward(retain_graph=True)"
VIEW = "with torch.no_grad(): t = t.view(2)"


@pytest.fixture
def explorer() -> StateExplorer:
    return StateExplorer(explore(minigrad))


@pytest.fixture
def torch() -> Any:
    """PyTorch, where it is installed."""
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    return import_module("torch")


def test_six_states_are_reached() -> None:
    states = [dict(zip(ATTRIBUTES, state["values"], strict=True)) for state in explore(minigrad)["states"]]
    assert len(states) == 6
    assert all(state["grad_fn"] is not state["is_leaf"] for state in states)
    fifth = explore(minigrad)["states"][4]
    assert fifth["values"] == [True, False, True, False]
    assert fifth["recipe"][-2:] == ["t.retain_grad()", "t.detach_()"]


def test_a_recipe_leads_to_its_state() -> None:
    for state in explore(minigrad)["states"]:
        names: dict[str, Any] = {"torch": minigrad}
        exec("\n".join(state["recipe"]), names)
        t = names["t"]
        assert [t.is_leaf, t.requires_grad, t.retains_grad, t.grad_fn is not None] == state["values"]


def test_an_error_forbids_a_call() -> None:
    found = explore(minigrad)
    refused = {(move["from"], found["calls"][move["call"]]): move["error"] for move in found["moves"] if move["error"]}
    assert refused[0, "t.retain_grad()"] == "RuntimeError: can't retain_grad on Tensor that has requires_grad=False"
    assert str(refused[2, "t.requires_grad_(False)"]).startswith("RuntimeError: you can only change requires_grad")
    assert {state for state, call in refused if call == "t.add_(1)"} == {1, 5}
    assert all((move["to"] is None) == (move["error"] is not None) for move in found["moves"])
    assert len(found["moves"]) == len(found["states"]) * len(found["calls"])


@pytest.mark.torch
@pytest.mark.parametrize("more", [
    {}, {"calls": (*CALLS, BACKWARD), "attributes": (*ATTRIBUTES, "grad")}, {"starts": ["t = torch.arange(2)"]},
], ids=["as it is", "with .grad", "of integers"])
def test_pytorch_has_the_same_states(torch: Any, more: dict[str, Any]) -> None:
    assert explore(torch, **more) == explore(minigrad, **more)


@pytest.mark.torch
def test_a_view_is_told_apart(torch: Any) -> None:
    """Four attributes do not say that a tensor is a view, which cannot be detached in place: both libraries say so."""
    for library in (minigrad, torch):
        with pytest.raises(ValueError, match=r"do not tell two tensors apart that 't\.detach_\(\)' does"):
            explore(library, calls=(*CALLS, VIEW))


class Counting:
    """Stands for a library: a number, whose bits are attributes."""

    def __init__(self, n: int = 0) -> None:
        self.n = n
        for bit in range(7):
            setattr(self, f"bit{bit}", bool(n >> bit & 1))


def test_what_cannot_be_explored() -> None:
    with pytest.raises(ValueError, match="does not make a tensor: NameError"):
        explore(minigrad, starts=["t = nothing"])
    with pytest.raises(ValueError, match="more than 64 states"):
        explore(Counting, ["t = torch(t.n + 1)"], ["t = torch()"], [f"bit{bit}" for bit in range(7)])
    with pytest.raises(ValueError, match="nothing to show"):
        StateExplorer(explore(minigrad, starts=[]))


TEXT = """\
StateExplorer, 6 states
state  is_leaf  requires_grad  retains_grad  grad_fn  a  b   c   d  e   f  g  h
1      True     False          False         None     2  =   !1  =  =   =  =  =
2      True     True           False         None     =  1   =   1  !2  1  3  1
3      False    True           False         a node   =  !3  4   1  =   1  =  1
4      False    True           True          a node   =  !3  =   5  =   1  3  1
5      True     False          True          None     6  =   !1  =  =   1  1  1
6      True     True           True          None     =  5   =   5  !2  1  3  1"""


def test_the_text(explorer: StateExplorer) -> None:
    assert explorer.text.startswith(TEXT)
    assert explorer.text.splitlines()[-1] == "in state 1 after: t = torch.ones(2)"
    assert explorer.text == StateExplorer(explore(minigrad)).text == repr(explorer)


def test_a_walk(explorer: StateExplorer) -> None:
    explorer.calls = [1, 6, 2, 3]
    assert explorer.state == 4
    assert explorer.python == explore(minigrad)["states"][4]["recipe"]
    explorer.calls = [1, 6, 1, 3]  # the third is forbidden: the walk ends before it
    assert explorer.calls == [1, 6]
    explorer.calls = [9, 77]
    assert (explorer.calls, explorer.state) == ([0], 0)


def test_pictures(explorer: StateExplorer, tmp_path: Any) -> None:
    bundle, _ = explorer._repr_mimebundle_()
    assert bundle["text/plain"] == explorer.text
    assert len(explorer.to_png()) < 60_000
    assert explorer.to_svg() == StateExplorer(explore(minigrad)).to_svg()
    assert "t.detach_()" in explorer.to_svg()
    page = explorer.to_html(tmp_path / "page.html")
    assert '"exploration"' in page


def test_lines_are_data(tmp_path: Any) -> None:
    line = "t = t.detach()  # </script><img src=x> $a$"
    explorer = StateExplorer(explore(minigrad, calls=[line]))
    assert "<img" not in explorer.to_html()
    assert "<img" not in explorer.to_svg()
    assert explorer.to_png().startswith(b"\x89PNG")
