"""Runs an op on the GPU that holds its tensors. Mirrors the `DeviceGuard` of PyTorch's dispatcher.

CuPy uses the current GPU, wherever its arrays are. PyTorch makes the GPU of an op's tensors current while the op runs,
and so do the guards here. A program on one device needs none: they are installed when a device that is not current is
first named (`MultiDevice`), around the methods of Tensor, the functions that parse arguments, and the forward of every
node. Until then an op has no guard.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from minigrad._base.device import Default, device
from minigrad.backends.registry import BACKEND_OF, BACKENDS, Backend, MultiDevice, check_devices, device_like
from minigrad.core import Node, Tensor
from minigrad.ops._dispatch.op_wrappers import OPS

Function = Callable[..., Any]


def guarded(function: Function) -> Function:
    """Wrap a function so that it runs on the device of its tensors, or on the one that its `device` names.

    "cuda" as an argument means the device that was current outside. If CuPy refuses tensors on two devices because
    these cannot reach each other's memory, PyTorch's error is raised.
    """
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        device_of_call = device_of(args, options)
        if device_of_call is None:
            return function(*args, **options)
        backend, index = device_of_call
        now = backend.current_device()
        if index != now:
            args = tuple([numbered(v, backend.type, now) for v in args])
            options = {name: numbered(v, backend.type, now) for name, v in options.items()}
        with backend.on(index) if index != now else nullcontext():
            try:
                return function(*args, **options)
            except ValueError:
                check_devices(*[v for v in arrays_in((args, options)) if type(v) in BACKEND_OF])
                raise

    return call


def device_of(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Backend, int] | None:
    """The device of a call: its option `device`, else that of the first tensor on one, else the default."""
    given = options.get("device")
    if given is None or isinstance(given, Tensor):
        for array in arrays_in((args, options)):
            backend = BACKEND_OF.get(type(array))
            if backend is not None:
                return backend, backend.index_of(array)
        given = Default.device
    where = given if isinstance(given, device) else device(given)
    backend = BACKENDS.get(where.type)
    return None if backend is None or where.index is None else (backend, where.index)


def arrays_in(values: Any) -> Iterator[Any]:
    """Yield the arrays of the tensors among some arguments, and in lists that begin with one."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, Tensor):
            yield value.array
        elif isinstance(value, dict) or (isinstance(value, (list, tuple)) and any(
                isinstance(v, (Tensor, dict, list, tuple)) for v in value[:3])):
            yield from arrays_in(value)


def numbered(value: Any, kind: str, index: int) -> Any:
    """A device without a number as the current one; every other argument unchanged."""
    if isinstance(value, (str, device)) and str(value) == kind:
        return device(kind, index)
    return value


def guard_op(forward: Function, cls: type[Node] | None) -> Function:
    """Wrap the forward of an op in a guard."""
    return guarded(forward)


def together(*arrays: Any) -> list[Any]:
    """Arrays on one device; a 0-d CPU array next to another device's becomes a NumPy scalar, which combines with it.
    Raises PyTorch's RuntimeError if they are on several devices."""
    check_devices(*[v for v in arrays if v.ndim or type(v) in BACKEND_OF])
    return [v[()] if isinstance(v, np.ndarray) and not v.ndim else v for v in arrays]


def same_device(*arrays: Any) -> None:
    """Raise PyTorch's error unless all are on one device, 0-d ones too; without a GPU it costs next to nothing."""
    if BACKEND_OF and any(type(v) in BACKEND_OF for v in arrays):
        check_devices(*arrays)


def where_is(v: Any) -> Any:
    """The device of an array or a Tensor, for NumPy's `like`."""
    return device_like(v.array if isinstance(v, Tensor) else v)


MultiDevice.on_change(functools.partial(OPS.wrap, guard_op))
