"""Finds lines of the user's source that no recording saw run: where an attribute or a variable was assigned."""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import re
from collections.abc import Iterator
from typing import Any

from minigrad_widgets.doctor.findings import Place

__all__ = ["assigned", "attribute_line", "body_of", "calls", "changes_grad", "fills", "freezes", "in_branch",
           "mentions", "module_of", "place_at", "rate_given", "returned", "sets_rates", "surrounding", "tree_of",
           "uncalled", "unfreezes", "zero_rates"]

FILLS = frozenset({"constant_", "zeros_", "ones_", "fill_", "zero_", "full", "ones", "zeros"})


def tree_of(path: str) -> ast.Module | None:
    """Return the syntax tree of a file, or of a notebook cell; nobody changes it, since many rules ask for it."""
    return parsed("".join(linecache.getlines(path)))


@functools.lru_cache(16)
def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of a text; None if it is not Python's."""
    try:
        return ast.parse(text)
    except SyntaxError:  # a cell with magics
        return None


def place_at(path: str, line: int, role: str) -> Place:
    """Return a line of a file as a place."""
    return Place(path.replace("\\", "/").rpartition("/")[2], line, linecache.getline(path, line).strip(), role)


def path_of(function: Any) -> tuple[str, int] | None:
    """Return the file and the first line of a function."""
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    return None if code is None else (code.co_filename, code.co_firstlineno)


def attribute_line(owner: Any, attribute: str, role: str) -> list[Place]:
    """Return the line in an object's class that assigns one of its attributes, `self.attribute = …`, or registers it as
    a buffer."""
    for cls in type(owner).__mro__:
        init = cls.__dict__.get("__init__")
        start = None if init is None else path_of(init)
        tree = None if start is None else tree_of(start[0])
        if start is None or tree is None or "site-packages" in start[0]:
            continue
        function = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.lineno == start[1]), None)
        lines = [] if function is None else [
            n.lineno for n in ast.walk(function) if isinstance(n, ast.Attribute) and n.attr == attribute
            and isinstance(n.ctx, ast.Store) and isinstance(n.value, ast.Name) or isinstance(n, ast.Call)
            and isinstance(n.func, ast.Attribute) and n.func.attr.startswith("register_")
            and any(isinstance(each, ast.Constant) and each.value == attribute for each in n.args[:1])]
        if lines:
            return [place_at(start[0], lines[0], role)]
    return []


def assigned(function: Any, name: str, role: str) -> list[Place]:
    """Return the line around a function, above it, that last assigned a variable; empty where there is none."""
    start = path_of(function)
    tree = None if start is None else tree_of(start[0])
    if start is None or tree is None:
        return []
    around = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Module)) and (
        isinstance(n, ast.Module) or n.lineno < start[1] <= (n.end_lineno or 0))]
    for scope in reversed(around):
        lines = [n.lineno for n in own_nodes(scope) if isinstance(n, ast.Name) and n.id == name
                 and isinstance(n.ctx, ast.Store) and n.lineno < start[1]]
        if lines:
            return [place_at(start[0], max(lines), role)]
    return []


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or a file without those of the functions and classes in it, whose names are others.
    """
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            yield from own_nodes(node)


def rate_given(function: Any, name: str, rate: float, role: str) -> list[Place]:
    """Return the line of the call that last assigned an optimizer to a variable, above a function, that gives this
    learning rate as a number; empty where there is none."""
    made = assigned(function, name, role)
    path, around = surrounding(function)
    calls = [] if around is None else [n for n in ast.walk(around) if isinstance(n, ast.Assign)
                                       and n.lineno == (made or [Place("", 0, "", "")])[0].line]
    lines = [value.lineno for call in calls for value, _ in rates(call)
             if isinstance(value, ast.Constant) and value.value == rate]
    return [place_at(path, min(lines), role)] if lines else []


def mentions(function: Any, name: str, role: str) -> list[Place]:
    """The line of a function that stores something in a variable or attribute: an assignment, or a call of one of its
    methods that add."""
    path, body = body_of(function)
    lines = [] if body is None else sorted(stores(body, name))
    return [place_at(path, lines[-1], role)] if lines else []


def uncalled(function: Any, name: str, role: str) -> list[Place]:
    """The lines of a function that name a method, but do not call it: `optimizer.step`, without parentheses."""
    path, body = body_of(function)
    return [] if body is None else [
        place_at(path, node.lineno, role) for node in ast.walk(body)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute) and node.value.attr == name]


def calls(function: Any, name: str) -> bool:
    """Whether a function's text calls a method of this name, on whatever object."""
    _, body = body_of(function)
    return body is not None and any(isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                                    and node.func.attr == name for node in ast.walk(body))


def changes_grad(function: Any, role: str) -> list[Place]:
    """Return the first line of a function that changes a `.grad`, in place or for another one."""
    path, body = body_of(function)
    lines = []
    for node in ast.walk(body) if body is not None else ():
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign) and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            targets = node.targets
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            targets = [node.func.value]
        lines += [each.lineno for each in targets if re.search(r"\.grad\b", ast.unparse(each))]
    return [place_at(path, min(lines), role)] if lines else []


BRANCHES = (ast.If, ast.IfExp, ast.Try, ast.Match, ast.While, ast.BoolOp)


def in_branch(owner: Any, attribute: str) -> bool:
    """Whether the `forward` of a module uses one of its attributes under a condition: in a branch or after one that
    returns, by an index that is computed, or in a loop with a branch in it."""
    path, body = body_of(getattr(type(owner), "forward", None))
    if body is None or not path:
        return False
    around = {child: node for node in ast.walk(body) for child in ast.iter_child_nodes(node)}
    returns = [n.lineno for n in ast.walk(body) if isinstance(n, ast.Return) and isinstance(around.get(n), BRANCHES)]
    uses = [n for n in ast.walk(body) if isinstance(n, ast.Attribute) and n.attr == attribute]
    return any(any(line < use.lineno for line in returns) or any(map(is_branch, above(use, around))) for use in uses)


def above(node: ast.AST, around: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes around a node of a syntax tree, the innermost first."""
    while node in around:
        node = around[node]
        yield node


def is_branch(node: ast.AST) -> bool:
    """Whether what is inside this node of a syntax tree may not run, or not with each element."""
    if isinstance(node, ast.Subscript):
        return not isinstance(node.slice, (ast.Constant, ast.Slice))
    return isinstance(node, BRANCHES) or isinstance(node, (ast.For, ast.comprehension)) and any(
        isinstance(each, BRANCHES) for each in ast.walk(node))


def body_of(function: Any) -> tuple[str, ast.AST | None]:
    """Return a function's file and its syntax tree; None where its text is not known."""
    start = path_of(function)
    tree = None if start is None else tree_of(start[0])
    if start is None or tree is None:
        return "", None
    found = (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda)) and start[1] in (
        n.lineno, *(each.lineno for each in getattr(n, "decorator_list", ()))))
    return start[0], next(found, None)


def returned(function: Any, role: str) -> list[Place]:
    """Return the last line of a function that returns something."""
    path, body = body_of(function)
    lines = [n.lineno for n in ast.walk(body) if isinstance(n, ast.Return)] if body is not None else []
    return [place_at(path, max(lines), role)] if lines else []


def stores(body: ast.AST, name: str) -> Iterator[int]:
    """Yield lines that store into a name: `name = …`, `name += …`, `name[0] = …`, `name.append(…)`, `self.name = …`."""
    for node in ast.walk(body):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = [t for target in node.targets for t in (target.elts if isinstance(target, ast.Tuple)
                                                              else [target])]
        elif isinstance(node, ast.AugAssign):
            targets = [node.target]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in (
                "append", "extend", "insert", "add", "update", "setdefault"):
            targets = [node.func.value]
        if any(root_of(target) == name for target in targets):
            yield getattr(node, "lineno", 0)


def root_of(target: ast.expr) -> str | None:
    """Return the variable at the root of `a[0].b`; for `self.b` it is `self.b`."""
    while isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            return f"self.{target.attr}"
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def module_of(model: Any, path: str) -> tuple[Any, str]:
    """Return the user's own module that holds a parameter or a part with it, and the name of its attribute there: the
    innermost one whose class is not the library's."""
    owner, found = model, (model, path.partition(".")[0])
    for part in path.split("."):
        if not type(owner).__module__.startswith(("torch.", "minigrad.")):
            found = (owner, part)
        owner = getattr(owner, part, None)
    return found


def fills(function: Any, role: str) -> list[Place]:
    """Return the first line of the functions around one, or of one of these, that gives a tensor one value."""
    path, around = surrounding(function)
    lines = [] if around is None else [n.lineno for n in ast.walk(around) if isinstance(n, ast.Call) and isinstance(
        n.func, ast.Attribute) and n.func.attr in FILLS]
    return [place_at(path, min(lines), role)] if lines else []


def surrounding(function: Any) -> tuple[str, ast.AST | None]:
    """Return a function's file and the syntax tree of the outermost function around it, which may be itself, or of the
    file where there is none; None where its text is not known."""
    start = path_of(function)
    tree = None if start is None else tree_of(start[0])
    if start is None or tree is None:
        return "", None
    around = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)
              and n.lineno <= start[1] <= (n.end_lineno or 0))
    return start[0], next(around, tree)


def switches(tree: ast.AST) -> Iterator[tuple[int, ast.expr]]:
    """Yield the lines of a syntax tree that set `requires_grad`, and what they set it to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
                isinstance(each, ast.Attribute) and each.attr == "requires_grad" for each in node.targets):
            yield node.lineno, node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and (
                node.func.attr == "requires_grad_"):
            given = [*node.args, *(each.value for each in node.keywords)]
            yield node.lineno, given[0] if given else ast.Constant(True)


def freezes(path: str, tree: ast.AST | None, role: str) -> list[Place]:
    """Return the lines of a syntax tree that set `requires_grad` to something other than True."""
    lines = [] if tree is None else [line for line, value in switches(tree) if not is_true(value)]
    return [place_at(path, line, role) for line in sorted(lines)]


def unfreezes(tree: ast.AST | None, certain: bool = False) -> bool:
    """Whether a syntax tree sets `requires_grad` to True, or, unless `certain`, to what may be True."""
    return tree is not None and any(is_true(value) or not certain and not isinstance(value, ast.Constant)
                                    for _, value in switches(tree))


def is_true(value: ast.expr) -> bool:
    """Whether an expression is the constant True."""
    return isinstance(value, ast.Constant) and value.value is True


def rates(tree: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield what a syntax tree gives as a learning rate, and whether to a group that is there already."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "lr":
            yield node.value, False
        elif isinstance(node, ast.Dict):
            yield from ((value, False) for key, value in zip(node.keys, node.values) if is_rate(key))
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Subscript) and is_rate(each.slice) for each in targets):
                yield node.value, True


def is_rate(key: ast.expr | None) -> bool:
    """Whether an expression is the key of the learning rate in a group of an optimizer."""
    return isinstance(key, ast.Constant) and key.value == "lr"


def zero_rates(path: str, tree: ast.AST | None, role: str) -> list[Place]:
    """Return the first line of a syntax tree that gives the number 0 as a learning rate."""
    lines = [] if tree is None else [value.lineno for value, _ in rates(tree) if is_zero(value)]
    return [place_at(path, min(lines), role)] if lines else []


def sets_rates(tree: ast.AST | None) -> bool:
    """Whether a syntax tree sets a group's learning rate, other than to the number 0."""
    return tree is not None and any(later and not is_zero(value) for value, later in rates(tree))


def is_zero(value: ast.expr) -> bool:
    """Whether an expression is the number 0."""
    return isinstance(value, ast.Constant) and value.value == 0
