"""Live numbers in the browser: 300 random programs, computed again by the front end, against new runs in Python."""

from __future__ import annotations

import importlib
import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest

import minigrad
from minigrad.trace.expression import expression_text
from tests.frontend.live_detours import DETOURS, NUMBERS, READERS, both
from tests.frontend.live_programs import pair
from tests.frontend.test_frontend import FRONTEND
from tests.groups import has_node, installed, require

require("node", has_node(), "node and npm are not installed")
PROGRAMS = 300


def checked(lines: list[str], folder: Path) -> Any:
    """What widgets/frontend/test/live_check.ts says of pairs of traces."""
    pairs, script = folder / "pairs.jsonl", folder / "live_check.mjs"
    pairs.write_text("\n".join(lines), encoding="utf-8")
    build = [str(FRONTEND / "node_modules" / ".bin" / "esbuild"), "test/live_check.ts", "--bundle", "--platform=node",
             "--format=esm", "--log-level=warning", f"--outfile={script}"]
    subprocess.run(build, cwd=FRONTEND, check=True)
    done = subprocess.run(["node", str(script), str(pairs)], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def line(lib: Any, seed: int, **options: Any) -> str:
    """A program as a line of the file: its trace with some numbers, that with others, and these."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recorded, other, numbers = pair(lib, seed, **options)
    texts = [expression_text(each, str) for each in recorded.expressions]
    return json.dumps({"seed": seed, "recorded": recorded.to_json(), "other": other.to_json(), "numbers": numbers,
                       "texts": texts})


def followed(seed: int) -> str:
    """A program as a line of the file: its trace, and that of a run in which one entry of a leaf is NaN."""
    leaf, at = "abc"[seed % 3], seed % 2
    recorded, other, _ = pair(minigrad, seed, nan=(leaf, at))
    return json.dumps({"seed": seed, "recorded": recorded.to_json(), "other": other.to_json(), "numbers": {},
                       "texts": [], "followed": {"leaf": leaf, "at": at}})


def test_what_a_number_reaches(tmp_path: Path) -> None:
    said = checked([followed(seed) for seed in range(100)], tmp_path)
    assert said["complaints"] == [] and said["values"] > 1_000 and said["live"] > 500


def test_live_numbers_equal_a_new_run(tmp_path: Path) -> None:
    said = checked([line(minigrad, seed) for seed in range(PROGRAMS)], tmp_path)
    assert said["complaints"] == [] and said["wrong"] == said["kept"] == 0
    assert said["values"] > 15_000 and said["live"] > 12_000


@pytest.mark.parametrize("library", ["minigrad", "torch"])
def test_numbers_that_take_another_way_are_right_or_marked(library: str, tmp_path: Path) -> None:
    """What an op, a gradient or memory leads to is computed, or keeps its numbers and says so; what went through Python
    is spoken of."""
    m, options = importlib.import_module(library), {}
    if library == "torch":
        options["recorder"] = importlib.import_module("minigrad_widgets.torch_reader").record
    lines = []
    for program in (*DETOURS, *READERS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recorded, other = both(m, program, **options)
        lines.append(json.dumps({"seed": program.__name__, "recorded": recorded.to_json(), "other": other.to_json(),
                                 "numbers": {name: new for name, (_, new) in NUMBERS.items()}, "texts": []}))
    said = checked(lines[:len(DETOURS)], tmp_path)
    assert said["wrong"] == 0 and said["kept"] <= 9 and said["live"] > 400, said["complaints"]
    said = checked(lines[len(DETOURS):], tmp_path)
    assert said["silent"] == [] and said["read"] >= len(READERS)


@pytest.mark.skipif(not installed("torch"), reason="PyTorch is not installed")
def test_live_numbers_of_programs_of_pytorch(tmp_path: Path) -> None:
    """minigrad's functions stand in for PyTorch's operators: none shows a number that PyTorch would not give."""
    torch = importlib.import_module("torch")
    reader = importlib.import_module("minigrad_widgets.torch_reader")
    said = checked([line(torch, seed, recorder=reader.record) for seed in range(100)], tmp_path)
    assert said["wrong"] == 0 and said["kept"] <= 6, said["complaints"]
    assert not any("in Python" in complaint for complaint in said["complaints"]), said["complaints"]
    assert said["live"] > 4_500
