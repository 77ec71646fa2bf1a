"""Complex numbers, which are not here: what real tensors answer, and a clear error for the rest.

Mirrors the functions of PyTorch that make complex tensors or take them apart. docs/dtypes.md says why there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from minigrad._base.dtype import NOT_HERE
from minigrad._base.tensor_errors import check_tensor
from minigrad.core import Tensor
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.registration import tensor_properties

__all__ = ["complex", "conj", "conj_physical", "imag", "is_conj", "is_neg", "polar", "real", "resolve_conj",
           "resolve_neg", "view_as_complex", "view_as_real"]


def absent(name: str) -> NoReturn:
    """The error for what would make a tensor of a dtype that is not here."""
    raise NotImplementedError(f"{name}: {NOT_HERE.strip()}")


def unchanged(name: str, doc: str, *, method: bool = True) -> Callable[[Tensor], Tensor]:
    """The op of this name, which gives a real tensor back."""
    def function(input: Tensor) -> Tensor:
        check_tensor(input, name)
        return input

    function.__doc__ = doc
    return op(method=method, name=name)(function)


real = unchanged("real", "The real part of a tensor: itself.", method=False)
conj = unchanged("conj", "The conjugate of a real tensor: itself.")
conj_physical = unchanged("conj_physical", "The conjugate of a real tensor: itself.")
resolve_conj = unchanged("resolve_conj", "The tensor itself: no conjugation waits.")
resolve_neg = unchanged("resolve_neg", "The tensor itself: no negation waits.")


@op
def imag(input: Tensor) -> Tensor:
    """The imaginary part, which real tensors have none of: always PyTorch's error."""
    check_tensor(input, "imag")
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


@op(method=True)
def is_conj(input: Tensor) -> bool:
    """Whether a conjugation waits: never."""
    check_tensor(input, "is_conj")
    return False


@op(method=True)
def is_neg(input: Tensor) -> bool:
    """Whether a negation waits: never."""
    check_tensor(input, "is_neg")
    return False


@op
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers: always PyTorch's error for a real one."""
    check_tensor(input, "view_as_real")
    raise RuntimeError("view_as_real is only supported for complex tensors")


@op
def view_as_complex(input: Tensor) -> Tensor:
    """Pairs of real numbers as complex ones: not here."""
    absent("view_as_complex()")


@op
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """Two real tensors as a complex one: not here."""
    absent("complex()")


@op
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Lengths and angles as a complex tensor: not here."""
    absent("polar()")


def no_conversion(name: str, dtype: str) -> None:
    """Make the method of this name, which would convert to a dtype that is not here: always an error."""
    def method(input: Tensor) -> Tensor:
        absent(f"{name}()")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`to({dtype})`: not here."
    tensor_method(method)


for name, dtype in (("cfloat", "complex64"), ("cdouble", "complex128"), ("chalf", "complex32"),
                    ("bfloat16", "bfloat16")):
    no_conversion(name, dtype)
tensor_properties({"imag": property(imag, doc="The imaginary part: always PyTorch's error.")})
