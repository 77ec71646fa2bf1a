"""Runs backward passes over tensors on several devices; PyTorch has a thread for each device.

While more than one device holds tensors (`MultiDevice.active`), each node is evaluated, and each gradient added, with
the device of its gradients in use. Nothing here runs before that.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from minigrad.backends.registry import MultiDevice, device_guard, use_device_of
from minigrad.core.evaluate import on_device_of
from minigrad.core.grad_mode import UNUSUAL

__all__ = ["use_devices"]


def use_devices(task: Any) -> None:
    """Make a pass run with the device of its gradients in use."""
    evaluate = task.evaluate

    def evaluate_on_device(task: Any, buffer: Any) -> Any:
        with on_device_of(buffer.grad if buffer.node.outputs != 1 else [buffer.grad]):
            return put_each_in_use(evaluate(task, buffer))

    task.evaluate = evaluate_on_device


def put_each_in_use(grads: Iterable[Any]) -> Iterator[Any]:
    """Yield the gradients unchanged; while one is being added, its device is in use."""
    with device_guard():
        for grad in grads:
            use_device_of(getattr(grad, "array", grad))
            yield grad


def switch_devices(several: bool) -> None:
    """Leave the fast path of recording and of passes while there are several devices, or return to it."""
    UNUSUAL.set("several devices", several)
    (UNUSUAL.pass_wrappers.append if several else UNUSUAL.pass_wrappers.remove)(use_devices)


MultiDevice.on_change(switch_devices)
