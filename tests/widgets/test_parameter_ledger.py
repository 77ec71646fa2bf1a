"""The parameter ledger without a browser: moments, what they change, text and picture."""

from __future__ import annotations

from typing import Any

import pytest

import minigrad as torch
from minigrad.recorder import Trace, record
from minigrad_widgets import ParameterLedger


@pytest.fixture
def trace() -> Trace:
    """Two steps of plain SGD on 2 w + b, the second without a zero_grad; then one that takes the gradients off."""
    model = torch.nn.Linear(1, 1)
    with torch.no_grad():
        model.weight.fill_(1.0)
        model.bias.fill_(0.5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.25)
    x = torch.tensor([[2.0]])
    with record() as trace:
        for _ in range(2):
            model(x).sum().backward()
            optimizer.step()
        optimizer.zero_grad()
    return trace


TEXT = """\
ParameterLedger, 2 tensors, 5 of 5 moments
  model.weight [1, 1] = [[1.]], version 2
  model.bias [1] = [0.5], version 2
1  test_parameter_ledger.py, line 25: model(x).sum().backward()
  model.bias: .grad is now [1.]
  model.weight: .grad is now [[2.]]
2  test_parameter_ledger.py, line 26: optimizer.step()
  model.weight: is now [[0.5]], version 3
  model.bias: is now [0.25], version 3
3  test_parameter_ledger.py, line 25: model(x).sum().backward()
  model.bias: .grad is now [2.]
  model.weight: .grad is now [[4.]]
4  test_parameter_ledger.py, line 26: optimizer.step()
  model.weight: is now [[-0.5]], version 4
  model.bias: is now [-0.25], version 4
5  test_parameter_ledger.py, line 27: optimizer.zero_grad()
  model.weight: .grad is None
  model.bias: .grad is None"""


def test_the_text(trace: Trace) -> None:
    assert ParameterLedger(trace).text == TEXT


def test_a_step_in_between(trace: Trace) -> None:
    ledger = ParameterLedger(trace)
    ends = [moment["end"] for moment in ledger.moments]
    assert len(ends) == 5
    ledger.step = ends[1]
    weight, bias = ledger.now
    assert (weight["value"], weight["grad"], weight["version"], weight["new"]) == ("[[0.5]]", "[[2.]]", 3, ["value"])
    assert (bias["value"], bias["grad"], bias["version"]) == ("[0.25]", "[1.]", 3)
    ledger.step = ends[2] - 1  # within the second pass: not all of it has happened
    assert ledger.now == [weight, bias]
    ledger.step = -1
    first = [(row["value"], row["grad"], row["version"]) for row in ledger.now]
    assert first == [("[[1.]]", "–", 2), ("[0.5]", "–", 2)]
    assert ledger.text.splitlines()[0] == "ParameterLedger, 2 tensors, 0 of 5 moments"


def test_every_pass_is_a_moment_of_its_own() -> None:
    """Also when one line runs several, with nothing between them."""
    x = torch.tensor(3.0, requires_grad=True)
    with record() as trace:
        y = x * 2
        for _ in range(3): y.backward(retain_graph=True)  # noqa: E701 (one line)
    ledger = ParameterLedger(trace)
    assert [moment["changes"][0]["grad"] for moment in ledger.moments] == ["2.", "4.", "6."]


def test_only_some(trace: Trace) -> None:
    ledger = ParameterLedger(trace, of=["model.bias"])
    assert [row["name"] for row in ledger.now] == ["model.bias"]
    assert len(ledger.moments) == 5
    with pytest.raises(ValueError, match=r"no leaf of this trace is named 'w'; there are model\.weight, model\.bias"):
        ParameterLedger(trace, of=["w"])


def test_what_the_program_writes_itself() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    frozen = torch.nn.Parameter(torch.ones(9), requires_grad=False)
    with record() as trace:
        (w * frozen[:2]).sum().backward()
        with torch.no_grad():
            w -= 0.5 * w.grad
        w.grad.zero_()
        w.grad = None
    ledger = ParameterLedger(trace)
    assert [row["name"] for row in ledger.now] == ["frozen", "w"]
    assert ledger.now[0]["value"] == "9 ‖3.‖"
    assert [moment["changes"][0]["new"] for moment in ledger.moments] == [["grad"], ["value"], ["grad"], ["cleared"]]
    assert ledger.moments[1]["changes"][0]["value"] == "[0.5, 1.5]"
    assert ledger.moments[1]["source"] == "w -= 0.5 * w.grad"


def test_pictures(trace: Trace, tmp_path: Any) -> None:
    ledger = ParameterLedger(trace)
    bundle, _ = ledger._repr_mimebundle_()
    assert bundle["text/plain"] == ledger.text
    assert len(ledger.to_png()) < 60_000
    assert "model.weight" in ledger.to_svg()
    assert '"ledger"' in ledger.to_html(tmp_path / "page.html")
    trace.tensors[0]["name"] = "</script><img src=x> $a$"
    hostile = ParameterLedger(trace)
    assert "<img" not in hostile.to_html()
    assert "<img" not in hostile.to_svg()
    with record() as nothing:
        pass
    assert ParameterLedger(nothing).text == "ParameterLedger: no leaf was recorded"
    assert ParameterLedger(nothing).to_png().startswith(b"\x89PNG")
