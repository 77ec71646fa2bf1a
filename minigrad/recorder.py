"""Records a program: `with record() as trace:` records everything that happens in the block.

It mirrors nothing in PyTorch, which has no such thing. It makes a `Trace`: plain data (docs/trace.md) that the
inspectors show and that `save` and `load` store; it holds copies and ids but never a tensor. All lessons use it.

The core knows nothing of traces: while a recorder is on, it calls an observer (`minigrad.recording.observer`), which
registers itself here, since a lower floor imports no higher one.
"""

import os
import sys
from collections.abc import Mapping
from types import FrameType, TracebackType
from typing import Any

from minigrad._base.contexts import safe_exit
from minigrad._base.files import replace_file
from minigrad.recording.builder import LIBRARIES, Builder, Large
from minigrad.recording.encoder import CALLS, FORMULAS, SAME, Encoder
from minigrad.recording.names import drop_copy
from minigrad.recording.tracker import CHANGED, NOWHERE, OBSERVERS, RARER, Log, TrackedRef, Tracker
from minigrad.trace.arithmetic import arithmetic
from minigrad.trace.data import Trace
from minigrad.trace.frame import Frame
from minigrad.trace.holders import Held
from minigrad.trace.packing import written
from minigrad.trace.traversal import Traversal

__all__ = ["CALLS", "CHANGED", "FORMULAS", "NOWHERE", "RARER", "SAME", "Builder", "Encoder", "Frame", "Held", "Large",
           "Log", "Trace", "TrackedRef", "Tracker", "Traversal", "arithmetic", "record", "register_library",
           "replace_file", "written"]


def register_library(path: str) -> None:
    """Leave the code in a folder or file out of traces: its lines are not the user's, the line that called it is."""
    path = os.path.abspath(path)
    LIBRARIES.append(path + os.sep if os.path.isdir(path) else path)


class record:
    """Record what ops, backward passes and calls of nodes do in this thread.

    with record() as trace:
        loss = (w * x).sum()
        loss.backward()

    The trace is complete when the block is left. Tensors are then named by the variables of the code around the block,
    parameters by their modules. An exception propagates, and is the last event.

    Args:
        names: the variables to name tensors by, if not those of the code around the block.
        times: whether nodes note the seconds that they took (`seconds` in their records), which makes every recording
            different.
        detail: "values" keeps copies of arrays of up to 64 numbers and the statistics of larger ones; "arrays" keeps
            all of each in memory, equal ones once, so that `trace["net.fc"].output.numpy()` has them.

    Raises RuntimeError if a recorder is already on in this thread, ValueError if there is no such detail.
    """

    _observer: Any = None  # the observer, while it listens
    _frame: FrameType | None = None  # that of the code around the block

    DETAILS: tuple[str, ...] = ("values", "arrays")

    def __init__(self, names: Mapping[str, Any] | None = None, *, times: bool = False, detail: str = "values") -> None:
        if detail not in self.DETAILS:
            raise ValueError(f"there is no detail {detail!r}: it is one of {', '.join(map(repr, self.DETAILS))}")
        self._names, self._times, self._detail = names, times, detail

    def __enter__(self) -> Trace:
        observer, frame = self._new_observer(), sys._getframe(1)
        try:
            trace: Trace = observer.start(frame)
            self._observer, self._frame, self._entered = observer, frame, True
        except BaseException:  # an interrupt may come at any line; without `__exit__` the observer would stay on
            observer.detach()
            raise
        return trace

    def _new_observer(self) -> Any:
        """Make what listens: an object with `start`, `stop` and `detach`."""
        if not OBSERVERS:
            raise RuntimeError("nothing can be recorded: minigrad is not imported")
        observer: Any = OBSERVERS[-1](Trace, self._times)
        if self._detail == "arrays":
            observer.seen.arrays = {}
        return observer

    def _leave(self, kind: type[BaseException] | None, error: BaseException | None,
               traceback: TracebackType | None) -> None:
        observer, frame = self._observer, self._frame
        if observer is None or frame is None:
            raise RuntimeError("this recorder is not on")
        if self._names is None:
            self._stop(observer, frame, error)
        else:
            observer.stop(error, self._names)
        self._observer = self._frame = None

    def _leave_at_once(self, *error: Any) -> None:
        if self._observer is not None:
            self._observer.detach()
        self._observer = self._frame = None

    __exit__ = safe_exit(_leave, again=_leave_at_once)

    def _stop(self, observer: Any, frame: FrameType, error: BaseException | None) -> None:
        """Stop with the variables of a frame, and note where its block ended."""
        names = frame.f_locals
        try:
            observer.stop(error, names)
        finally:
            drop_copy(frame, names)
        file = observer.builder.file(frame.f_code.co_filename)
        if file >= 0:
            observer.log.append(("block", file, frame.f_lineno))
