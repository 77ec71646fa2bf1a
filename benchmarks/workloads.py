"""The work that is timed, written once for both libraries: each function takes the library and gives what to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["WORKLOADS", "chain"]


def one_op(library: Any, op: str, shape: Sequence[int], times: int) -> Callable[[], Any]:
    """`times` single ops with their graph, which is dropped at once; gives the last result."""
    a = library.full(tuple(shape), 0.5, requires_grad=True)
    b = library.full(tuple(shape), 0.25, requires_grad=True)

    def add() -> Any:
        for _ in range(times):
            result = a + b
        return [result]

    def mul() -> Any:
        for _ in range(times):
            result = a * b
        return [result]

    return {"add": add, "mul": mul}[op]


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


WORKLOADS: dict[str, Callable[..., Callable[[], Any]]] = {"one op": one_op, "chain": chain}
