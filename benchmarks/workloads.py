"""The work that is timed, written once for both libraries: each function takes the library and gives what to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["WORKLOADS", "chain"]


def one_op(library: Any, op: str, shape: Sequence[int], times: int) -> Callable[[], Any]:
    """`times` single ops, forward with their graph, which is dropped at once; gives the last result."""
    a = library.full(tuple(shape), 0.5, requires_grad=True)
    b = library.full(tuple(shape), 0.25, requires_grad=True)
    do = {"add": lambda: a + b, "mul": lambda: a * b, "matmul": lambda: a @ b, "relu": lambda: a.relu(),
          "sum": lambda: a.sum()}[op]

    def run() -> Any:
        for _ in range(times):
            result = do()
        return [result]

    return run


def chain(library: Any, length: int) -> Callable[[], Any]:
    """Multiplications, additions and tanhs of one element, `length` in all, and a backward pass through them."""
    x0, w, b = (library.tensor(value, requires_grad=True) for value in (0.5, 1.0, 1e-6))

    def run() -> Any:
        x0.grad = w.grad = b.grad = None
        x = x0
        for _ in range(length // 3):
            x = x * w
            x = x + b
            x = x.tanh()
        x.backward()
        return [x, x0.grad, w.grad, b.grad]

    return run


def fan_out(library: Any, width: int, shape: Sequence[int]) -> Callable[[], Any]:
    """One tensor that goes into `width` products, which are added up, and a backward pass: 2 ops for each."""
    x, half = library.full(tuple(shape), 0.5, requires_grad=True), library.full(tuple(shape), 0.5)

    def run() -> Any:
        x.grad = None
        total = x * half
        for _ in range(width):
            total = total + x * half
        total.sum().backward()
        return [total, x.grad]

    return run


def diamonds(library: Any, count: int, shape: Sequence[int]) -> Callable[[], Any]:
    """`count` diamonds, one above the other, and a backward pass: in each, 2 ways of one op that an op joins again."""
    x0, half = library.full(tuple(shape), 0.5, requires_grad=True), library.full(tuple(shape), 0.5)

    def run() -> Any:
        x0.grad = None
        x = x0
        for _ in range(count):
            x = x * half + x * half
        x.sum().backward()
        return [x, x0.grad]

    return run


WORKLOADS: dict[str, Callable[..., Callable[[], Any]]] = {
    "one op": one_op, "chain": chain, "fan-out": fan_out, "diamonds": diamonds,
}
