"""The doctor in a notebook: `%%explain`, `explain()` after a cell, the card and its button."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from minigrad_widgets import Inspector, explain, load_ipython_extension
from minigrad_widgets.notebook.explain import changed_and_read
from minigrad_widgets.notebook.explanation_card import bundle, with_button
from minigrad_widgets.notebook.magics import explain_magic

CELL = "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.add_(1)\ny.sum().backward()"


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    running = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False, "hist_file": ":memory:"}))
    load_ipython_extension(running)
    running.run_cell("import minigrad as torch\nfrom minigrad_widgets import explain")
    yield running
    InteractiveShell.clear_instance()


def test_a_cell_that_raises_is_explained(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(f"%%explain\n{CELL}").raise_error()
    said = capsys.readouterr().out
    assert said.startswith("inplace-on-saved\n  RuntimeError: one of the variables needed")
    assert "y.add_(1)  # changed here" in said and "Traceback" not in said
    assert shell.user_ns["y"].tolist() == pytest.approx([3.71828] * 3)


def test_the_cell_before_is_run_again(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.run_cell(CELL)
    capsys.readouterr()
    shell.run_cell("why = explain()").raise_error()
    assert capsys.readouterr().out == "explain runs the cell before once more, under the recorder.\n"
    assert shell.user_ns["why"].rule == "inplace-on-saved"
    assert shell.user_ns["why"].where[0].source == "y.add_(1)"


def test_a_cell_that_changes_what_it_reads_is_asked_for(shell: InteractiveShell) -> None:
    shell.run_cell("count = 0")
    shell.run_cell("count = count + 1\ntorch.ones(3).sum().backward()")
    result = shell.run_cell("explain()")
    assert "changes count, which it also reads" in str(result.error_in_exec)
    shell.run_cell("count = count + 1\ntorch.ones(3).sum().backward()")
    shell.run_cell("why = explain(rerun=True)").raise_error()
    assert (shell.user_ns["why"].rule, shell.user_ns["count"]) == ("no-graph-loss", 3)


def test_there_is_nothing_to_explain(shell: InteractiveShell) -> None:
    shell.run_cell("1 + 1")
    assert "the cell before has raised nothing" in str(shell.run_cell("explain()").error_in_exec)
    with pytest.raises(UsageError, match="takes no options, and got '--torch'"):
        explain_magic("--torch", CELL)


def test_without_a_notebook() -> None:
    with pytest.raises(RuntimeError, match="this is no notebook"):
        explain()


def test_an_unknown_error_goes_on(shell: InteractiveShell) -> None:
    result = shell.run_cell("%%explain\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)


@pytest.mark.parametrize(("cell", "names"), [
    ("x = 1\ny = x", []), ("x = x + 1", ["x"]), ("x += 1", ["x"]), ("y = x\nx = 2", ["x"]), ("f(x)", []),
    ("for i in range(3):\n    total = total + i", ["total"]),
])
def test_what_a_cell_changes_and_reads(cell: str, names: list[str]) -> None:
    assert [n for n in changed_and_read(cell) if n != "i"] == names


def test_the_button_opens_an_inspector_at_the_culprit(shell: InteractiveShell) -> None:
    shell.run_cell(CELL)
    shell.run_cell("why = explain()").raise_error()
    why = shell.user_ns["why"]
    box = with_button(why)
    box.children[1].click()
    (inspector,) = [child for child in box.children if isinstance(child, Inspector)]
    assert inspector.step == why.step and "y.add_(1)" in box.children[0].value
    data = bundle(why)
    assert {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"} <= data.keys()
