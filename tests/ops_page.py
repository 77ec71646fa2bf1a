"""Writes docs/ops.md: every op with its node in the graph, its derivative and its tests. `python -m tests.ops_page`.

Nothing of it is kept by hand. The nodes of an op are those that its function can make and that the graphs of its lines
in the tables of tests show; the derivative is the source of the node's `backward`; differences from PyTorch are in
DIFFERENCES. tests/test_ops_page.py holds the page to what comes out here.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import textwrap
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import minigrad
import minigrad.nn.functional
from minigrad import ops
from minigrad.autograd.forward_ad import rule_of
from minigrad.core.graph import Node
from tests.links import ROOT, definitions
from tests.parity.compare import arrays_of, leaves_of, outputs_of
from tests.parity.opinfo import skips
from tests.parity.tables import all_cases, modules

PAGE = ROOT / "docs" / "ops.md"
SHORT = 100  # letters of a formula that is shown
SHOWN = 4  # lines of tests that are named
TESTED_IN = ("parity", "unit", "programs", "device", "distributed")  # what other tests call, they need and do not test
NAMESPACES = {"special": "torch.special", "linalg": "torch.linalg", "nn.functional": "F"}
HEAD = """# The ops

Every op of minigrad that PyTorch has: how it can be called, the node that it makes in the graph, and that node's
derivative, as written in the source. In a formula, `g` is the gradient of the result, `xp` has the functions of
[`ArrayNamespace`](../minigrad/backends/numpy.py#L1), and the other names are what the forward pass saved. `F` is
`torch.nn.functional`. An op with several nodes makes one or the other, depending on its arguments, or is composed of
them, as in PyTorch. The last column names lines of the tables under tests/parity (cases*.py, drawn*.py) or other tests;
PyTorch's own sample inputs for its ops also run through both libraries (`python -m tests.parity.opinfo.run NAME`).

After each node stands where forward mode takes the tangent of its result from (NOTE 12 in
[forward_ad.py](../minigrad/autograd/forward_ad.py) says why): *formula*, the derivative itself, with the tangent in
place of the gradient; *op*, the op itself, run on the tangents; *transpose*, the derivative differentiated by its
gradient. `python -m tests.parity.opinfo.tangents NAME` compares tangents with PyTorch's.

This page is made by `python -m tests.ops_page`.

"""
# What is otherwise than in PyTorch: for all ops, then by op.
DIFFERENCES = (
    "There are no complex numbers, and no sparse, quantized or named tensors.",
    "`out=` accepts a result wherever it can be converted to the dtype of the given tensor; PyTorch requires the same "
    "dtype for matrix products, and allows sums to go to integers. With several outputs, the result is a "
    "`return_types.max`, not a `max_out`.",
    "For speed, these methods are the op itself, so an argument of a wrong type raises Python's own error (their "
    "functions raise PyTorch's): {straight}.",
)


@dataclass
class Op:
    """One op: how it is called, its function, its nodes and the lines that test it."""

    name: str
    function: Callable[..., Any]
    calls: list[str] = field(default_factory=list)
    nodes: list[type[Node]] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def plain(function: Any) -> Any:
    """A function without its frame."""
    function = inspect.unwrap(function)
    return function.args[0] if isinstance(function, functools.partial) else function


def methods_of(*modules: str) -> set[str]:
    """The names of Tensor's methods that these modules define, without those in place."""
    places = {f"minigrad.{name}" if name.startswith("compat.") else f"minigrad.ops.{name}" for name in modules}
    return {name for name, method in ops.METHODS.items()
            if plain(method).__module__ in places and not name.endswith("_")}


def found_ops() -> dict[str, Op]:
    """All ops by name."""
    table: dict[str, Op] = {}

    def add(name: str, call: str, each: Any) -> None:
        if isinstance(each, (types.FunctionType, types.MethodType)):
            table.setdefault(name, Op(name, plain(each))).calls.append(call)

    for name, each in ops.FUNCTIONS.items():
        add(name[:-1] if name.endswith("_") and name[:-1] in ops.METHODS else name, f"torch.{name}", each)
    for name, each in ops.METHODS.items():
        if not name.endswith("_"):
            add(name, f"x.{name}", each)
    for name, each in ops.METHODS.items():
        if name.endswith("_"):
            add(name[:-1] if name[:-1] in table else name, f"x.{name}", each)
    for space, shown in NAMESPACES.items():
        module = importlib.import_module(f"minigrad.{space}")
        for name in module.__all__:
            add(f"{space}.{name}", f"{shown}.{name}", getattr(module, name))
    return table


def named_by(function: types.FunctionType) -> Iterator[Any]:
    """What a function's code names: of its module, of modules of ops that it names, and what it encloses."""
    names = function.__code__.co_names
    for name in names:
        each = function.__globals__.get(name)
        if isinstance(each, ModuleType) and each.__name__.startswith("minigrad.ops"):
            yield from (getattr(each, inner) for inner in names if hasattr(each, inner))
        else:
            yield each
    yield from (cell.cell_contents for cell in function.__closure__ or ())


def made_by(function: Any, seen: set[Any], depth: int = 4) -> set[type[Node]]:
    """The classes of nodes that a function names, or that a function which it names does."""
    owner = getattr(function, "__self__", None)
    found = {owner} if isinstance(owner, type) and issubclass(owner, Node) else set()
    function = getattr(plain(function), "__func__", plain(function))
    if not isinstance(function, types.FunctionType) or function in seen or not depth:
        return found
    seen.add(function)
    for each in named_by(function):
        if isinstance(each, type) and issubclass(each, Node):
            found |= {each} | made_by(getattr(each, "forward", None), seen, depth - 1)
        elif isinstance(each, (types.FunctionType, types.MethodType)):
            found |= made_by(each, seen, depth - 1)
    return found


def sources(stem: str) -> Iterator[tuple[str, str]]:
    """The lines of a table of tests: what each is called, and its source."""
    for module in modules(stem):
        text = inspect.getsource(module)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, ast.get_source_segment(text, value) or ""


def nodes_above(tensors: list[Any]) -> set[type[Node]]:
    """The classes of all nodes of the graphs above some tensors."""
    queue = [t.grad_fn for t in tensors if getattr(t, "grad_fn", None) is not None]
    seen = set(queue)
    while queue:
        for other, _ in queue.pop().next_functions:
            if other is not None and other not in seen:
                seen.add(other)
                queue.append(other)
    return {type(node) for node in seen}


def graphs() -> dict[str, set[type[Node]]]:
    """By line of the table of cases: the nodes in its graph."""
    found = {}
    for name, (call, inputs) in all_cases().items():
        leaves = leaves_of(minigrad, inputs, arrays_of(inputs, "float64", seed=len(inputs)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = nodes_above(outputs_of(call(minigrad, *leaves)))
    return found


def touches(op: Op, line: str, source: str) -> bool:
    """Whether a line of a table is about an op: by its title, or by a call in it."""
    short = op.name.rpartition(".")[2]
    calls = rf"\.{short}_?\b" if "." not in op.name else rf"\b{re.escape(op.name)}_?\b"
    return is_title(short, line) or re.search(calls, source) is not None


def is_title(name: str, line: str) -> bool:
    """Whether the title of a line begins with the name of an op, or is a list that has it."""
    return re.match(rf"(?:\w+, )*{re.escape(name)}_?(?:[ ,]|$)", line) is not None


def completed() -> list[Op]:
    """All ops with their nodes and their lines."""
    table, seen = found_ops(), graphs()
    lines = [(f"{stem}: {line}", line, source) for stem in ("cases", "drawn") for line, source in sources(stem)]
    files = [path for folder in TESTED_IN for path in sorted((ROOT / "tests" / folder).rglob("test_*.py"))]
    tests = {path.relative_to(ROOT / "tests").as_posix(): path.read_text(encoding="utf-8") for path in files}
    for op in table.values():
        short = op.name.rpartition(".")[2]
        touching = [(title, line) for title, line, source in lines if touches(op, line, source)]
        op.lines = [title for title, _ in touching] or [
            name for name, text in tests.items() if re.search(rf"\.{short}_?\b", text)]
        able = made_by(op.function, set())
        met = {cls for _, line in touching for cls in seen.get(line, ()) if cls.__module__.startswith("minigrad.ops")}
        titled = {cls for _, line in touching if is_title(short, line) for cls in seen.get(line, ())}
        nodes = able if len(able) == 1 else able & met or titled & met
        op.nodes = sorted(nodes, key=lambda cls: (cls.__name__, own_name(cls)))
    return list(table.values())


def link(path: Path, name: str) -> str:
    """A link to where something is defined."""
    return f"[`{name}`](../{path.relative_to(ROOT).as_posix()}#L{definitions(path)[name]})"


def own_name(cls: type[Node]) -> str:
    """What a class is called in its module: `Exp`, where its node is an ExpBackward0; or the table that holds it."""
    variables = vars(inspect.getmodule(cls))
    return next((name for name, value in variables.items() if value is cls), None) or next(
        name for name, value in variables.items() if isinstance(value, dict) and any(cls in row for row in rows(value)))


def rows(table: dict[Any, Any]) -> list[tuple[Any, ...]]:
    """The values of a table, each as a tuple."""
    return [value if isinstance(value, tuple) else (value,) for value in table.values()]


def node_text(cls: type[Node]) -> str:
    """A node: a link to its class, its name, its derivative."""
    module = inspect.getmodule(cls)
    assert module is not None and module.__file__ is not None
    shown = formula(cls)
    return (f"{link(Path(module.__file__), own_name(cls))} {cls.__name__}" + (f": `{shown}`" if shown else "")
            + f" ({rule_of(cls)})")


def formula(cls: type[Node]) -> str:
    """What the derivative returns, where that is short; else nothing."""
    try:
        (made,) = ast.parse(textwrap.dedent(inspect.getsource(cls.backward))).body
    except (OSError, SyntaxError, ValueError):
        return ""
    body = [each for each in getattr(made, "body", []) if not isinstance(each, ast.Expr)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return ""
    value = body[0].value
    text = ", ".join(map(ast.unparse, value.elts)) if isinstance(value, ast.Tuple) else ast.unparse(value)
    return text.replace("|", "\\|") if len(text) <= SHORT else ""


def row(op: Op) -> str:
    """An op's line of the page."""
    calls = ", ".join(f"`{call}`" for call in op.calls)
    function = inspect.unwrap(op.function)
    module = inspect.getmodule(function)
    if not op.nodes and module is not None and module.__file__ is not None:
        path = Path(module.__file__)
        known = definitions(path)
        name = next((each for each in (function.__qualname__, op.name) if each in known), None)
        nodes = f"{link(path, name)}, no node" if name else "no node"
    else:
        nodes = "<br>".join(node_text(cls) for cls in op.nodes)
    tests = ", ".join(op.lines[:SHOWN]).replace("|", "\\|") + (" and more" if len(op.lines) > SHOWN else "")
    return f"| {calls} | {nodes} | {tests} |"


def page() -> str:
    """The text of the page."""
    groups: dict[str, list[Op]] = defaultdict(list)
    for op in completed():
        groups[inspect.unwrap(op.function).__module__].append(op)
    straight = ", ".join(f"`{name}`" for name in sorted(ops.DIRECT_METHODS))
    words = ROOT / "minigrad" / "backends" / "numpy.py"
    text = HEAD.replace("#L1)", f"#L{definitions(words)['ArrayNamespace']})") + "## Differences from PyTorch\n\n"
    for each in DIFFERENCES:
        text += textwrap.fill(f"- {each.format(straight=straight)}", 120, subsequent_indent="  ") + "\n"
    for module in sorted(groups):
        about = (importlib.import_module(module).__doc__ or "").strip().split("\n")[0]
        text += f"\n## {module.removeprefix('minigrad.')}\n\n{about}\n\n| called | nodes and derivatives | tests |\n"
        text += "| --- | --- | --- |\n" + "\n".join(sorted(row(op) for op in groups[module])) + "\n"
    return text + left_out()


def left_out() -> str:
    """What of PyTorch's own table of ops is not run through minigrad, and why."""
    samples = {name: why for name, (_, why) in skips.SAMPLES.items()}
    parts = {
        "Ops and variants that are not run": {reason: names.split() for reason, names in skips.REASONS.items()},
        "Samples of any op that are left out": {what: [why] for what, why in skips.EVERYWHERE.items()},
        "Some samples of these are left out": {why: [n for n in samples if samples[n] == why]
                                               for why in dict.fromkeys(samples.values())},
        "Second gradients of these are not compared": {why: [name] for name, why in skips.ONCE.items()},
        "Values of these agree to 1e-9 instead of 1e-12": {"another algorithm": sorted(skips.LOOSE)},
    }
    text = "\n## Left out of PyTorch's own samples\n"
    for title, reasons in parts.items():
        text += f"\n{title}:\n\n"
        for reason, names in reasons.items():
            words = f"- {reason[0].upper() + reason[1:]} - {', '.join(names)}."
            text += textwrap.fill(words, 120, subsequent_indent="  ", break_on_hyphens=False) + "\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
