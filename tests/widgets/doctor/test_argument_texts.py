"""`explain` on ops and modules that get what they do not take."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from minigrad_widgets import explain
from tests.widgets.doctor.provoked_arguments import SAID


@pytest.mark.parametrize("name", SAID)
def test_what_is_provoked_is_explained(torch: Any, name: str) -> None:
    program, sentence = SAID[name]
    got = explain(program, torch)
    assert got.rule == name.split("__")[0].replace("_", "-")
    assert got.what.endswith(sentence)
    assert got.where[0].source == source_of(program) and 1 <= len(got.mends) <= 3
    assert all(mend.what.endswith(".") for mend in got.mends)


def source_of(program: Any) -> str:
    """The line that raises: the last one of these programs, but for the `if`."""
    lines = [line.strip() for line in inspect.getsource(program).splitlines() if line.strip() not in ("", "pass")]
    return lines[-1]


def test_the_module_is_named_by_its_path(torch: Any) -> None:
    class Net(torch.nn.Module):
        def __init__(net) -> None:
            super().__init__()
            net.blocks = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Linear(12, 3))

        def forward(net, x: Any) -> Any:
            return net.blocks(x)

    model = Net()
    got = explain(model, torch.ones(4, 8))
    assert got.what.endswith("model.blocks.1, Linear(in_features=12, out_features=3, bias=True), takes 12 features and "
                             "got 16.")
    assert got.where[0].source == "return net.blocks(x)"
    assert [mend.code for mend in got.mends] == ["torch.nn.Linear(16, 3)", "x = x.flatten(1)"]
