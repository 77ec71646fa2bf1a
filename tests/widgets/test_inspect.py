"""`inspect` and `%%inspect`: what is recorded, and that the program is left as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import minigrad as torch
from minigrad import nn
from minigrad_widgets import Inspector, inspect, load_ipython_extension
from minigrad_widgets.inspector.inspect import KEPT


def kinds(inspector: Inspector) -> list[str]:
    return [event["kind"] for event in inspector._trace.events]


def names(inspector: Inspector) -> set[str | None]:
    return {tensor["name"] for tensor in inspector._trace.tensors}


def test_a_graph_that_nobody_recorded() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    inspector = inspect(loss)
    assert {"backward_start", "run", "flow", "accumulate"} <= set(kinds(inspector))
    assert inspector._trace.steps("forward") == []  # the forward pane then says that no op was recorded
    assert inspector.lens == "backward"
    assert [node["name"] for node in inspector._trace.nodes] == ["SumBackward0", "MulBackward0", "AccumulateGrad"]
    assert "x" in names(inspector)
    root = inspector._trace.traverse([])["pending"]
    assert list(root) == [0]


def test_the_program_is_left_as_it_was() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    x.grad = before = torch.tensor([5.0, 6.0])
    loss = (x * w).sum()
    assert "grad" not in kinds(inspect(loss))
    assert x.grad is before
    assert before.tolist() == [5.0, 6.0]
    assert w.grad is None
    loss.backward()
    assert x.grad.tolist() == [8.0, 10.0]


def test_the_users_line_is_shown_not_ours() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    trace = inspect((x * x).sum())._trace
    assert [file["name"] for file in trace.files] == ["test_inspect.py"]
    assert "inspect(" in trace.files[0]["lines"][trace.events[0]["line"] - 1]


def test_a_call_is_recorded_from_its_first_op_to_its_gradients() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def square(a: torch.Tensor, *, factor: float) -> torch.Tensor:
        return a * a * factor

    inspector = inspect(square, x, factor=2.0)
    assert kinds(inspector)[0] == "forward"
    assert kinds(inspector)[-1] == "backward_end"
    grads = [event["grad"] for event in inspector._trace.events if event["kind"] == "accumulate"]
    assert [inspector._trace.values[grad]["data"] for grad in grads] == [[4.0, 8.0]]
    assert x.grad is None


class Classifier(nn.Module):
    """Like a model of transformers: it computes the loss itself if it is given labels."""

    def forward(self, x: torch.Tensor, labels: torch.Tensor | None = None) -> torch.Tensor:
        return x if labels is None else nn.functional.mse_loss(x, labels)


@pytest.mark.parametrize(("what", "given", "text"), [
    (Classifier(), {}, r"shape \[2\], is no loss: .* its sum. For a training step give labels="),
    (nn.ReLU(), {}, "is no loss: this is the backward pass of its sum. For a training step give loss_fn="),
    (Classifier(), {"labels": torch.zeros(2)}, None),
])
def test_what_is_no_loss_says_how_to_give_one(what: nn.Module, given: dict[str, Any], text: str | None) -> None:
    notes = inspect(what, torch.ones(2, requires_grad=True), **given)._trace.notes
    assert [note["where"] for note in notes] == ["inspect"] * (text is not None)
    assert text is None or re.search(text, notes[0]["text"])


def test_a_result_without_a_graph_says_so_after_its_forward_pass() -> None:
    with torch.no_grad():
        inspector = inspect(nn.Linear(2, 2), torch.ones(1, 2))
    assert (inspector.lens, inspector.step) == ("forward", len(inspector._trace) - 1)
    assert "The result has no graph, so there is no backward pass to show" in inspector.text


def test_a_graph_that_was_there_is_kept_which_a_note_says() -> None:
    loss = (torch.ones(2, requires_grad=True) ** 2).sum()
    inspector = inspect(loss)
    assert "retain_graph" not in inspector._trace.text()
    assert inspector._trace.notes == [{"text": KEPT, "where": "by inspect", "count": 1}]
    loss.backward()
    features = nn.Linear(2, 2)(torch.ones(1, 2)).exp()
    trace = inspect(nn.Linear(2, 1), features)._trace  # its graph goes on outside the call
    assert KEPT in [note["text"] for note in trace.notes]
    features.sum().backward()


def test_a_graph_that_the_call_made_lets_go_of_what_it_saved() -> None:
    inspector = inspect(lambda x: (x.exp() ** 2).sum(), torch.ones(2, requires_grad=True))
    released = {event["node"] for event in inspector._trace.events if event["kind"] == "release"}
    saving = {event["node"] for event in inspector._trace.events if event["kind"] == "save"}
    assert released == saving != set()
    assert inspector._trace.notes == []


def test_a_module_is_called_and_its_parameters_named() -> None:
    model = nn.Linear(2, 1)
    assert {"model.weight", "model.bias"} <= names(inspect(model, torch.ones(1, 2)))
    assert model.weight.grad is None


@pytest.mark.parametrize("target", [None, torch.tensor([[3.0]])], ids=["of the output", "of output and target"])
def test_a_loss_of_what_a_model_gives(target: torch.Tensor | None) -> None:
    def loss_fn(output: torch.Tensor, target: torch.Tensor | None = None) -> torch.Tensor:
        return ((output if target is None else output - target) ** 2).sum()

    model, batch = nn.Linear(2, 1), torch.ones(1, 2)
    trace = inspect(model, batch, target=target, loss_fn=loss_fn)._trace
    loss_fn(model(batch), target).backward()
    grads = {trace.tensors[event["tensor"]]["name"]: trace.values[event["grad"]]["data"]
             for event in trace.events if event["kind"] == "accumulate"}
    assert model.weight.grad is not None and grads["model.weight"] == model.weight.grad.flatten().tolist()


def test_a_target_without_a_loss_is_the_calls() -> None:
    x = torch.tensor([1.0], requires_grad=True)
    trace = inspect(lambda a, target: a - target, x, target=x * 2)._trace
    assert "SubBackward0" in [node["name"] for node in trace.nodes]


def test_a_leaf_and_a_call_without_a_graph() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    assert [node["name"] for node in inspect(x)._trace.nodes] == ["AccumulateGrad"]
    assert x.grad is None
    assert kinds(inspect(lambda: torch.ones(2) + 1)) == ["forward"]
    assert inspect(lambda: None).text == "Inspector: nothing was recorded"


def test_a_graph_whose_saved_tensors_are_gone_ends_with_the_error() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    inspector = inspect(loss)
    assert kinds(inspector)[-1] == "error"
    assert kinds(inspector).count("error") == 1
    assert len(inspector._trace.nodes) == 3
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 4.0]


def test_an_error_of_the_function_is_its_callers() -> None:
    def fails() -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        inspect(fails)


@pytest.mark.parametrize(("what", "error", "text"), [
    (3, TypeError, "not int"),
    (torch.ones(2), ValueError, "does not require grad"),
])
def test_what_cannot_be_inspected(what: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        inspect(what)


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    running = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False, "hist_file": ":memory:"}))
    load_ipython_extension(running)
    yield running
    InteractiveShell.clear_instance()


CELL = """%%inspect shown
w = torch.tensor([3.0, 4.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()
"""


def test_a_cell(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["torch"] = torch
    shell.run_cell(CELL).raise_error()
    shown = shell.user_ns["shown"]
    assert kinds(shown)[0] == "forward"
    assert kinds(shown)[-1] == "backward_end"
    assert {"w", "loss"} <= names(shown)
    assert shell.user_ns["w"].grad.tolist() == [6.0, 8.0]
    assert shown.text in capsys.readouterr().out


def test_a_cell_that_fails_is_shown_up_to_there(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.user_ns["torch"] = torch
    shell.run_cell("%%inspect shown --lens all\ny = torch.ones(2) + 1\n1 / 0")
    assert kinds(shell.user_ns["shown"]) == ["forward", "error"]
    assert shell.user_ns["shown"].lens == "all"
    assert "ZeroDivisionError" in capsys.readouterr().out


def test_an_unknown_option_is_refused(shell: InteractiveShell) -> None:
    result = shell.run_cell("%%inspect --lens sideways\nran = True")
    assert "invalid choice: 'sideways'" in str(result.error_in_exec)
    assert "ran" not in shell.user_ns
