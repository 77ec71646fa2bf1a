"""`explain` on the errors that people who train with PyTorch ask about most, and on those that it does not know."""

from __future__ import annotations

import gc
import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from minigrad_widgets import explain
from minigrad_widgets.doctor.argument_texts import ARGUMENTS
from minigrad_widgets.doctor.library import Library
from minigrad_widgets.doctor.recording import is_ours
from tests.widgets.doctor.provoked_arguments import SAID
from tests.widgets.doctor.raised import PROGRAMS

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]  # some programs also warn, as such programs do

for family in ("shapes", "values", "setups", "bodies"):
    importlib.import_module(f"tests.widgets.doctor.raised.{family}")

# what no program here can raise: it takes a GPU, a killed process, or a start of Python; and PyTorch's older sentences
QUOTED = [
    "CUDA error: device-side assert triggered", "Attempting to unscale FP16 gradients.",
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start "
    "method", "DataLoader worker (pid 77) is killed by signal: Killed.",
    "An attempt has been made to start a new process before the current process has finished its bootstrapping phase.",
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_people_ask_about_is_explained(name: str) -> None:
    if "checkpoint" in name:
        gc.collect()  # PyTorch 2.6 leaves the hooks of a checkpoint that failed until its frames are gone
    each = PROGRAMS[name]
    got = explain(each.program)
    text = str(got)
    assert got.rule == each.rule
    assert [said for said in each.says if said not in text] == []
    assert "# <-" in got.where[0].source
    assert each.mend in "\n".join(mend.code for mend in got.mends) and got.mends
    assert not re.search(r"\{\w+\}", got.what + "".join(mend.code for mend in got.mends))


def test_the_layer_to_change_is_named_where_it_was_made() -> None:
    for name in ("images_of_another_size", "grey_images_into_a_colour_network", "an_lstm_wider_than_its_words",
                 "attention_of_another_width", "batch_norm_of_another_width", "a_token_beyond_the_vocabulary"):
        got = explain(PROGRAMS[name].program)
        assert [place.role for place in got.where if "# made" in place.source] == ["made here"], name


def test_there_are_enough() -> None:
    assert len(PROGRAMS) >= 80


def test_every_entry_is_provoked() -> None:
    texts = list(QUOTED)
    for program in [*(program for program, _ in SAID.values()), *(each.program for each in PROGRAMS.values())]:
        with pytest.raises(Exception, match="") as raised:
            program(*[torch] * len(inspect.signature(program).parameters))
        texts.append(str(raised.value))
    unheard = [entry.words for entry in ARGUMENTS if not any(re.search(entry.words, text) for text in texts)]
    assert unheard == []


def test_an_unknown_error_still_says_where_in_what_and_with_what() -> None:
    class Net(torch.nn.Module):
        def __init__(net) -> None:
            super().__init__()
            net.head = torch.nn.Linear(2, 2)

        def forward(net, x: Any) -> Any:
            return torch.linalg.cholesky(x)

    model, x = Net(), -torch.eye(3)
    with pytest.raises(RuntimeError, match="linalg.cholesky") as raised:
        explain(lambda: model(x))
    (note,) = raised.value.__notes__
    assert note.startswith("explain does not know this error.\n  It was raised here: test_raised.py:")
    assert "return torch.linalg.cholesky(x)" in note
    assert "x: float32 of shape (3, 3)" in note and "module: model, Net" in note


def test_an_attribute_of_something_else_is_not_known() -> None:
    class Config:
        pass

    with pytest.raises(AttributeError) as raised:
        explain(lambda: Config().width + torch.ones(1))  # type: ignore[attr-defined]  # this is the error
    assert "explain does not know this error." in raised.value.__notes__[0]


def test_whose_an_error_is() -> None:
    def of(program: Callable[[], Any]) -> bool:
        with pytest.raises(Exception, match="") as raised:
            program()
        return is_ours(raised.value)

    assert not of(lambda: torch.ones(2) + torch.ones(3))
    assert of(lambda: Library("no_such_library"))  # raised in Python's own code, which the kit called
