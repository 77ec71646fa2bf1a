"""A second device for PyTorch, in Python, on any machine: what the reader does on a GPU is tested on it.

Its tensors are the host's memory under another name, and the host's kernels compute. What differs from the CPU is what
matters here: the engine runs their backward passes in a thread of its own, and a copy to the host that nobody waits for
holds nothing useful until `synchronize` is called. `COUNTS` has how often the program waited for the device (`waits`,
in copies and `item()`; `synchronize`), and how many copies were queued (`queued`).

To be set up (`set_up`) before the first backward pass of a process, which starts the engine's threads.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from functools import partial
from typing import Any

import torch
from torch.utils import backend_registration
from torch.utils._pytree import tree_leaves, tree_map

__all__ = ["COUNTS", "NAME", "set_up", "why_not"]

NAME = "standin"
COUNTS: Counter[str] = Counter()
QUEUED: list[tuple[Any, Any]] = []  # copies that have not reached the host: their target there, and what was copied
BASE: Any = getattr(backend_registration, "_DummyBackendModule", object)  # older versions have none: `why_not`
HOST, DEVICE = 1, 12  # DLPack's numbers of the CPU and of a device that it does not know
VIEWS = ("as_strided", "view", "_reshape_alias", "unfold")  # their kernels for the CPU look at no value
# Ops that the reader runs itself: a fallback in Python is not found while a dispatch mode is on and overruled.
UNDER_A_MODE = ("add.out", "empty.memory_format", "empty_strided", "as_strided", "view", "_reshape_alias", "_copy_from",
                "_local_scalar_dense", "_to_copy.out")


class DLDevice(ctypes.Structure):
    """DLPack's `DLDevice`."""

    _fields_ = (("type", ctypes.c_int32), ("number", ctypes.c_int32))


class DLTensor(ctypes.Structure):
    """The beginning of DLPack's `DLTensor`."""

    _fields_ = (("data", ctypes.c_void_p), ("device", DLDevice))


def renamed(t: Any, device: int) -> Any:
    """Return the same memory as a tensor on another device."""
    capsule = torch._C._to_dlpack(t)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    DLTensor.from_address(pointer(capsule, b"dltensor")).device.type = device
    return torch._C._from_dlpack(capsule)  # type: ignore[attr-defined]  # PyTorch has no type for it


def on_host(value: Any) -> Any:
    """Return an argument as the host's kernels take it."""
    if isinstance(value, torch.Tensor) and value.device.type == NAME:
        return renamed(value, HOST)
    return torch.device("cpu") if isinstance(value, torch.device) and value.type == NAME else value


def run(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run any op on the device."""
    name = op.overloadpacket.__name__
    if name in VIEWS:
        return op._op_dk(torch.DispatchKey.CPU, *args, **kwargs)
    if name == "_copy_from":
        return copy(*args)
    if name == "_local_scalar_dense":
        COUNTS["waits"] += 1
    given, named = tree_map(on_host, args), tree_map(on_host, kwargs)
    empty = [a.name for a in op._schema.arguments if a.is_out and not kwargs[a.name].numel()]
    named.update({each: torch.empty(0, dtype=kwargs[each].dtype) for each in empty})
    result = op(*given, **named)
    for each in empty:  # the kernel has given it a size
        resized(kwargs[each], renamed(named[each], DEVICE))
    own = {id(there): here for here, there in zip(tree_leaves((args, kwargs)), tree_leaves((given, named)))}
    return tree_map(lambda t: own.get(id(t)) if id(t) in own else renamed(t, DEVICE) if isinstance(t, torch.Tensor)
                    else t, result)


def resized(t: Any, other: Any) -> None:
    """Give a tensor the memory of another one."""
    op = torch.ops.aten.set_.source_Storage_storage_offset
    op._op_dk(torch.DispatchKey.CPU, t, other.untyped_storage(), 0, other.shape, other.stride())


def copy(source: Any, target: Any, non_blocking: bool = False) -> Any:
    """Copy from, to or on the device. What goes to the host arrives later, if nobody waits for it."""
    to_host = target.device.type == "cpu"
    if to_host and non_blocking:
        COUNTS["queued"] += 1
        QUEUED.append((target, renamed(source, HOST).clone()))
        target.fill_(1 if target.dtype == torch.bool else 111)
        return target
    if to_host:
        COUNTS["waits"] += 1
        arrived()
    on_host(target).copy_(on_host(source))
    return target


def arrived() -> None:
    """All that was queued has reached the host."""
    for target, values in QUEUED:
        target.copy_(values)
    QUEUED.clear()


class Module(BASE):  # type: ignore[misc]  # PyTorch has no type for it
    """`torch.standin`. `capturing`: whether it only notes what it will do; `failing`: whether it is out of order."""

    capturing = failing = False

    def is_current_stream_capturing(self) -> bool:
        """Return whether a graph is being captured."""
        return self.capturing

    def synchronize(self, device: Any = None) -> None:
        """Wait until the device has done what it was asked to."""
        if self.failing:
            raise RuntimeError("the device is out of order")
        COUNTS["synchronize"] += 1
        arrived()


    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """The dtypes of autocast, which a checkpoint asks for."""
        return [torch.bfloat16]


def why_not() -> str | None:
    """Return why this PyTorch cannot have the device, None if it can."""
    if not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"):
        return "this PyTorch makes no device in Python"
    return None


def set_up() -> tuple[Any, Any]:
    """Make the device; it is there as long as what is returned."""
    set_up_backend: Any = backend_registration._setup_privateuseone_for_python_backend
    set_up_backend(NAME, Module())
    library = torch.library.Library("_", "IMPL")
    library.fallback(run, "PrivateUse1")
    ops = torch.library.Library("aten", "IMPL")
    for name in UNDER_A_MODE:
        packet, _, overload = name.partition(".")
        ops.impl(name, partial(run, getattr(getattr(torch.ops.aten, packet), overload or "default")), "PrivateUse1")
    return library, ops
