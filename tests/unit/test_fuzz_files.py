"""Damaged files, new ones in each run: each is refused by the error that is meant for it.

`python -m tests.fuzz traces --minutes 60` looks for longer; so do `saved` and `archives`.
"""

from __future__ import annotations

import time

import pytest

from minigrad.recorder import Trace
from tests.fuzz.differential.search import new_seed
from tests.fuzz.files.targets import TARGETS, damaged_file, failures

FILES = 1000


@pytest.mark.parametrize("name", TARGETS)
def test_every_damaged_file_is_refused_or_read(name):
    if name == "archives":
        pytest.importorskip("torch")
    if name != "traces":
        pytest.importorskip("safetensors", reason="save and load need the extra io")
    first = new_seed()
    found = list(failures(TARGETS[name], iter(range(first, first + FILES)), time.monotonic))
    assert found == [], f"python -m tests.fuzz {name} --files {FILES} --seed {first} tries them again"


def test_a_file_is_made_from_its_seed():
    assert damaged_file(TARGETS["traces"], 3) == damaged_file(TARGETS["traces"], 3)
    made = {damaged_file(TARGETS["traces"], seed) for seed in range(50)}
    assert len(made) > 40
    for whole in TARGETS["traces"].whole():
        TARGETS["traces"].use(whole)


def test_another_error_is_found(monkeypatch):
    real = Trace.from_json

    def careless(text):
        try:
            return real(text)
        except ValueError as error:
            raise KeyError(str(error)) from None

    monkeypatch.setattr(Trace, "from_json", careless)
    found = list(failures(TARGETS["traces"], iter(range(50)), time.monotonic))
    assert len(found) > 10
    assert all(how.startswith("KeyError") for _, how in found)
