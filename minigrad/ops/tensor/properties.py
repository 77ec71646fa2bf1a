"""Queries about a tensor (`type()`, `is_nonzero()`, `x in tensor`) and about a dtype; a tensor as one of a subclass.

Before you compute, they tell which dtype a sum will have (`result_type`) and how precise it is (`finfo`). Mirrors parts
of PyTorch's `torch/_tensor.py` and `TypeInfo.cpp`.
"""

import warnings
from collections.abc import Callable
from numbers import Number
from typing import Any, NoReturn

import numpy as np

from minigrad._base.device import strided
from minigrad._base.dtype import (
    DTYPES,
    NOT_HERE,
    default_float,
    float_info,
    from_numpy_dtype,
    get_default_dtype,
    load_bfloat16,
    result_dtype,
    set_default_dtype,
)
from minigrad._base.dtype import dtype as dtype_type
from minigrad._base.dtype import promote_types as promoted
from minigrad._base.optional import missing
from minigrad._base.tensor_data import TensorData
from minigrad._base.type_name import type_name
from minigrad.backends.registry import device_like
from minigrad.core import Tensor
from minigrad.core.tensor import alias
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.registration import tensor_properties
from minigrad.ops._dispatch.torch_function import DisableTorchFunctionSubclass
from minigrad.ops._dispatch.type_promotion import RANKS
from minigrad.ops.pointwise.compare import eq
from minigrad.ops.shape.views import Alias
from minigrad.ops.tensor.copy import cast, to

__all__ = [
    "can_cast", "detach", "detach_", "finfo", "get_default_dtype", "iinfo", "is_complex", "is_floating_point",
    "is_inference", "is_nonzero", "is_same_size", "is_signed", "is_tensor", "numel", "promote_types", "result_type",
    "set_default_dtype", "typename",
]

NO_SUBCLASS = ("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
               "your class inherits from Tensor.")
TYPES = {f"torch.{d.type_name}Tensor": d for d in DTYPES} | {"torch.Tensor": from_numpy_dtype("float32")}


@op
def is_tensor(obj: Any) -> bool:
    """Whether an object is a Tensor."""
    return isinstance(obj, Tensor)


@op
def typename(obj: Any, /) -> str:
    """A tensor's `type()`; for any other object the name of its class, or its own."""
    if isinstance(obj, Tensor):
        return tensor_type(obj)
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", None) or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def tensor_type(self: Tensor) -> str:
    """The legacy name of a tensor's type, for instance `torch.FloatTensor`."""
    device = "" if self.device.type == "cpu" else f"{self.device.type}."
    return f"torch.{device}{self.dtype.type_name}Tensor"


def type_of(self: Tensor, dtype: Any = None) -> Any:
    """The legacy name of the type, for instance `torch.FloatTensor`; or the tensor in another type, as by `to`."""
    if dtype is None:
        return tensor_type(self)
    if isinstance(dtype, dtype_type):
        return cast(self, dtype.numpy)
    if not (isinstance(dtype, (str, type)) or type(dtype).__name__ == "tensortype"):
        raise TypeError("dtype must be a type, str, or dtype object")
    name = dtype if isinstance(dtype, str) else dtype.__qualname__
    short = name.replace("torch.cuda.", "torch.", 1)
    if short == "torch.BFloat16Tensor":
        return to(self, dtype=load_bfloat16())
    if short not in TYPES or name == "torch.cuda.Tensor":
        raise ValueError(f"invalid type: '{name}'")
    kind = "cpu" if short == name else "cuda"
    return to(self, dtype=TYPES[short], device=None if kind == self.device.type else kind)


@tensor_method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of another, and on its device."""
    return to(self, dtype=other.dtype, device=other.device)


@op(method=True)
def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return bool(self.array.shape == other.array.shape)


@op(method=True)
def is_nonzero(input: Tensor) -> bool:
    """Whether the single element of a tensor is not zero."""
    return Tensor.__bool__(input)


@op(method=True)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one."""
    return input.dtype.is_floating_point


@op(method=True)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one."""
    return input.dtype.is_complex


@op(method=True)
def is_signed(input: Tensor) -> bool:
    """Whether the dtype can represent negative numbers."""
    return input.array.dtype.kind in "if"


@op
def detach(input: Tensor) -> Tensor:
    """The same values without history, as `input.detach()`."""
    return input.detach()


@op
def detach_(input: Tensor) -> Tensor:
    """Detach a tensor from its graph, as `input.detach_()` does."""
    return input.detach_()


@op
def is_inference(input: Tensor) -> bool:
    """Whether a tensor was created inside `inference_mode`."""
    return input.is_inference()


@op
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


@tensor_method
def get_device(self: Tensor) -> int:
    """The index of the GPU that holds the data; -1 for the CPU."""
    return -1 if self.device.index is None else int(self.device.index)


def contains(self: Tensor, element: Any) -> bool:
    """`element in tensor`: whether any element equals it. Raises RuntimeError for anything but tensors and numbers."""
    if not isinstance(element, (Tensor, Number)):
        raise RuntimeError("Tensor.__contains__ only supports Tensor or scalar, but you passed in a "
                           f"{type(element)}.")
    comparable = isinstance(element, (Tensor, int, float, np.generic))
    return comparable and bool(eq(self, element).array.any().item())


def make_subclass(cls: Any, data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of a subclass that shares the data of a tensor and its version (`Tensor._make_subclass`)."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(NO_SUBCLASS)
    if not isinstance(require_grad, bool):
        raise TypeError("_make_subclass(): argument 'require_grad' (position 3) must be bool, not "
                        f"{type_name(require_grad)}")
    detached = data.detach()
    with DisableTorchFunctionSubclass():
        if require_grad and not detached.is_floating_point():
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        result = alias(detached, cls, detached._version_counter)
        result.requires_grad = require_grad
    return result


def listed(self: Tensor) -> list[str]:
    """The names that `dir(tensor)` lists."""
    return sorted({*object.__dir__(self)} - {"volatile"})


def volatile(self: Tensor) -> bool:
    """Always False: the predecessor of `no_grad` in early PyTorch."""
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def set_volatile(self: Tensor, value: Any) -> None:
    """Only warn."""
    warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", UserWarning,
                  stacklevel=2)


def no_such_attribute(self: Tensor, name: str) -> NoReturn:
    """Raise Python's error for an attribute that a tensor does not have, with a hint."""
    missing(f"'{type(self).__name__}' object", name)


Tensor.__getattr__ = no_such_attribute  # type: ignore[method-assign]  # declared there for the type checker alone

tensor_properties({
    **{name: each for name, each in {**vars(TensorData), **vars(Tensor)}.items() if isinstance(each, property)},
    "itemsize": property(Tensor.element_size, doc="The size of one element in bytes."),
    "nbytes": property(lambda self: self.numel() * self.element_size(), doc="The size of all elements in bytes."),
    "is_cuda": property(lambda self: self.device.type == "cuda", doc="Whether the data is on a GPU."),
    "layout": property(lambda self: strided, doc="The layout of the elements in memory: always `torch.strided`."),
    "real": property(lambda self: self, lambda self, new: self.copy_(new), doc="The tensor itself, since it is real."),
    "volatile": property(volatile, set_volatile),
    "is_cpu": property(lambda self: self.device.type == "cpu", doc="Whether the data is in host memory."),
    "name": property(lambda self: None, doc="None, as for every eager tensor in PyTorch: only traced ones are named."),
    **dict.fromkeys(("is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized",
                     "is_sparse", "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu"),
                    property(lambda self: False, doc="False: the elements are a plain array.")),
})


def checked(value: Any, name: str) -> dtype_type:
    """The argument of `finfo` or `iinfo`; PyTorch's error if it is not a dtype."""
    if not isinstance(value, dtype_type):
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type_name(value)}")
    return value


def limit(name: str, kind: Callable[[Any], Any], text: str, attribute: str = "") -> property:
    """A property that reads a property of a dtype from NumPy."""
    return property(lambda self: kind(getattr(self._facts, attribute or name)), doc=text)


class Info:
    """What `finfo` and `iinfo` share."""

    __slots__ = ("_facts",)
    _facts: Any
    __hash__ = None  # type: ignore[assignment]  # as in PyTorch it cannot be a key
    bits = limit("bits", int, "The number of bits of a value.")
    dtype = limit("dtype", str, "The name of the dtype.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.dtype == other.dtype


class finfo(Info):
    """The limits of a floating-point dtype, by default the default dtype: `finfo(float32).eps`. Raises TypeError for
    any other argument."""

    __slots__ = ()
    eps = limit("eps", float, "The distance from 1 to the next larger number.")
    max = limit("max", float, "The largest number.")
    min = limit("min", float, "The smallest number: minus the largest.")
    smallest_normal = tiny = limit("tiny", float, "The smallest positive normal number.", "smallest_normal")
    resolution = limit("resolution", lambda digits: 10.0 ** -int(digits),
                       "The decimal resolution, 10 ** -precision.", "precision")

    def __init__(self, type: Any = ...) -> None:
        kind = get_default_dtype() if type is ... else checked(type, "finfo")
        if not kind.is_floating_point:
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle "
                            "'torch.finfo'")
        self._facts = float_info(kind.numpy)

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo(Info):
    """The limits of an integer dtype: `iinfo(int8).max`. Raises TypeError for any other argument."""

    __slots__ = ()
    max = limit("max", int, "The largest number.")
    min = limit("min", int, "The smallest number.")

    def __init__(self, type: dtype_type) -> None:
        kind = checked(type, "iinfo")
        if kind.is_floating_point:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        if kind.numpy.kind == "b":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        self._facts = np.iinfo(kind.numpy)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


@op
def can_cast(from_: dtype_type, to: dtype_type) -> bool:
    """Whether a result of dtype `from_` may be written into a tensor of dtype `to`: never from a higher kind."""
    return RANKS[from_.numpy.kind] <= RANKS[to.numpy.kind]


@op
def promote_types(type1: dtype_type, type2: dtype_type) -> dtype_type:
    """The smallest dtype of the higher kind of the two that represents those of them that are of that kind."""
    return from_numpy_dtype(promoted(type1.numpy, type2.numpy))


@op
def result_type(tensor: Any, other: Any) -> dtype_type:
    """The dtype of the result of two operands, each a tensor or a Python number."""
    operands = [operand(v) for v in (tensor, other)]
    if isinstance(tensor, Tensor) == isinstance(other, Tensor):
        return from_numpy_dtype(result_dtype(*operands))
    array, number = operands if isinstance(tensor, Tensor) else operands[::-1]
    return from_numpy_dtype((array if RANKS[number.dtype.kind] <= RANKS[array.dtype.kind] else number).dtype)


def operand(value: Any) -> Any:
    """A tensor's array; for a number, an array with the dtype that the number has alone."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, complex):
        raise TypeError(f"result_type() has no dtype for a complex number{NOT_HERE}")
    kinds = (((bool, np.bool_), "bool"), ((int, np.integer), "int64"), ((float, np.floating), default_float()))
    for types, dtype in kinds:
        if isinstance(value, types):
            return np.zeros((), dtype, like=device_like(0, dtype))
    raise TypeError(value)


op(get_default_dtype)
op(set_default_dtype)


@tensor_method
def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """A view of a whole tensor as a subclass of Tensor. Raises TypeError if `cls` is not a class that derives from
    Tensor."""
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    if not issubclass(cls, Tensor):
        raise TypeError(NO_SUBCLASS)
    with DisableTorchFunctionSubclass():
        view = Alias.forward(self)
    view.__class__ = cls
    return view
