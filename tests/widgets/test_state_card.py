"""The state card: what it reads, what it shows, what it leaves alone."""

from __future__ import annotations

import warnings
import weakref
from importlib import import_module
from typing import Any

import pytest

import minigrad
from minigrad_widgets import StateCard, state_card
from tests.groups import has_torch, require

LIBRARIES = [minigrad, pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture(params=LIBRARIES, ids=["minigrad", "torch"])
def library(request: pytest.FixtureRequest) -> Any:
    """minigrad, and PyTorch where it is installed."""
    if request.param != "torch":
        return request.param
    require("torch", has_torch(), "PyTorch 2.13 is not installed")
    return import_module("torch")


def tensors(torch: Any) -> dict[str, Any]:
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2
    second = y.unbind(0)[1]
    second.retain_grad()
    changed = torch.zeros(2)
    changed.add_(1)
    return {"x": x, "y": y, "second": second, "detached": y.detach(), "changed": changed}


EXPECTED = """\
                           is_leaf  requires_grad  grad_fn          output_nr  retains_grad  _version
x  [2, 3] float32          True     True           None             0          False         0
y  [2, 3] float32          False    True           MulBackward0     0          False         0
second  [3] float32        False    True           UnbindBackward0  1          True          0
detached  [2, 3] float32   True     False          None             0          False         0
changed  [2] float32       True     False          None             0          False         1"""


def test_the_text_is_what_the_tensors_say(library: Any) -> None:
    lines = repr(state_card(**tensors(library))).splitlines()
    assert [line.split() for line in lines] == [line.split() for line in EXPECTED.splitlines()]
    assert lines == [line.rstrip() for line in lines]


def test_it_warns_of_nothing(library: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        StateCard(**tensors(library))._repr_mimebundle_()


def test_it_keeps_no_tensor_alive(library: Any) -> None:
    x = library.ones(3)
    gone = weakref.ref(x)
    card = state_card(x=x)
    del x
    assert gone() is None
    assert card.states[0].name == "x"


def test_it_is_a_copy(library: Any) -> None:
    x = library.ones(3)
    card = state_card(x=x)
    x.requires_grad_()
    assert "True     False" in card.text
    assert "True     True" in state_card(x=x).text


def test_a_tensor_without_a_version() -> None:
    """As PyTorch's inference tensors are."""

    class Inferred:
        is_leaf, requires_grad, grad_fn, output_nr, retains_grad = True, False, None, 0, False
        shape, dtype = (1,), "float32"

        @property
        def _version(self) -> int:
            raise RuntimeError("Inference tensors do not track version counter.")

    assert state_card(x=Inferred()).text.endswith("not tracked")


def test_the_bundle(library: Any) -> None:
    card = state_card(**tensors(library))
    bundle = card._repr_mimebundle_()
    assert set(bundle) == {"text/html", "image/png", "text/plain"}
    assert bundle["text/html"].count("<tr>") == 6
    assert "UnbindBackward0" in bundle["text/html"]
    assert len(bundle["image/png"]) < 60_000
    assert state_card(**tensors(library))._repr_mimebundle_() == bundle


def test_names_are_data() -> None:
    card = StateCard(**{"<img src=x onerror=alert(1)>": minigrad.ones(1), "$a_b$": minigrad.ones(1)})
    assert "<img" not in card.to_html()
    assert card.to_png()


def test_an_empty_card() -> None:
    assert "is_leaf" in state_card().text
    assert state_card().to_png()


def test_in_a_browser_no_picture_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """There a table is always shown, and what draws the picture is 10 MB to fetch."""
    card = state_card(x=minigrad.ones(2))
    assert {"text/html", "image/png"} <= card._repr_mimebundle_().keys()
    monkeypatch.setattr("sys.platform", "emscripten")
    assert card._repr_mimebundle_().keys() == {"text/html", "text/plain"}
