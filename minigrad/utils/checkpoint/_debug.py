"""Implements `debug=True`: the error of a function that does not repeat itself lists the ops of both runs.

The error and its form are PyTorch's; it shows only lines of the user's code, the innermost first.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from minigrad.core import Tensor
from minigrad.utils._python_dispatch import TorchDispatchMode
from minigrad.utils.checkpoint._errors import CheckpointError

__all__ = ["Logs"]

LIBRARY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
RULE = "+------------------------------------------------------------------------------+"
WAVE = RULE.replace("-", "~")
HEAD = """ \
An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.
"""
TITLES = (
    "|        1. Stack traces of the operators that ran in the original forward     |",
    "|        2. Stack traces of the operators that ran during recomputation        |",
    "|       3. Log of operators in the original forward and recomputation          |",
)
CORRELATE = """\
(Scroll up to correlate stack traces with each operation listed below. This
 helps identify their source in the code.)

IMPORTANT: Differences in "detach" calls between the original forward and the
           recomputation are expected. They are introduced by the checkpointing
           mechanism and can be ignored.
"""
FOOT = """\
 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.

 To identify where the mismatch may be coming from, you can do the following:

 1) Compare the operators ran during original forward and recomputation to
    see where they differ. These operators are printed above in the order they
    were executed.

 2) Review the stack trace for each operator to locate its invocation source.
    Each operator's stack trace is printed in their execution order.

 Note that the logs can be quite long. Here's how they are structured:
 (Tip: you can Ctrl-f for these headers)

 1. Stack traces of the operators that ran in the original forward
 2. Stack traces of the operators that ran during recomputation
 3. Log of operators in the original forward and recomputation
 4. Error message                                             <--- You are here
--------------------------------------------------------------------------------
"""


class Log(TorchDispatchMode):
    """The mode of one run: notes each op and the lines of the user's code that led to it."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.ops: list[tuple[str, list[str]]] = []
        self.numbers: dict[int, int] = {}
        self.alive: list[Any] = []  # so that ids are not reused

    def __enter__(self) -> Any:
        self.ops, self.numbers, self.alive = [], {}, []
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self.alive = []
        super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        """Run the op and note it; an op that the end of a recomputation interrupts has no results."""
        given, result = ", ".join([self.text_of(x) for x in args]), None
        try:
            result = func(*args, **(kwargs or {}))
            return result
        finally:
            made = result if isinstance(result, tuple) else (result,)
            results = ", ".join([f"{self.text_of(x)}: {kind(x)}" for x in made if isinstance(x, Tensor)])
            self.ops.append((f"{results or '?'} = torch._ops.{func}({given})", list(users_lines())))

    def text_of(self, x: Any) -> str:
        """Return a tensor by its number, anything else as it is printed."""
        if isinstance(x, (tuple, list)) and any(isinstance(each, Tensor) for each in x):
            return f"[{', '.join([self.text_of(each) for each in x])}]"
        if not isinstance(x, Tensor):
            return repr(x)
        if id(x) not in self.numbers:
            self.numbers[id(x)] = len(self.numbers)
            self.alive.append(x)
        return f"${self.numbers[id(x)]}"

    def traces(self) -> str:
        """Return each op with the lines that it came from."""
        blocks = []
        for i, (op, lines) in enumerate(self.ops):
            blocks.append("".join([f"{op}   ({i + 1} of {len(self.ops)} in {self.run})\n\n",
                                   *[f"{each}\n" for each in lines], "\n\n"]))
        return "".join(blocks)


def kind(x: Tensor) -> str:
    """dtype and shape: `f32[3, 4]`."""
    dtype = x.array.dtype
    return f"{dtype.kind}{8 * dtype.itemsize}[{', '.join(map(str, x.array.shape))}]"


def users_lines() -> Iterator[str]:
    """Yield the lines of the user's code that are running, the innermost first."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if not frame.f_code.co_filename.startswith(LIBRARY):
            yield f"{frame.f_code.co_filename}:{frame.f_lineno}:{frame.f_code.co_name}"


class Logs:
    """The modes of both runs, and the error that shows what they noted."""

    def __init__(self) -> None:
        self.first, self.second = Log("original"), Log("recompute")

    def contexts(self) -> tuple[Log, Log]:
        """Return both modes, as a `context_fn`."""
        return self.first, self.second

    def explaining(self, unpack: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Wrap an unpack hook so that its error is the long one."""
        def explained(holder: Any) -> Any:
            try:
                return unpack(holder)
            except CheckpointError as error:
                raise self.error() from error

        return explained

    def error(self) -> CheckpointError:
        """Return the error to raise in place of the short one."""
        ops = [each for log in (self.first, self.second) for each in ("\n".join([op for op, _ in log.ops]), "")]
        return CheckpointError("\n".join([
            HEAD, WAVE, TITLES[0], RULE, "", self.first.traces() + WAVE, TITLES[1], RULE, "",
            self.second.traces() + WAVE, TITLES[2], RULE, CORRELATE, "Operations executed during the original forward:",
            "", *ops[:2], "Operations executed during recomputation:", "", *ops[2:], RULE, FOOT]))
