"""Passes that the engine runs in threads of its own are followed as on the CPU: on a device in Python, and on a GPU
where there is one."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.groups import has_torch

ROOT = Path(__file__).parents[3]
DETAILS = ("modules", "ops", "values", "arrays")
STORIES = "tests.parity.trace.device_stories"
Told = Callable[[str], Any]


def python_device() -> Any:
    """The module of the device in Python, which imports PyTorch."""
    return importlib.import_module("tests.parity.trace.python_device")


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


def has_accelerator() -> bool:
    """Whether PyTorch finds a GPU. Where it does not, the tests on one are not made: in this group none may skip."""
    return has_torch() and bool(importlib.import_module("torch").accelerator.is_available())


@pytest.fixture(scope="module", params=["in Python", *(["accelerator"] if has_accelerator() else [])])
def device(request, torch) -> str:
    """The name of a device."""
    if request.param == "accelerator":
        return str(torch.accelerator.current_accelerator().type)
    why = python_device().why_not()
    if why is not None:
        pytest.skip(why)
    return str(python_device().NAME)


@pytest.mark.parametrize("detail", DETAILS)
def test_the_trace_is_that_of_the_cpu(told, device, detail) -> None:
    """Event by event, for every story; and the program computes what it computes when nobody looks."""
    wrong = {name: found for name, found in told(device)["stories"].items() if name.endswith(f" {detail}")}
    assert len(wrong) >= 19
    assert {name: found for name, found in wrong.items() if found} == {}


def test_the_inspector_and_the_doctor_say_the_same_as_on_the_cpu(told, device) -> None:
    said = told(device)["tools"]
    here, there = ({name: re.sub(r"\[[\w.]+ \[", "[[", text) for name, text in said[where].items()}
                   for where in (device, "cpu"))
    assert here == there
    assert "nothing found" in here["healthy"]
    assert "grad-accumulates" in here["faulty"]
    assert "inplace-on-saved" in here["written"]
    assert "Inspector, " in here["inspector"]


def test_values_are_queued_and_waited_for_once(told, torch) -> None:
    """The program waits for the device no more often than without a recording, until this is over; and what the level
    of detail does not show is not copied."""
    if python_device().why_not() is not None:
        pytest.skip(python_device().why_not())
    counts = told(python_device().NAME)["counts"]
    assert len(counts) == 12
    waits = {name: (each["waits"], each["synchronize"]) for name, each in counts.items()}
    assert waits == dict.fromkeys(counts, (0, 1))
    queued = {name: each["queued"] for name, each in counts.items()}
    assert [queued[f"large {detail}"] for detail in DETAILS] == [2, 4, 18, 21]  # of matrices, only from "values" on
    assert queued["training modules"] == 6  # per step: the loss, the gradient that starts the pass, the loss again


def test_values_are_read_earlier_if_many_wait_and_not_while_a_graph_is_captured(told, torch) -> None:
    if python_device().why_not() is not None:
        pytest.skip(python_device().why_not())
    said = told(python_device().NAME)
    assert said["in_small_portions"] == []
    assert said["while_capturing"] == {"notes": [], "waits": 0, "synchronize": 0, "queued": 0}
    notes = [note["text"] for note in said["with_a_device_that_fails"]]
    assert notes == ["the recorder has missed something: RuntimeError: the device is out of order"]


def test_no_profile_function_is_left_in_the_thread_of_the_engine(told, device) -> None:
    assert told(device)["profile"] == "None"


@pytest.mark.parametrize("detail", DETAILS)
def test_a_graph_on_two_devices_is_followed_in_both_threads(told, device, detail) -> None:
    wrong = {name: found for name, found in told(device)["crossing"].items() if name.endswith(f" {detail}")}
    assert len(wrong) >= 3
    assert {name: found for name, found in wrong.items() if found} == {}
