"""What a node saved is shown as it was then, also where it was written before through another tensor."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import minigrad
from minigrad.recorder import record
from minigrad_widgets.torch_reader import record as read

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("write", ["y[0] = 7.", "y[:1].fill_(7.)", "y.detach()[0] = 7.", "y.data[0] = 7.",
                                   "alias = y.view(2); alias[0] = 7."])
@pytest.mark.parametrize(("lib", "recorder"), [(minigrad, record), (torch, read)], ids=["minigrad", "torch"])
def test_what_was_written_through_a_view_was_saved(write: str, lib: Any, recorder: Any) -> None:
    names = {"x": lib.tensor([1., 2.], requires_grad=True)}
    with recorder() as trace:
        exec(f"y = x * 1\n{write}\nz = y * y", names)
    saved = [node for node in trace.nodes if node["name"] == "MulBackward0"][-1]["saved"]
    assert [trace.values[value]["data"] for _, _, value in saved] == [[7., 2.], [7., 2.]]
