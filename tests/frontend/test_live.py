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


def test_live_numbers_equal_a_new_run(tmp_path: Path) -> None:
    said = checked([line(minigrad, seed) for seed in range(PROGRAMS)], tmp_path)
    assert said["complaints"] == [] and said["wrong"] == said["kept"] == 0
    assert said["values"] > 15_000 and said["live"] > 12_000


@pytest.mark.skipif(not installed("torch"), reason="PyTorch is not installed")
def test_live_numbers_of_programs_of_pytorch(tmp_path: Path) -> None:
    """minigrad's functions stand in for PyTorch's operators: none shows a number that PyTorch would not give."""
    torch = importlib.import_module("torch")
    reader = importlib.import_module("minigrad_widgets.torch_reader")
    said = checked([line(torch, seed, recorder=reader.record) for seed in range(100)], tmp_path)
    assert said["wrong"] == 0 and said["kept"] <= 4, said["complaints"]
    assert not any("in Python" in complaint for complaint in said["complaints"]), said["complaints"]
    assert said["live"] > 4_500
