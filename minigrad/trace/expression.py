"""Writes an expression of a trace (docs/trace.md) as a line, in the notation of mathematics and of PyTorch.

`frontend/src/trace/expression.ts` does the same in the browser; `tests/frontend/test_live.py` checks that both agree.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from minigrad.trace.format import number, op_name

__all__ = ["expression_text"]

Expression = Any
Written = Callable[[str], str]  # how an operand is written: by its name, or by its value
Part = tuple[str, int]  # a text, and how tightly it binds

LOGIC, COMPARE, SUM, PRODUCT, SIGN, POWER, ATOM = range(7)
INFIX = {
    "or": ("|", LOGIC), "and": ("&", LOGIC), "lt": ("<", COMPARE), "le": ("≤", COMPARE), "gt": (">", COMPARE),
    "ge": ("≥", COMPARE), "eq": ("=", COMPARE), "ne": ("≠", COMPARE), "add": ("+", SUM), "sub": ("−", SUM),
    "mul": ("·", PRODUCT), "div": ("/", PRODUCT), "matmul": ("@", PRODUCT), "remainder": ("%", PRODUCT),
    "floor_divide": ("//", PRODUCT), "pow": ("**", POWER),
}
OPPOSITES = {"le": "gt", "lt": "ge", "ge": "lt", "gt": "le"}  # not (x <= y) is written x > y
NAMES = {"concatenate": "cat", "broadcast_to": "expand", "transpose": "permute"}  # PyTorch calls them so
DEEPEST = 40
FAR = 2 ** 53  # an end that no index reaches: PyTorch passes the largest integer for an omitted end


def expression_text(expression: Expression, written: Written) -> str:
    """Return an expression as one line."""
    return Writer(written).part(expression)[0]


def name_of(expression: Expression) -> str:
    return str(expression[0]) if isinstance(expression, list) else ""


def function_name(name: str) -> str:
    """Return `LogSoftmaxBackward` as `log_softmax_backward`; the class of a node loses the end of its name."""
    return op_name(NAMES.get(name) or re.sub(r"(.)Backward\d+$", r"\1", name))


def inside(part: Part, level: int) -> str:
    """Return a part in parentheses, if it binds less tightly than `level`."""
    return part[0] if part[1] >= level else f"({part[0]})"


def literal(value: Any) -> Part:
    if value is None or isinstance(value, bool):
        return str(value), ATOM
    whole = isinstance(value, int) or value.is_integer()
    return str(int(value)) if whole else number(value), SUM if value < 0 else ATOM


def is_transpose(name: str, args: Sequence[Expression]) -> bool:
    if name == "swapaxes":
        return {-1, -2} <= set(map(plain, args)) or {0, 1} <= set(map(plain, args))
    return name == "transpose" and args[1:2] == [["tuple", 1, 0]]


def plain(x: Any) -> Any:
    """Return a value that can be in a set, or None."""
    return x if isinstance(x, (int, float, str)) and not isinstance(x, bool) else None


class Writer:
    """Writes parts of expressions."""

    def __init__(self, written: Written) -> None:
        self.written = written

    def part(self, expression: Expression, depth: int = 0) -> Part:
        if depth > DEEPEST:
            return "…", ATOM
        if isinstance(expression, str):
            return self.operand(expression)
        if not isinstance(expression, list):
            return literal(expression)
        name, *args = expression
        write: Callable[[Expression], Part] = lambda each: self.part(each, depth + 1)  # noqa: E731  # it needs `depth`
        for way in (self.quoted, self.operator, self.method):
            found = way(name, args, write)
            if found is not None:
                return found
        return self.call(name, args, write)

    def operand(self, name: str) -> Part:
        """A name or a list binds tightest, a number nearly so, and a negative one as a sum does."""
        text = self.written(name)
        return text, SUM if text.startswith("-") else ATOM if text[:1].isalpha() or text[:1] in "_[" else POWER

    def quoted(self, name: str, args: list[Expression], write: Callable[[Expression], Part]) -> Part | None:
        """Write an argument that is neither a number nor an operand."""
        if name == "text":
            return f'"{args[0]}"', ATOM
        if name in ("dtype", "float"):
            return str(args[0]), ATOM
        if name == "ellipsis":
            return "…", ATOM
        if name == "slice":
            ends = args[:2] if args[2] is None else args
            return ":".join("" if end is None or abs(end) >= FAR else str(end) for end in ends), ATOM
        return None

    def operator(self, name: str, args: list[Expression], write: Callable[[Expression], Part]) -> Part | None:
        if name == "neg" and args:
            return f"−{inside(write(args[0]), SIGN)}", SIGN
        if name == "invert" and args:
            opposite = OPPOSITES.get(name_of(args[0]))
            if opposite is not None:
                return self.operator(opposite, args[0][1:], write)
            return f"not {inside(write(args[0]), POWER)}", SIGN
        if name not in INFIX or len(args) != 2:
            return None
        symbol, level = INFIX[name]
        first, second = map(name_of, args)
        products = {"mul", "div"}
        chain = level == SUM or first == name or (name in products and first in products)
        left = level if chain and level not in (POWER, COMPARE) else level + 1
        right = level if second == name and name in ("mul", "add") else level + 1
        return f"{inside(write(args[0]), left)} {symbol} {inside(write(args[1]), right)}", level

    def method(self, name: str, args: list[Expression], write: Callable[[Expression], Part]) -> Part | None:
        """Write what PyTorch's users write after a dot or in brackets."""
        if not args:
            return None
        rest = [*args[1:], None]
        if is_transpose(name, args):
            tail = "ᵀ"
        elif name == "getitem":
            tail = f"[{self.listed(rest[0], write)}]"
        elif name == "output":
            tail = f"[{write(rest[0])[0]}]"
        elif name == "cast":
            tail = f".to({write(rest[0])[0]})"
        elif name == "sum":
            dims = "" if rest[0] is None else self.listed(rest[0], write)
            keep = ("keepdim",) if args[2:3] == [True] else ()
            tail = f".sum({', '.join([*([dims] if dims else []), *keep])})"
        elif name in ("reshape", "broadcast_to", "swapaxes", "transpose"):
            tail = f".{function_name(name)}({', '.join(self.listed(each, write) for each in args[1:])})"
        else:
            return None
        return inside(write(args[0]), ATOM) + tail, ATOM

    def call(self, name: str, args: list[Expression], write: Callable[[Expression], Part]) -> Part:
        if name == "tuple":
            return f"({self.listed([name, *args], write)})", ATOM
        if name == "masked":
            return self.call("where", [*args[:2], 0], write)
        if name == "scatter":
            x, index, size = (self.listed(each, write) for each in args[:3])
            return f"zeros({size}) with [{index}] = {x}", LOGIC
        return f"{function_name(name)}({', '.join(write(each)[0] for each in args)})", ATOM

    def listed(self, expression: Expression, write: Callable[[Expression], Part]) -> str:
        """Write the parts of a tuple without its parentheses; anything else as it is."""
        if name_of(expression) != "tuple":
            return write(expression)[0]
        return ", ".join(write(each)[0] for each in expression[1:])
