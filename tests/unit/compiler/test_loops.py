"""Statements in loops compute what they compute one by one. Python runs most of these loops, in numba's place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn
from minigrad.compiler import compiled, variant
from minigrad.compiler.loops.loop_source import loop_fusion
from minigrad.compiler.program.statements import Memory, Program, Statement, View, contiguous_strides
from tests.unit.compiler.steps import Made, compare, loops_in_python
from tests.unit.compiler.test_same_as_eager import MODELS, RULES, learner, mlp

STEPS = 12
SLOW = {"lstm", "attention"}


@pytest.fixture
def python_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python runs what numba would compile."""
    monkeypatch.setattr(variant, "optional", lambda name, extra: SimpleNamespace(functions_of=loops_in_python))
    monkeypatch.setattr(compiled, "optional", lambda name, extra: None)


@pytest.mark.parametrize("model", MODELS)
def test_models(model: str, python_loops: None) -> None:
    step = compare(MODELS[model], steps=4 if model in SLOW else STEPS, backend="numba", tolerance=1e-8)
    assert "loop1(" in step.source


@pytest.mark.parametrize("rule", RULES)
def test_optimizers(rule: str, python_loops: None) -> None:
    compare(learner(mlp(), RULES[rule]), steps=STEPS, backend="numba", programs=None, tolerance=1e-8)


@pytest.mark.parametrize("model", ["dropout", "layer norm, gelu", "convolution", "batch norm"])
def test_machine_code(model: str) -> None:
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    compare(MODELS[model], steps=50, dtype="float32", backend="numba")


@pytest.mark.parametrize("options", [
    {"kernel_size": 3, "padding": 1}, {"kernel_size": (2, 3)}, {"kernel_size": 3, "stride": 2, "padding": (0, 1)},
    {"kernel_size": 2, "dilation": 2}, {"kernel_size": 2, "stride": (2, 1), "dilation": (1, 2), "padding": 1}], ids=str)
def test_convolutions(options: dict[str, Any], python_loops: None) -> None:
    """Of all windows, and also of what goes back to the input, which is a convolution where the stride is 1."""
    def make() -> Made:
        inner, outer = nn.Conv2d(2, 3, **options), nn.Conv2d(3, 2, 2)

        def step(x: Any) -> Any:
            inner.zero_grad()
            outer.zero_grad()
            loss = torch.tanh(outer(torch.relu(inner(x)))).mean()
            loss.backward()
            return loss

        return Made(step, lambda i: (torch.randn(32, 2, 5, 6),), [*inner.parameters(), *outer.parameters()])

    step = compare(make, steps=3, backend="numba", tolerance=1e-8)
    assert step.source.count("# Convolution") >= 2 and "dot" not in step.source and "matmul" not in step.source


def test_functions_keep_nan_and_infinity() -> None:
    """As NumPy's, to a few units in the last place: infinite results, those below the least normal number, NaN."""
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    far = [0.0, -0.0, 1e-30, 0.5, -0.5, 20.0, 88.5, 88.8, 200.0, -87.0, -90.0, -103.0, -200.0, np.inf, -np.inf, np.nan]
    rng = np.random.default_rng(0)

    def step(x: Any, y: Any) -> tuple[Any, ...]:
        masked = torch.where(x > 0, x, torch.zeros(16))
        return (torch.exp(x) + 0, torch.tanh(x) * 1.5, torch.maximum(x, y) + 0, torch.minimum(x, y) - 1, masked * 2,
                torch.relu(x) - y, torch.sqrt(x) / y, torch.log(x) * y)

    made = torch.compile(step, backend="numba")
    for i in range(6):
        x = torch.tensor(far if i % 2 else rng.standard_normal(16) * 30, dtype=torch.float32)
        y = torch.tensor(rng.permutation(far), dtype=torch.float32)
        pairs = list(zip(made(x, y), step(x, y), strict=True))
        with np.errstate(under="ignore"):  # of NumPy's own comparison
            for found, expected in pairs:
                np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-6, atol=1e-44)
    assert made.explain().variants == 1 and "exp(" in made.source


def test_a_maximum_of_a_row_sees_nan() -> None:
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    made = torch.compile(lambda x: (x * 2).amax(1) + x.sum(1), backend="numba")
    for i in range(4):
        x = torch.arange(40.0).reshape(4, 10) - i
        x[1, 3] = float("nan")
        x[2, 5] = float("-inf")
        found = made(x)
        assert found[1].isnan() and not found[3].isnan() and found[2] == float("-inf")


def array(*shape: int, kind: str = "temporary", name: str = "") -> View:
    memory = Memory(np.zeros(shape, np.float32), kind, name)
    return View(memory, shape, contiguous_strides(shape, 4), 0, np.dtype(np.float32))


def call(name: str, out: View, *args: Any, **options: Any) -> Statement:
    root, _, method = name.partition(".")
    function = getattr(getattr(np, root), method) if method else getattr(np, root)
    return Statement("reduce" if method else "ufunc", name, function, args, (out,), options)


def names(program: Program) -> list[str]:
    return [s.name for s in program.statements]


def test_a_softmax_is_one_loop() -> None:
    """Three walks over a row: its maximum, the sum, the quotients; nothing but the result is written."""
    x, top, less, power, total, out = array(4, 8, kind="input"), array(4, 1), array(4, 8), array(4, 8), array(
        4, 1), array(4, 8)
    program = loop_fusion(Program((
        call("maximum.reduce", top, x, axis=1, keepdims=True), call("subtract", less, x, top), call("exp", power, less),
        call("add.reduce", total, power, axis=1, keepdims=True), call("divide", out, power, total)), (out,)))
    loop = program.statements[0]
    assert names(program) == ["loop"] and loop.function.code.count("for j in range(8)") == 3
    assert out.memory in {v.memory for v in loop.outs} and less.memory not in {v.memory for v in loop.outs}


def test_a_sum_over_all_rows_is_too_late_for_its_loop() -> None:
    x, double, total, out = array(4, 8, kind="input"), array(4, 8), array(8), array(4, 8)
    program = loop_fusion(Program((call("multiply", double, x, x), call("add.reduce", total, double, axis=0),
                             call("subtract", out, double, total)), (out,)))
    assert names(program) == ["loop", "subtract"]


def test_views_of_one_memory_that_overlap_stay_apart() -> None:
    """Each reads what the one before has written, one element further on."""
    x, y = array(9, kind="input", name="x"), array(8, kind="input", name="y")
    first, second = x._replace(shape=(8,)), x._replace(shape=(8,), offset=4)
    program = loop_fusion(Program((call("add", second, first, y), call("multiply", y, second, y)), ()))
    assert names(program) == ["loop"]  # the product reads where the sum has written
    program = loop_fusion(Program((call("add", second, y, y), call("multiply", y, first, y)), ()))
    assert names(program) == ["add", "multiply"]


def test_parts_of_one_memory_that_no_element_is_in_twice_share_a_loop() -> None:
    """As in a pool, whose gradients go to each place of a window by turns."""
    x, y = array(2, 8, kind="input", name="x"), array(2, 4, kind="input", name="y")
    even = x._replace(shape=(2, 4), strides=(32, 8))
    for offset, expected in ((4, ["loop"]), (0, ["loop"]), (8, ["add", "multiply"])):
        shifted = even._replace(offset=offset)
        program = loop_fusion(Program((call("add", even, y, y), call("multiply", shifted, y, y)), ()))
        assert names(program) == expected


def test_what_others_see_is_not_written_before_what_may_fail() -> None:
    x, y, part = array(8, kind="input", name="x"), array(8, kind="input", name="y"), array(8)
    lookup = Statement("call", "getitem", np.ndarray.__getitem__, (x, np.array([9])), (array(1),))
    program = loop_fusion(Program((call("multiply", part, x, x), call("add", x, x, part), lookup,
                             call("add", y, y, part)), ()))
    assert names(program) == ["loop", "getitem", "add"]


def test_loops_that_are_alike_are_one() -> None:
    def make() -> Made:
        layers = [nn.Linear(6, 6) for _ in range(4)]

        def step(x: Any) -> Any:
            for layer in layers:
                x = torch.relu(layer(x))
            return x.detach().sum()

        return Made(torch.no_grad()(step), lambda i: (torch.full((3, 6), 0.1 * i),), [])

    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    step = compare(make, steps=4, backend="numba")
    assert step.source.count("\n    loop1(") == 3 and step.source.count("def loop") == 2  # the last one adds up, too


def test_auto_says_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, text in ((object(), "numba (auto: it is installed)"), (None, "numpy (auto: numba is not installed)")):
        monkeypatch.setattr(compiled.importlib.util, "find_spec", lambda name, found=there: found)
        assert text in str(torch.compile(lambda x: x).explain())
