"""What a compiled step shows of itself; docs/compiler.md shows the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad.compiler import GraphBreak
from minigrad.compiler.program.passes import PASSES, common_subexpression_elimination, dead_code_elimination
from minigrad.compiler.program.statements import Memory, Program, Statement, View
from minigrad.utils.checkpoint import checkpoint

ROOT = Path(__file__).parents[3]


def shown() -> Any:
    w = torch.ones(3, requires_grad=True)

    def step(x: Any) -> Any:
        w.grad = None
        loss = (torch.relu(x * w) * 2.0).sum()
        loss.backward()
        return loss

    compiled = torch.compile(step, backend="numpy")
    for i in range(3):
        compiled(torch.tensor([1.0, -1.0, float(i)]))
    return compiled


def test_the_source_names_ops_and_lines() -> None:
    compiled = shown()
    lines = [line for line in compiled.source.splitlines() if "#" in line]
    assert len(lines) == compiled.explain().statements == len(compiled.graph)
    assert all("test_shown.py:" in line for line in lines)
    assert "multiply(x, w, out=t1)" in lines[0] and "# Mul, " in lines[0]
    assert compiled.graph[0]["writes"] == ["t1"] and compiled.graph[0]["reads"] == ["x", "w"]


def test_passes_memory_and_reasons() -> None:
    compiled = shown()
    names = [name for name, _ in compiled.passes]
    assert names[0] == "traced" and set(PASSES) < set(names)
    assert len(compiled.passes[0][1]) == compiled.explain().traced > compiled.explain().statements
    assert "bytes hold what would take" in compiled.memory and "█" in compiled.memory
    assert "guard: w.requires_grad is True" in compiled.why
    assert str(torch.compile.explain(compiled)).startswith("3 calls; 1 program(s) on numpy, checked by ")


def statement(name: str, out: View, *args: Any) -> Statement:
    return Statement("ufunc", name, getattr(np, name), args, (out,))


def view(kind: str = "temporary") -> View:
    array = np.zeros(4)
    return View(Memory(array, kind, "x" if kind == "input" else ""), (4,), (8,), 0, array.dtype)


def test_dead_code_and_common_subexpressions() -> None:
    x, a, b, c, dead = view("input"), view(), view(), view(), view()
    program = Program((statement("exp", a, x), statement("exp", b, x), statement("log", dead, x),
                       statement("add", c, a, b)), (c,))
    assert [s.out for s in dead_code_elimination(program).statements] == [a, b, c]
    found = common_subexpression_elimination(dead_code_elimination(program)).statements
    assert [s.name for s in found] == ["exp", "add"] and found[1].args == (a, a)


def test_a_value_that_changes_in_between_is_no_common_subexpression() -> None:
    x, a, b, c = view("input"), view(), view(), view()
    program = Program((statement("exp", a, x), statement("add", x, x, 1.0), statement("exp", b, x),
                       statement("add", c, a, b)), (c,))
    assert len(common_subexpression_elimination(program).statements) == 4


def test_a_product_of_few_rows_is_turned() -> None:
    """It is written column by column, and the sum with the bias reads it there."""
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(128, 65), torch.rand(8, 128)
    with torch.no_grad():
        expected = torch.relu(layer(x))
        compiled = torch.compile(lambda x: torch.relu(layer(x)), backend="numpy", fullgraph=True)
        for _ in range(3):
            found = compiled(x)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-4, 1e-6)
    lines = [line.partition("#")[0].strip() for line in compiled.source.splitlines()]
    assert lines[2:5] == ["dot(layer_weight, x_T, out=t1_T)", "copyto(t2, t1)", "add(t2, layer_bias, out=t3)"]
    assert found.is_contiguous()


def blocks(recompute: Any, size: int = 1000) -> Any:
    """A compiled step of four blocks, each run by `recompute`."""
    torch.manual_seed(0)
    w = torch.rand(size, requires_grad=True)

    def block(x: Any) -> Any:
        return torch.sin(torch.exp(torch.sin(x * w)))

    def step(x: Any) -> None:
        w.grad = None
        for _ in range(4):
            x = recompute(block, x)
        x.sum().backward()

    compiled = torch.compile(step, backend="numpy", fullgraph=True)
    for _ in range(2):
        compiled(torch.ones(size))
    return compiled


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_checkpoint_is_recomputed_in_the_program_too(use_reentrant: bool) -> None:
    plain, saving = blocks(lambda block, x: block(x)), blocks(
        lambda block, x: checkpoint(block, x.requires_grad_(), use_reentrant=use_reentrant))
    again = [line for line in saving.source.splitlines() if line.endswith(", recomputed")]
    assert [line.split("(")[0].strip() for line in again] == ["multiply", "sin", "exp"] * 4
    assert "recomputed" not in plain.source and "state" not in saving.source  # nothing is drawn: no state is put back
    first, last = (compiled.inspection()["steps"][-1]["bytes"] for compiled in (plain, saving))
    assert last < 0.75 * first
    ops = [op for op in saving.inspection()["ops"] if op["phase"] == "recompute"]
    assert {op["name"] for op in ops} == {"Mul", "Sin", "Exp"}


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_no_loop_computes_before_a_pass_what_it_recomputes(use_reentrant: bool) -> None:
    pytest.importorskip("numba")
    w = torch.rand(1000, requires_grad=True)

    def block(x: Any) -> Any:
        return torch.exp((torch.sin(x * w)).sum() * x)

    def step(x: Any) -> None:
        for _ in range(4):
            x = checkpoint(block, x, use_reentrant=use_reentrant)
        x.sum().backward()

    compiled = torch.compile(step, backend="numba", fullgraph=True)
    for _ in range(2):
        compiled(torch.ones(1000, requires_grad=True))
    record = compiled.inspection()
    ran = [record["statements"][i]["ops"] for i in record["steps"][-1]["statements"]]
    phases = [{record["ops"][op]["phase"] for op in ops} for ops in ran]
    assert {"recompute"} in phases and not any({"forward", "recompute"} <= each for each in phases)
    first = next(i for i, each in enumerate(phases) if "recompute" in each)
    assert not any("forward" in each for each in phases[first:])


def test_one_recomputation_computes_nothing_twice() -> None:
    def twice(block: Any, x: Any) -> Any:
        return checkpoint(lambda x: block(x) * block(x), x.requires_grad_(), use_reentrant=False)

    again = [line for line in blocks(twice).source.splitlines() if line.endswith(", recomputed")]
    assert [line.split("(")[0].strip() for line in again] == ["multiply", "sin", "exp", "sin"] * 4


def test_the_compiler_is_loaded_when_it_is_asked_for() -> None:
    code = "import sys, minigrad, minigrad.nn, minigrad.optim; assert 'minigrad.compiler' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_page_shows_what_is_printed(number: int, tmp_path: Path) -> None:
    """The programs of docs/compiler.md print what stands under them."""
    if number == 3:
        pytest.importorskip("numba", reason="the extra `fast` is not installed")
    page = (ROOT / "docs/compiler.md").read_text(encoding="utf-8")
    program = page.split("```python\n")[number].split("```", 1)[0]
    expected = page.split("```text\n")[number].split("```", 1)[0]
    file = tmp_path / "step.py"
    file.write_text(program, encoding="utf-8")
    printed = subprocess.run([sys.executable, str(file)], check=True, cwd=ROOT, capture_output=True, text=True).stdout
    assert printed == expected


CELL = """
def step(x):
    w.grad = None
    loss = (w * x).sum(){ending}
    loss.backward()
    return loss
"""


@pytest.mark.parametrize(("file", "name"), [("/tmp/ipykernel_71/1234.py", "cell"), ("<ipython-input-3-ab12>", "cell"),
                                            ("<stdin>", "<stdin>"), ("<string>", "<string>")])
def test_lines_of_cells_and_of_what_is_typed_are_named(file: str, name: str) -> None:
    space: dict[str, Any] = {"w": torch.tensor([1.0, 2.0], requires_grad=True)}
    exec(compile(CELL.format(ending=""), file, "exec"), space)
    step = torch.compile(space["step"], backend="numpy")
    for _ in range(2):
        step(torch.ones(2))
    origins = [line.rpartition(", ")[2] for line in step.source.splitlines() if "#" in line]
    assert origins and set(origins) <= {f"{name}:4", f"{name}:5"}


def test_a_break_in_a_cell_names_its_line() -> None:
    space: dict[str, Any] = {"w": torch.tensor([1.0, 2.0], requires_grad=True)}
    exec(compile(CELL.format(ending=" * w.sum().item()"), "/tmp/ipykernel_71/1234.py", "exec"), space)
    step = torch.compile(space["step"], backend="numpy", fullgraph=True)
    step(torch.ones(2))
    with pytest.raises(GraphBreak, match="at line 4 of a cell$"):
        step(torch.ones(2))
