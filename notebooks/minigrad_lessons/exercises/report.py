"""What a check prints, how it sees that nothing has been written yet, and how it runs a student's function."""

import ast
import inspect
import os
import textwrap
import traceback
from collections.abc import Callable, Iterator
from typing import Any

from minigrad_lessons import notes

HERE = os.path.dirname(__file__)
verdicts: dict[str, bool] = {}  # whether each check passed when it was last run


def not_yet(name: str, why: str) -> None:
    """There is nothing to judge so far."""
    verdicts[name] = False
    print(f"{name}: not yet. {why}")


def passed(name: str, *lines: str) -> None:
    """The answer stands; the lines say what was run to find that out."""
    verdicts[name] = True
    notes.note("check", name.removeprefix("check."), "passed")
    print(f"{name}: passed.")
    for line in lines:
        print(f"    {line}")


def misconception(name: str, text: str, *lines: str) -> None:
    """The answer does not stand, and the check knows what led to it."""
    verdicts[name] = False
    notes.note("check", name.removeprefix("check."), "no", text)
    print(f"{name}: not right yet: {text}")
    for line in lines:
        print(f"    {line}")


def has_dots(function: Callable[..., object]) -> bool:
    """True while three dots stand for an answer in the function's source (False where the source cannot be had).

    Dots that Python itself gives a meaning are none: in a subscript, an annotation or a default.
    """
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return False
    meant = {id(dots) for part in _parts_with_dots_of_their_own(tree) for dots in ast.walk(part)}
    return any(isinstance(n, ast.Constant) and n.value is ... and id(n) not in meant for n in ast.walk(tree))


def _parts_with_dots_of_their_own(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            yield node.slice
        elif isinstance(node, ast.arguments):
            yield from (default for default in (*node.defaults, *node.kw_defaults) if default is not None)
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            yield node.returns


def is_function(name: str, asked: str, *functions: object) -> bool:
    """True if all can be called; else say what to hand over."""
    if all(callable(function) for function in functions):
        return True
    misconception(name, f"pass the function itself: {name}({asked})")
    return False


def to_judge(name: str, asked: str, missing: str, *functions: Callable[..., object]) -> bool:
    """True if all can be called and no dots are left in them; else say what to hand over, or what is missing."""
    if not is_function(name, asked, *functions):
        return False
    if any(has_dots(function) for function in functions):
        not_yet(name, missing)
        return False
    return True


def name_of(function: object) -> str:
    """What a student's function is called; a partial or an object has no name."""
    return getattr(function, "__name__", "your function")


def run(name: str, function: Callable[..., Any], arguments: str, *given: object) -> tuple[bool, Any]:
    """Call a student's function: whether it came to its end, and what it gave. What it raises is printed."""
    try:
        return True, function(*given)
    except Exception as error:  # noqa: BLE001 (whatever a student's code raises is reported)
        misconception(name, f"{name_of(function)}({arguments}) {raised(error, function)}")
        return False, None


def a(value: object) -> str:
    """What a value is, with its article: "a list", "an int", "None"."""
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeioAEIO' or kind == 'ndarray' else 'a'} {kind}"


def raised(error: BaseException, function: object) -> str:
    """An error of a student's code, with the last line of that code that was running."""
    cell = getattr(getattr(function, "__code__", None), "co_filename", HERE)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == cell and not cell.startswith(HERE)]  # a check may run a function of its own
    return f"raised {first_line(error)}" + (f"; it is line {lines[-1]} of your cell." if lines else "")


def first_line(error: BaseException) -> str:
    """The type of an error and the first line of its message."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")
