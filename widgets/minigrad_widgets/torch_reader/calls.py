"""The forward pass of PyTorch programs as expressions: minigrad's function of the same name stands for an operator.

PyTorch computes in C++. minigrad's functions are in Python and run over symbols: an operator becomes the call of the
function of the same name, with its arguments rearranged where the two differ. An operator without such a function has
no expression, and the front end checks each expression against the numbers that PyTorch computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from minigrad.recorder import CALLS
from minigrad_widgets.torch_reader.formulas import DTYPES
from minigrad_widgets.torch_reader.previews import shape_of

__all__ = ["call_of"]

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
IGNORED = ("layout", "device", "pin_memory", "non_blocking", "memory_format", "implicit", "out_dtype")
REDUCTIONS = ("none", "mean", "sum")  # indexed by PyTorch's numbers for them


def loss(name: str) -> Callable[..., Call]:
    """Return a loss of two tensors."""
    return lambda x, y, reduction=1: (f"nn.functional.{name}", (x, y), {"reduction": REDUCTIONS[reduction]})


def nll(x: Any, target: Any, weight: Any, reduction: int, ignored: int) -> Call:
    return "nn.functional.nll_loss", (x, target), {"weight": weight, "reduction": REDUCTIONS[reduction],
                                                   "ignore_index": ignored}


def layer_norm(x: Any, shape: Any, weight: Any, bias: Any, eps: float) -> Call:
    return "nn.functional.layer_norm", (x, tuple(shape), weight, bias, eps), {}


def indexed(x: Any, index: Any) -> Call:
    return "Tensor.__getitem__", (x, tuple([slice(None) if each is None else each for each in index])), {}


def sliced(x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Call:
    return "Tensor.__getitem__", (x, (*[slice(None)] * dim, slice(start, end, step), ...)), {}


def copied(x: Any, dtype: Any = None) -> Call:
    return ("Tensor.to", (x, dtype), {}) if dtype is not None else ("clone", (x,), {})


# PyTorch's operators whose arguments differ from those of the function of the same name.
OTHERS: dict[str, Callable[..., Call]] = {
    "_softmax": lambda x, dim, half: ("softmax", (x, dim), {}),
    "_log_softmax": lambda x, dim, half: ("log_softmax", (x, dim), {}),
    "_to_copy": copied,
    "_unsafe_view": lambda x, shape: ("reshape", (x, tuple(shape)), {}),
    "view": lambda x, shape: ("reshape", (x, tuple(shape)), {}),
    "_reshape_alias": lambda x, shape, stride: ("reshape", (x, tuple(shape)), {}),
    "alias": lambda x: ("clone", (x,), {}),
    "detach": lambda x: ("clone", (x,), {}),
    "expand": lambda x, shape: ("broadcast_to", (x, tuple(shape)), {}),
    "slice": sliced,
    "index": indexed,
    "nll_loss_forward": nll,
    "mse_loss": loss("mse_loss"),
    "smooth_l1_loss": lambda x, y, reduction=1, beta=1.0: (
        "nn.functional.smooth_l1_loss", (x, y), {"reduction": REDUCTIONS[reduction], "beta": beta}),
    "native_layer_norm": layer_norm,
    "gelu": lambda x, approximate="none": ("nn.functional.gelu", (x,), {"approximate": approximate}),
    "leaky_relu": lambda x, slope=0.01: ("nn.functional.leaky_relu", (x, slope), {}),
    "elu": lambda x, alpha=1.0, *scales: ("nn.functional.elu", (x, alpha), {}),
    "softplus": lambda x, beta=1, threshold=20: ("nn.functional.softplus", (x, beta, threshold), {}),
    "zero": lambda x: ("zeros_like", (x,), {}),
    "silu": lambda x: ("nn.functional.silu", (x,), {}),
    "embedding": lambda table, index, *rest: ("nn.functional.embedding", (index, table), {}),
    "repeat": lambda x, times: ("Tensor.repeat", (x, *times), {}),
    "split": lambda x, size, dim=0: ("split", (x, size, dim), {}),
}


def call_of(name: str, args: tuple[Any, ...], options: dict[str, Any], operands: list[Any], outputs: list[Any]) -> Any:
    """Return the call that stands for an operator, and holds no tensor; None if there is none."""
    if not CALLS:
        return None
    kept = {key: value for key, value in options.items() if key not in IGNORED and value is not None}
    own = name.rstrip("_") if not name.startswith("__") else name
    try:
        called, args, kept = OTHERS[own](*args, **kept) if own in OTHERS else (own, args, kept)
    except TypeError:  # arguments that are not used here
        return None
    numbers = {id(tensor): i for i, tensor in reversed(list(enumerate(operands)))}

    def described(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return "tensor", numbers[id(value)], shape_of(value), dtype_of(value.dtype), value.requires_grad
        return ("dtype", dtype_of(value)) if isinstance(value, torch.dtype) else None

    return CALLS[-1](called, args, kept, described, [(shape_of(t), dtype_of(t.dtype)) for t in outputs])


def dtype_of(dtype: torch.dtype) -> str:
    """Return the name of a dtype, as in previews."""
    name = str(dtype).removeprefix("torch.")
    return DTYPES.get(name, name)
