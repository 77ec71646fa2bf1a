"""Damaged files, new ones in each run: each is refused by the error that is meant for it.

`python -m tests.fuzz traces --minutes 60` looks for longer, and so for the other targets.
"""

from __future__ import annotations

import pytest

from minigrad.recorder import Trace
from tests.fuzz.differential.search import new_seed
from tests.fuzz.files.targets import TARGETS, cases, damaged_file, failure, failures

FILES = {"traces": 500, "schema": 500, "saved": 500, "archives": 300, "progress": 200, "manifests": 50, "folders": 20}
NEEDS = {"archives": "torch", "saved": "safetensors", "folders": "nbformat", "manifests": "nbformat",
         "progress": "nbformat"}


@pytest.mark.parametrize("name", FILES)
def test_every_damaged_file_is_refused_or_read(name):
    pytest.importorskip(NEEDS.get(name, "minigrad"))
    first = new_seed()
    found = list(failures(TARGETS[name], iter(range(first, first + FILES[name]))))
    assert found == [], f"python -m tests.fuzz {name} --files {FILES[name]} --seed {first} tries them again"


def test_every_target_is_tried():
    pytest.importorskip("nbformat")
    assert {*FILES, "pages"} == set(TARGETS)  # tests/browser tries the pages


@pytest.mark.parametrize("path", [each for each in cases() if each.parent.name != "pages"],
                         ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_failed_once(path):
    pytest.importorskip(NEEDS.get(path.parent.name, "minigrad"))
    assert failure(TARGETS[path.parent.name], path.read_bytes()) is None


@pytest.mark.parametrize("name", ["traces", "schema", "progress"])
def test_a_file_is_made_from_its_seed(name):
    pytest.importorskip(NEEDS.get(name, "minigrad"))
    assert damaged_file(TARGETS[name], 3) == damaged_file(TARGETS[name], 3)
    made = {damaged_file(TARGETS[name], seed) for seed in range(50)}
    assert len(made) > 40
    for whole in TARGETS[name].whole():
        TARGETS[name].use(whole)


def test_another_error_is_found(monkeypatch):
    real = Trace.from_json

    def careless(text):
        try:
            return real(text)
        except ValueError as error:
            raise KeyError(str(error)) from None

    monkeypatch.setattr(Trace, "from_json", careless)
    found = list(failures(TARGETS["traces"], iter(range(50))))
    assert len(found) > 10
    assert all(how.startswith("KeyError") for _, how in found)
