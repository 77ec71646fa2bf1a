"""PyTorch's private names are in one table, asked for when they are first used, and what is missing is said."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torch

READER = Path(__file__).parents[3] / "widgets" / "minigrad_widgets" / "torch_reader"
# Python's, and the recorder's:
OWN = {"_getframe", "_current_frames", "_replace", "_new_observer", "_stop", "_times", "_detail"}


@pytest.fixture
def private(torch):
    return importlib.import_module("minigrad_widgets.torch_reader.private")


def test_every_private_name_is_in_the_table(private) -> None:
    known = (READER / "private.py").read_text()
    for path in READER.glob("*.py"):
        used = {node.attr for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")}
        assert {name for name in used - OWN if name not in known} == set(), path.name


def test_a_version_without_a_name_loses_what_it_is_for(private, monkeypatch) -> None:
    monkeypatch.delattr("torch.autograd.graph._engine_run_backward")
    names = private.Names()
    names.ask()
    assert names.engine is None
    assert "_engine_run_backward" in names.missing["engine"]
    assert names.module_call is not None and "module_call" not in names.missing


def test_the_table_says_what_each_is_for(private) -> None:
    rows = list(private.table())
    assert len(rows) > 25 and all(row.use.startswith("`") or "class" in row.use for row in rows)
    missing = {row.name for row in rows if row.lost}
    assert missing <= {"apply", "stored"}, [row for row in rows if row.lost]


def test_the_command_prints_it(torch) -> None:
    printed = subprocess.run([sys.executable, "-m", "minigrad_widgets.torch_reader"], capture_output=True, text=True,
                             check=True).stdout
    assert printed.startswith(f"PyTorch {torch.__version__} gives ") and "running_pass" in printed


def test_names_are_found_in_any_mode(torch, private) -> None:
    def refuse(*unused: object) -> object:
        raise AssertionError("the user's own code ran")

    plain = private.Names()
    plain.ask()
    with torch.inference_mode(), torch.autograd.graph.saved_tensors_hooks(refuse, refuse), torch.device("meta"):
        names = private.Names()
        names.ask()
    assert names.missing.keys() == plain.missing.keys()


def test_packing_is_seen_and_leaves_no_trace(torch, private) -> None:
    packing = private.PRIVATE.packing
    assert not packing()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert packing()
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        assert not packing()
        with pytest.raises(RuntimeError, match="not here"):
            torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
    assert torch.equal(x.grad, torch.full((2,), 2.))
