"""Lets functions support classes with `__torch_function__`: mirrors `torch/overrides.py`.

A class with `__torch_function__` is asked whenever one of its objects is an argument; `minigrad.ops._dispatch
.torch_function` says how. You need this module for a function of your own that should ask such classes too:

    def lengths(x):
        if has_torch_function((x,)):
            return handle_torch_function(lengths, (x,), x)
        return (x * x).sum(-1).sqrt()
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from minigrad._base.optional import module_getattr
from minigrad.core import Tensor
from minigrad.ops._dispatch.torch_function import (
    STATE,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    handle,
    overloaded,
    path_of,
)

__all__ = ["DisableTorchFunctionSubclass", "TorchFunctionMode", "get_default_nowrap_functions",
           "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property",
           "resolve_name", "wrap_torch_function"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is on, or one of these has a `__torch_function__` to ask."""
    return bool(STATE.modes) or (not STATE.disabled and bool(overloaded(relevant_args)))


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any,
                          **kwargs: Any) -> Any:
    """Ask the classes of `relevant_args` for the result of `public_api(*args, **kwargs)`. Raises TypeError if none
    answers."""
    mode = STATE.modes[-1] if STATE.modes else None
    return handle(public_api, (mode, overloaded(relevant_args)), args, kwargs, in_python=True)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[..., Any]:
    """A decorator: the function first asks the classes of what `dispatcher` returns for the same arguments."""
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether this is a Tensor, or of a class with a `__torch_function__`."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function that was passed to `__torch_function__` is a method or a property of Tensor."""
    return path_of(func).startswith("torch.Tensor.")


def resolve_name(f: Callable[..., Any]) -> str:
    """The path of a function: `torch.sin`, `torch.Tensor.add`, `torch.Tensor.grad.__get__`."""
    return path_of(f)


def get_default_nowrap_functions() -> set[Any]:
    """Functions whose results `Tensor.__torch_function__` does not convert: those that read `grad` and `_base`."""
    return {getattr(Tensor, name).__get__ for name in ("grad", "_base")}


__getattr__ = module_getattr(__name__)
