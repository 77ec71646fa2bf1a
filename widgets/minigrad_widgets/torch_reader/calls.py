"""The forward pass of PyTorch programs as expressions: minigrad's function of the same name stands for an operator.

PyTorch computes in C++. minigrad's functions are in Python and run over symbols: an operator becomes the call of the
function of the same name, with its arguments rearranged where the two differ. An operator without such a function has
no expression, and the front end checks each expression against the numbers that PyTorch computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import torch

from minigrad.recorder import CALLS
from minigrad_widgets.torch_reader.formulas import DTYPES
from minigrad_widgets.torch_reader.previews import shape_of

__all__ = ["call_of"]

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
IGNORED = ("layout", "device", "pin_memory", "non_blocking", "memory_format", "implicit", "out_dtype")
SIMPLE = frozenset({bool, int, float, str, type(None), torch.dtype, torch.device})
UNKNOWN = object()  # in place of an argument that no function of minigrad's takes
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


class Operand(NamedTuple):
    """Stands for a tensor among the arguments of an operator: the first operand that it is."""

    number: int
    shape: tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool


class Noted:
    """The call of an operator, as it was noted: it holds no tensor. `call`: minigrad's call that stands for it."""

    def __init__(self, name: str, args: Sequence[Any], options: Mapping[str, Any], outputs: Sequence[Any]) -> None:
        self.name, self.args, self.options, self.outputs = name, args, options, outputs

    @cached_property
    def call(self) -> Any:
        """Minigrad's call that stands for this one; None if there is none."""
        name, args = self.name, self.args
        kept = {key: value for key, value in self.options.items() if key not in IGNORED and value is not None}
        own = name.rstrip("_") if not name.startswith("__") else name
        try:
            called, args, kept = OTHERS[own](*args, **kept) if own in OTHERS else (own, args, kept)
        except TypeError:  # arguments that are not used here
            return None
        return CALLS[-1](called, args, kept, described, [(shape, dtype_of(dtype)) for shape, dtype in self.outputs])

    def arithmetic(self) -> Any:
        """Return the expressions of the results; None if nothing stands for the operator, or it has none."""
        return self.call and self.call.arithmetic()


def described(value: Any) -> Any:
    """Say what an argument is, as `CALLS` want it."""
    if isinstance(value, Operand):
        return "tensor", value.number, value.shape, dtype_of(value.dtype), value.requires_grad
    return ("dtype", dtype_of(value)) if isinstance(value, torch.dtype) else None


def call_of(name: str, args: tuple[Any, ...], options: dict[str, Any], operands: list[Any], outputs: list[Any]) -> Any:
    """Note the call of an operator, with something in place of each tensor; None if no arithmetic is known."""
    if not CALLS:
        return None
    told = {id(t): Operand(i, shape_of(t), t.dtype, t.requires_grad) for i, t in reversed([*enumerate(operands)])}

    def noted(value: Any) -> Any:
        kind = type(value)
        if kind in SIMPLE:
            return value
        if isinstance(value, (list, tuple)):
            return [*map(noted, value)] if kind is list else tuple(map(noted, value))
        return told.get(id(value), UNKNOWN)

    return Noted(name, [noted(value) for value in args], {key: noted(value) for key, value in options.items()},
                 [(shape_of(t), t.dtype) for t in outputs])


def dtype_of(dtype: torch.dtype) -> str:
    """Return the name of a dtype, as in previews."""
    name = str(dtype).removeprefix("torch.")
    return DTYPES.get(name, name)
