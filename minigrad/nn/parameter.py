"""Parameters: mirrors `torch/nn/parameter.py`."""

from __future__ import annotations

import weakref
from typing import Any, cast

import numpy as np

from minigrad._base.dtype import Size
from minigrad.core import Tensor, plain
from minigrad.ops._dispatch.torch_function import Overriding, disabled
from minigrad.ops.factory import empty
from minigrad.ops.tensor.properties import make_subclass
from minigrad.ops.tensor.storage import rebuild, rebuild_args

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]

NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` "
    "when trying to load an uninitialized parameter into an initialized one. Call `forward` to initialize the "
    "parameters before accessing their attributes.")
NOT_SHARED = (
    "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before "
    "calling `module.share_memory()`.")
UNINITIALIZED = (
    "Attempted to use an uninitialized parameter in {}. This error happens when you are using a `LazyModule` or "
    "explicitly manipulating `torch.nn.parameter.{}` objects. When using LazyModules Call `forward` with a dummy batch "
    "to initialize the parameters before calling torch functions")
OTHER_TYPE = (
    "Creating a Parameter from an instance of type {} requires that detach() returns an instance of the same type, but "
    "return type {} was found instead. To use the type as a Parameter, please correct the detach() semantics defined "
    "by its __torch_dispatch__() implementation.")
ALLOWED = frozenset({"__hash__", "char", "copy_", "cpu", "cuda", "double", "float", "get_device", "half", "int",
                     "is_complex", "is_floating_point", "long", "short", "size", "to"})


class Marked(type):
    """Lets a tensor of a subclass, which stays one as a parameter and is marked, pass for a Parameter."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or cls is Parameter and (
            isinstance(instance, Tensor) and getattr(instance, "_is_param", False))


class Parameter(Tensor, metaclass=Marked):
    """A leaf that a Module registers when it is assigned to one; requires grad by default. Of a tensor of a subclass it
    is another tensor of that subclass, with a mark."""

    __torch_function__ = disabled

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        data = plain(np.zeros(0, np.float32)) if data is None else data
        if type(data) in (Tensor, Parameter) or not isinstance(data, Tensor):
            return cast(Parameter, make_subclass(cls, data, requires_grad))
        made = data.detach().requires_grad_(requires_grad)
        if type(made) is not type(data):
            raise RuntimeError(OTHER_TYPE.format(type(data).__name__, type(made).__name__))
        vars(made)["_is_param"] = True
        return cast(Parameter, made)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything is done in `__new__`."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """Return a Parameter with a copy of the data, without gradient and attributes, as in PyTorch."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return cast(Parameter, memo[id(self)])

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Support `copy.copy` and `pickle`; hooks are dropped silently, as in PyTorch."""
        return rebuild, rebuild_args(self), self.__dict__ or None


class Buffer(Tensor):
    """A tensor that a Module keeps as a buffer when it is assigned to one.

    `persistent`: whether it is part of the module's `state_dict()`. In PyTorch it is a plain Tensor with a mark, for
    which `isinstance(buffer, Buffer)` is true; that holds here too, but `type(buffer)` is Buffer.
    """

    persistent: bool
    __torch_function__ = disabled

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        data = plain(np.zeros(0, np.float32)) if data is None else data
        buffer = cast(Buffer, make_subclass(cls, data.detach(), data.requires_grad))
        buffer.persistent = persistent
        return buffer

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything is done in `__new__`."""

    def __format__(self, format_spec: str) -> str:
        return format(self.data, format_spec)


class Uninitialized:
    """A parameter or buffer whose shape is not known yet: what a lazy module holds before its first input.

    While one exists, public functions ask for `__torch_function__`, which refuses all but conversions and properties.
    """

    cls_to_become: type[Tensor]

    def wait(self: Any) -> Any:
        """Let public functions ask, until this has a shape or is gone."""
        Overriding.add(1)
        self._done_waiting = weakref.finalize(self, Overriding.add, -1)
        self._done_waiting.atexit = False
        return self

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give it this shape, with unspecified values: from now on it is a plain parameter or buffer."""
        self.data = empty(shape, device=device or self.data.device, dtype=dtype or self.data.dtype)
        self.__class__ = self.cls_to_become
        self.__dict__.pop("_done_waiting", int)()

    def size(self: Any, dim: int | None = None) -> Any:
        """The size of no elements, as in PyTorch."""
        return Size(self.array.shape) if dim is None else self.array.shape[dim]

    @property
    def shape(self) -> Any:
        raise RuntimeError(NO_SHAPE)

    def share_memory_(self) -> Any:
        raise RuntimeError(NOT_SHARED)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad,)

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.data.device, self.data.dtype)
        return memo[id(self)]


def refuse_uninitialized(weight: Any, what: str) -> None:
    """Raise PyTorch's ValueError for a weight without a shape; `what` is to be applied to it."""
    if isinstance(weight, Uninitialized):
        of_what = "weight" if what == "WeightNorm" else "spectral"
        raise ValueError(f"The module passed to `{what}` can't have uninitialized parameters. Make sure to run the "
                         f"dummy forward before applying {of_what} normalization")


class UninitializedParameter(Uninitialized, Parameter):
    """A Parameter without a shape."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> UninitializedParameter:
        made = make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        return cast(UninitializedParameter, made.wait())


class UninitializedBuffer(Uninitialized, Tensor):
    """A buffer without a shape."""

    cls_to_become = Tensor
    persistent: bool
    __torch_function__ = disabled

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None,
                persistent: bool = True) -> UninitializedBuffer:
        buffer = cast(UninitializedBuffer, make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad))
        buffer.persistent = persistent
        return cast(UninitializedBuffer, buffer.wait())

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Everything is done in `__new__`."""


def refuse(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of what has no shape yet."""
    if isinstance(getattr(func, "__self__", None), property) or (
            func.__name__ in ALLOWED and func is getattr(Tensor, func.__name__)):
        return super(Uninitialized, cls).__torch_function__(func, types, args, kwargs)
    raise ValueError(UNINITIALIZED.format(func, cls.__name__))


# Set after the classes: one that has it from the start puts wrappers around all functions for good.
del UninitializedBuffer.__torch_function__
setattr(Uninitialized, "__torch_function__", classmethod(refuse))  # noqa: B010 (mypy lets nobody assign a method)
