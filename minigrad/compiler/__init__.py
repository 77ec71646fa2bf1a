"""A compiler that can be read: it traces a step and runs it as a NumPy program. docs/compiler.md walks through it."""

from typing import Any

from minigrad.compiler.compiled import Compiled as Compiled
from minigrad.compiler.compiled import compile as compile
from minigrad.compiler.tracing.trace import GraphBreak as GraphBreak


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return the function unchanged, or a decorator that does: a compiled function compiles what it calls."""
    return fn if fn is not None else lambda function: function


allow_in_graph = assume_constant_result = disable


def is_compiling() -> bool:
    """Whether PyTorch's compiler reads this code: always False. minigrad's runs it, and records what it does."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def reset() -> None:
    """Forget what was compiled: each compiled function keeps its own programs, and there is nothing else to forget."""


cudagraph_mark_step_begin = reset


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of backends that `compile` takes; all mean minigrad's own."""
    return ["aot_eager", "eager", "inductor"]
