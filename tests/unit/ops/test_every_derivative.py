"""Every derivative in a folder of minigrad/ops is run by the tests of the folder of that name."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Iterator

import pytest

import minigrad
from minigrad.core.graph import Node
from tests.unit.ops.derivatives import ONCE, comparable, family_of, lines_of, nodes_of, recorded, run_by_hand

FOLDERS = ("activation", "index", "linalg", "nn", "pointwise", "random", "reduce", "shape", "special", "tensor")
ELSEWHERE = {
    "MkldnnRnnLayerBackward0": "it is for float32, where differences of values say little",
    "NativeDropoutBackward0": "it draws on a device",
    "TakenBackward0": "it is a third derivative, of pooling",
}


def classes(of: type[Node]) -> Iterator[type[Node]]:
    """All classes below one."""
    for cls in of.__subclasses__():
        yield cls
        yield from classes(cls)


def source_of(cls: type[Node]) -> type[Node]:
    """The class that has the `backward` of a class."""
    return next(each for each in cls.__mro__ if "backward" in vars(each))


def refuses(cls: type[Node]) -> bool:
    """Whether the derivative is an error, as in PyTorch: "is not implemented"."""
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(cls.backward))).body
    assert isinstance(function, ast.FunctionDef)
    return isinstance(function.body[-1], ast.Raise) and all(isinstance(each, ast.Expr) for each in function.body[:-1])


def run_in(folder: str) -> set[type[Node]]:
    """The classes whose `backward` the tests of a folder run, in first and in second derivatives."""
    found: set[type[Node]] = set()
    for name in lines_of(folder):
        results, leaves = recorded(*comparable()[name])
        found |= nodes_of(results)
        if results and name not in ONCE:
            grads = minigrad.autograd.grad(
                results, [leaf for leaf in leaves if leaf.requires_grad],
                [minigrad.ones_like(result).requires_grad_() for result in results], create_graph=True,
                allow_unused=True)
            found |= nodes_of([grad for grad in grads if grad is not None])
    for call, inputs, _ in importlib.import_module(f"tests.unit.ops.{folder}.test_derivatives").BY_HAND.values():
        found |= nodes_of(run_by_hand(call, inputs)[0])
    return {source_of(cls) for cls in found if hasattr(cls, "backward")}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_derivative_is_run(folder):
    own = {cls for cls in classes(Node) if family_of(cls) == folder and "backward" in vars(cls) and not refuses(cls)}
    assert own
    run = run_in(folder)
    assert sorted({cls.__name__ for cls in own - run} - ELSEWHERE.keys()) == []
    assert not ELSEWHERE.keys() & {cls.__name__ for cls in run}


def test_there_are_no_more_folders():
    derived = {family_of(cls) for cls in classes(Node) if "backward" in vars(cls)} - {"", "_dispatch"}
    assert derived == set(FOLDERS)
