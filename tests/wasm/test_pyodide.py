"""minigrad under WebAssembly: the op tables, what the platform lacks, and all lessons."""

from __future__ import annotations

import json

import pytest

from tests.groups import require
from tests.lessons.play import EXECUTED, PROCESSES
from tests.wasm import pyodide
from tests.wasm.in_pyodide import printed
from tests.wasm.tables import close, outcomes

require("node", not pyodide.why_not(), pyodide.why_not())


def test_every_line_of_the_tables(tmp_path):
    there = pyodide.run("import json\nfrom tests.wasm.tables import outcomes\n"
                        "json.dump(outcomes(), open('/job/result.json', 'w'))", tmp_path)
    here = {name: found for name, found in outcomes().items() if name in there}
    assert len(here) > 900
    assert {name: (here[name], there[name]) for name in here if not close(here[name], there[name])} == {}


LIMITS = """
import json
import minigrad as torch
from minigrad.recorder import Trace
from minigrad.utils.data import DataLoader, TensorDataset

class Nested(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, left):
        ctx.left = left
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        if ctx.left:
            with torch.enable_grad():
                deep(ctx.left - 1)
        return g, None

def deep(left):
    x = torch.ones(1, requires_grad=True)
    Nested.apply(x, left).backward()
    return x.grad.tolist()

def error(call, *args):
    try:
        return call(*args)
    except (RecursionError, ValueError) as error:
        return type(error).__name__ + ": " + str(error)

found = {
    "nested": deep(40), "too deep": error(deep, 2_000),
    "loader": [batch[0].tolist() for batch in DataLoader(TensorDataset(torch.arange(6)), 2, num_workers=2)],
    "deep JSON": error(Trace.from_json, "[" * 100_000),
}
json.dump(found, open("/job/result.json", "w"))
"""


def test_what_the_platform_lacks(tmp_path):
    found = pyodide.run(LIMITS, tmp_path)
    assert found["nested"] == [1.0] and found["loader"] == [[0, 1], [2, 3], [4, 5]]
    assert "this platform can start no thread" in found["too deep"]
    assert found["deep JSON"].startswith("ValueError") and "nested more than 1000 deep" in found["deep JSON"]


PLAY = """
import json, os
from pathlib import Path
from tests.wasm.in_pyodide import play
os.makedirs("/lesson")
os.chdir("/lesson")
Path("/job/result.json").write_text(json.dumps(play(Path("/src/tests/lessons/executed/NAME.ipynb"))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(path.stem for path in EXECUTED.glob("*.ipynb")))
def test_a_lesson_says_the_same(tmp_path, name):
    there = pyodide.run(PLAY.replace("NAME", name), tmp_path, pyodide.PACKAGES)
    cells = json.loads((EXECUTED / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    here = [printed(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]
    if name[:2] in PROCESSES:
        assert "no browser can. Run the lesson in JupyterLab" in there[0][-1]
    else:
        assert [(a, b) for a, b in zip(there, here, strict=True) if a != b] == []
