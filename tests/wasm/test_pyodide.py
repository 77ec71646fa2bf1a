"""minigrad under WebAssembly: the op tables, and what the platform lacks."""

from __future__ import annotations

from tests.groups import require
from tests.wasm import pyodide
from tests.wasm.tables import close, outcomes

require("wasm", not pyodide.why_not(), pyodide.why_not())


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
