"""A CUDA graph of the stand-in: what is done to strict arrays is noted; a replay does it again, on the same memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.device.strict import BINARY, COMPARISONS, METHODS, UNARY, Strict

__all__ = ["noting"]

WORKING = ("__array_ufunc__", "__array_function__", "__getitem__", "__setitem__", "fill", "sort", *METHODS,
           *[f"__{kind}{word}__" for word in BINARY for kind in ("", "r", "i")],
           *[f"__{word}__" for word in (*COMPARISONS, *UNARY)])
WAITING = ("get", "item", "tolist", "tobytes", "__bool__", "__int__", "__float__", "__index__")


class Notes:
    """The work of a graph: functions, what they were given, and what they gave; and memory as it was before."""

    def __init__(self) -> None:
        self.steps: list[tuple[Callable[..., Any], Any, Any, Any]] = []
        self.before: dict[int, tuple[Any, Any]] = {}

    def noted(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose calls are noted."""
        @functools.wraps(work)
        def call(*args: Any, **kwargs: Any) -> Any:
            for each in strict_in((args, kwargs)):
                self.keep(each.host)
            found = work(*args, **kwargs)
            if found is not NotImplemented:
                self.steps.append((work, args, kwargs, found))
            return found

        return call

    def keep(self, host: Any) -> None:
        """Keep what stands in memory, to put it back: a graph that is captured does nothing."""
        while isinstance(host.base, np.ndarray):
            host = host.base
        self.before.setdefault(id(host), (host, host.copy("K")))

    def restore(self) -> None:
        """Undo what was done."""
        for host, values in self.before.values():
            if host.flags.writeable:
                host[...] = values

    def replay(self) -> None:
        """Do all of it, into the memory that its results had."""
        for work, args, kwargs, found in self.steps:
            for old, new in zip(strict_in(found), strict_in(work(*args, **kwargs)), strict=True):
                if old.host.flags.writeable and not np.may_share_memory(old.host, new.host):
                    old.host[...] = new.host


def strict_in(value: Any) -> Iterator[Strict]:
    """The strict arrays in what was given or found."""
    if isinstance(value, Strict):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from strict_in(each)
    elif isinstance(value, dict):
        yield from strict_in(list(value.values()))


def refused(*args: Any, **kwargs: Any) -> Any:
    """What CUDA says to a copy to the host."""
    raise RuntimeError("cudaErrorStreamCaptureUnsupported: operation not permitted when stream is capturing")


@contextmanager
def noting(backend: Any) -> Iterator[Notes]:
    """A block whose work is noted, and undone at its end."""
    notes = Notes()
    with pytest.MonkeyPatch.context() as patch:
        for name in WORKING:
            patch.setattr(Strict, name, notes.noted(getattr(Strict, name)))
        for name in WAITING:
            patch.setattr(Strict, name, refused)
        for name, make in vars(backend.module).items():
            if isinstance(make, staticmethod):
                patch.setattr(backend.module, name, staticmethod(notes.noted(make.__func__)))
        for name in ("add_at", "run"):
            if hasattr(backend, name):
                patch.setattr(backend, name, notes.noted(getattr(backend, name)))
        try:
            yield notes
        finally:
            notes.restore()
