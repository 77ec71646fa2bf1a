"""Passes that the engine runs in threads of its own are followed as on the CPU: on a device in Python, and on a GPU
where there is one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
DETAILS = ("modules", "ops", "values")
STORIES = "tests.parity.trace.device_stories"
Told = Callable[[str], Any]


@pytest.fixture(scope="module")
def told(torch, tmp_path_factory) -> Told:
    """What the stories say about a device, told by a process of its own."""
    known: dict[str, Any] = {}

    def ask(device: str) -> Any:
        if device not in known:
            file = tmp_path_factory.mktemp("stories") / "told.json"
            done = subprocess.run([sys.executable, "-W", "error", "-m", STORIES, device, file],
                                  cwd=ROOT, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr[-3000:]
            known[device] = json.loads(file.read_text(encoding="utf-8"))
        return known[device]

    return ask


@pytest.fixture(scope="module", params=["in Python", "accelerator"])
def device(request, torch) -> str:
    """The name of a device."""
    if request.param == "accelerator":
        if not torch.accelerator.is_available():
            pytest.skip("PyTorch finds no GPU here")
        return str(torch.accelerator.current_accelerator().type)
    from tests.parity.trace import python_device  # noqa: PLC0415 (it needs PyTorch)

    why = python_device.why_not()
    if why is not None:
        pytest.skip(why)
    return python_device.NAME


@pytest.mark.parametrize("detail", DETAILS)
def test_the_trace_is_that_of_the_cpu(told, device, detail) -> None:
    """Event by event, for every story; and the program computes what it computes when nobody looks."""
    wrong = {name: found for name, found in told(device)["stories"].items() if name.endswith(f" {detail}")}
    assert len(wrong) >= 18
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize("detail", DETAILS)
def test_a_graph_on_two_devices_is_followed_in_both_threads(told, device, detail) -> None:
    wrong = {name: found for name, found in told(device)["crossing"].items() if name.endswith(f" {detail}")}
    assert len(wrong) >= 3
    assert {name: found for name, found in wrong.items() if found} == {}
