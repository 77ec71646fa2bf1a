"""What a check prints, and how it sees that nothing has been written yet."""

import ast
import inspect
import textwrap
from collections.abc import Callable


def not_yet(name: str, why: str) -> None:
    """There is nothing to judge so far."""
    print(f"{name}: not yet. {why}")


def passed(name: str, *lines: str) -> None:
    """The answer stands; the lines say what was run to find that out."""
    print(f"{name}: passed.")
    for line in lines:
        print(f"    {line}")


def misconception(name: str, text: str, *lines: str) -> None:
    """The answer does not stand, and the check knows what led to it."""
    print(f"{name}: not right yet: {text}")
    for line in lines:
        print(f"    {line}")


def has_dots(function: Callable[..., object]) -> bool:
    """True while three dots stand in the function's source (False where the source cannot be had)."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):
        return False
    return any(isinstance(n, ast.Constant) and n.value is ... for n in ast.walk(tree))


def first_line(error: BaseException) -> str:
    """The type of an error and the first line of its message."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".rstrip(": ")
