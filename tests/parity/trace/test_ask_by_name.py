"""What a trace of a PyTorch model says by name, against what hooks on the model see; the page about it is run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from minigrad.trace.query import NotKept
from minigrad_widgets import inspect
from minigrad_widgets.torch_reader import record

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[3] / "docs" / "ask_by_name.md"


def test_the_page_is_true() -> None:
    text = PAGE.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```pycon\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    tried = doctest.DocTestParser().get_doctest(code, {}, PAGE.name, str(PAGE), 0)
    told: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(tried, out=told.append)
    assert result.attempted > 30 and result.failed == 0, "".join(told)
    assert len(re.findall(r"^\*\*\d+\. ", text, re.MULTILINE)) == 10


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.act, self.head = nn.LSTM(8, 8, batch_first=True), nn.ReLU(inplace=True), nn.Linear(8, 20)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, _ = self.lstm(x)
        out: torch.Tensor = self.head(self.act(self.act(y * 1) - 0.1))
        return out


def test_what_hooks_see() -> None:
    torch.manual_seed(0)
    net, x = Recurrent(), torch.randn(3, 5, 8, requires_grad=True)
    seen: list[tuple[str, list[torch.Tensor], list[torch.Tensor]]] = []
    gradients: dict[int, torch.Tensor] = {}

    def hook(module: nn.Module, given: Any, result: Any) -> None:
        results = [result] if isinstance(result, torch.Tensor) else [result[0], *result[1]]
        seen.append((next(name for name, each in net.named_modules() if each is module),
                     [each.detach().clone() for each in given], [each.detach().clone() for each in results]))
        at = len(seen) - 1
        results[0].register_hook(lambda gradient: gradients.__setitem__(at, gradient.clone()))

    for module in net.modules():
        module.register_forward_hook(hook)
    with record(detail="arrays") as trace:
        net(x).square().mean().backward()
    counts: dict[str, int] = {}
    for at, (name, _, results) in enumerate(seen):
        counts[name] = counts.get(name, 0) + 1
        path = f"net.{name}:{counts[name]}" if name else "net"
        call = next(iter(trace.modules(path)))
        assert [each.shape for each in call.outputs] == [tuple(each.shape) for each in results], path
        for found, expected in zip(call.outputs, results, strict=True):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())
        gradient = call.output.grad if call.output else None
        assert gradient is not None
        np.testing.assert_array_equal(gradient.numpy(), gradients[at].numpy())
    assert counts == {"lstm": 1, "act": 2, "head": 1, "": 1}
    np.testing.assert_array_equal(trace["net"].input.numpy(), x.detach().numpy())  # type: ignore[union-attr] # it has one
    np.testing.assert_array_equal(trace["net"].input.grad.numpy(), x.grad.numpy())  # type: ignore[union-attr] # it has one
    for name, parameter in net.named_parameters():
        found = trace["net"].parameters[name]  # type: ignore[union-attr] # a module
        np.testing.assert_array_equal(found.numpy(), parameter.detach().numpy())
        np.testing.assert_array_equal(found.grad.numpy(), parameter.grad.numpy())  # type: ignore[union-attr] # it has one


def test_the_input_of_an_op_in_place_is_what_it_was() -> None:
    act, x = nn.ReLU(inplace=True), torch.linspace(-1, 1, 200, requires_grad=True)
    with record(detail="arrays") as trace:
        act(x * 2).sum().backward()
    call = trace["act"]
    assert call.input is not None and call.output is not None
    assert call.input.numpy().min() == -2 and call.output.numpy().min() == 0


@pytest.mark.parametrize(("detail", "why"), [("values", "only its statistics"), ("ops", "only its shape and dtype"),
                                             ("modules", "only its shape and dtype")])
def test_what_was_not_kept_says_so(detail: str, why: str) -> None:
    net = nn.Linear(10, 10)
    with record(detail=detail) as trace:
        net(torch.ones(10, 10))
    output = trace["net"].output
    assert output is not None and output.shape == (10, 10)
    with pytest.raises(NotKept, match=rf"of shape \[10, 10\] were not kept: {why} .*detail=\"arrays\""):
        output.numpy()


def test_the_recording_of_an_inspector() -> None:
    net = nn.Linear(10, 10)
    found = inspect(net, torch.ones(10, 10), detail="arrays").recording["net"].output
    assert found is not None
    np.testing.assert_array_equal(found.numpy(), net(torch.ones(10, 10)).detach().numpy())


def test_a_summary_shows_what_a_module_returns() -> None:
    lstm = nn.LSTM(8, 6, batch_first=True)
    with record() as trace:
        lstm(torch.ones(3, 5, 8))[0].sum().backward()
    row = trace.summary()["lstm"]
    assert row.output == (3, 5, 6) and row.outputs == ((3, 5, 6), (1, 3, 6), (1, 3, 6))
    assert row.gradient == pytest.approx(90 ** 0.5)


def test_a_module_that_raised_returned_nothing() -> None:
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> None:
            x * 2
            raise ArithmeticError

    class Silent(nn.Module):
        def forward(self, x: torch.Tensor) -> None:
            x * 2

    silent, broken = Silent(), Broken()
    with pytest.raises(ArithmeticError), record() as trace:
        silent(torch.ones(2))
        broken(torch.ones(2))
    assert ["outputs" in scope for scope in trace.scopes] == [True, False]


def test_a_model_that_fails_is_shown_up_to_there() -> None:
    net = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(9, 3)))
    inspector = inspect(net, torch.ones(2, 4))
    trace = inspector.recording
    assert trace.notes[0] == {
        "text": "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x8 and 9x3); this Linear was given [2, 8] "
                "and has weight [3, 9], bias [3]", "where": "in net.1.1", "count": 1}
    assert inspector.step == len(trace) - 1 and trace.events[-1]["kind"] == "error"
    assert trace["net.0"].output is not None and trace["net.1.1"].output is None
    assert "this Linear was given [2, 5]" in inspect(net, torch.ones(2, 5)).recording.notes[0]["text"]
    with pytest.raises(RuntimeError, match="size of tensor a"):
        inspect(lambda: net[0](torch.ones(2, 4)) + torch.ones(3))


def test_what_a_batch_should_be() -> None:
    with pytest.raises(TypeError, match=r"not dict: give it the loss in it, or, if it is a batch, inspect\(model"):
        inspect({"input_ids": torch.ones(2)})
    with pytest.raises(TypeError, match="not tuple: give it one of the tensors in it"):
        inspect((torch.ones(2), torch.ones(2)))
