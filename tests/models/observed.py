"""A second observer, which shares nothing with the recorder: what each op is called, in which module and on which line
it ran, and everything that a step may leave behind."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, _len_torch_dispatch_stack

import minigrad
import minigrad_widgets
from tests.models.loops import Loop

__all__ = ["Ran", "Witness", "plain", "state_of", "witnessed"]

INSIDE = tuple(os.path.dirname(os.path.abspath(module.__file__)) + os.sep
               for module in (torch, minigrad, minigrad_widgets))
BETWEEN = (*INSIDE[1:], os.path.join(INSIDE[0], "_ops.py"))  # what stands between the caller of an op and this observer
ENGINE, DDP = "_engine_run_backward", os.path.join("nn", "parallel", "distributed.py")


class Ran(NamedTuple):
    """An op that ran: its name, the id() of each module whose `forward` was running, the outermost first, and its line.

    `bare`: no operand is a tensor; `own`: it was no part of the program but of the engine's work, or of DDP's.
    """

    name: str
    modules: tuple[int, ...]
    file: str
    line: int
    bare: bool
    own: bool


def plain(name: str) -> str:
    """The name of an op as it is compared: nodes write it in capitals, in-place ops and PyTorch's own with `_`, and the
    names of some ops end in `forward`, those of their nodes do not."""
    return name.replace("_", "").lower().removesuffix("forward")


class Witness(TorchDispatchMode):
    """Notes each op, below the recorder: it is entered first. Modules are followed with hooks on all of them."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else PyTorch's compiler stands between

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[Ran] = []
        self.modules: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = [each for value in (*args, *kwargs.values())
                 for each in (value if isinstance(value, (list, tuple)) else (value,))]
        file, line, own = self.place(sys._getframe(1))
        self.ran.append(Ran(plain(func.overloadpacket.__name__), tuple(self.modules), file, line,
                            not any(isinstance(each, torch.Tensor) for each in given), own))
        return func(*args, **kwargs)

    def place(self, frame: FrameType | None) -> tuple[str, int, bool]:
        """The innermost line that is neither PyTorch's nor this project's."""
        own, first = False, True
        while frame is not None:
            file = frame.f_code.co_filename
            own = own or frame.f_code.co_name == ENGINE or first and file.endswith(DDP)
            if file != __file__ and not file.startswith(INSIDE):
                return file, frame.f_lineno, own
            first = first and file.startswith(BETWEEN)
            frame = frame.f_back
        return "", 0, own

    def entered(self, module: nn.Module, *_: Any) -> None:
        self.modules.append(id(module))

    def left(self, module: nn.Module, *_: Any) -> None:
        assert self.modules.pop() == id(module)


@contextmanager
def witnessed() -> Iterator[Witness]:
    """Let a witness observe what runs in the block."""
    witness = Witness()
    hooks = [register_module_forward_pre_hook(witness.entered),
             register_module_forward_hook(witness.left, always_call=True)]
    try:
        with witness:
            yield witness
    finally:
        for hook in hooks:
            hook.remove()


def state_of(loop: Loop) -> dict[str, Any]:
    """All that a step can change: values, gradients, versions, modes and hooks, optimizers, random and global state."""
    found: dict[str, Any] = {
        "random": (random.getstate(), str(np.random.get_state()), torch.get_rng_state().tolist()),
        "flags": (torch.is_grad_enabled(), torch.is_anomaly_enabled(), torch.is_inference_mode_enabled(),
                  sys.getprofile(), sys.gettrace(), _len_torch_dispatch_stack()),
        "global hooks": [len(hooks) for name, hooks in vars(nn.modules.module).items()
                         if name.startswith("_global") and isinstance(hooks, dict)],
    }
    for root, model in loop.models.items():
        for path, module in model.named_modules():
            found[f"{root}.{path}"] = type(module).__name__, module.training, [
                (name, len(hooks)) for name, hooks in vars(module).items() if "hooks" in name and hooks is not None]
        for path, t in [*model.named_parameters(), *model.named_buffers()]:
            found[f"{root}.{path}"] = (
                value(t), value(t.grad), t.requires_grad, len(t._backward_hooks or ()),
                len(getattr(t, "_post_accumulate_grad_hooks", None) or ()))
    for i, optimizer in enumerate(loop.optimizers):
        found[f"optimizer {i}"] = optimizer_state(optimizer)
    return found


def optimizer_state(optimizer: torch.optim.Optimizer) -> Any:
    """The state of an optimizer, and of its groups."""
    told = optimizer.state_dict()
    return ([(key, {name: value(each) for name, each in state.items()}) for key, state in told["state"].items()],
            told["param_groups"])


def value(each: Any) -> Any:
    """Something that `==` compares bit for bit."""
    if not isinstance(each, torch.Tensor):
        return each
    return each.dtype, tuple(each.shape), each.detach().numpy().tobytes()
