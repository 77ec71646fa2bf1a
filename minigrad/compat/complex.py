"""Complex numbers, which are not here: what real tensors answer, and a clear error for the rest.

Mirrors the functions of PyTorch that make complex tensors or take them apart. docs/dtypes.md says why there are none.
"""

from __future__ import annotations

from typing import NoReturn

from minigrad._base.dtype import NOT_HERE
from minigrad._base.tensor_errors import check_tensor
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op, tensor_method, tensor_properties

__all__ = ["complex", "conj", "conj_physical", "imag", "is_conj", "is_neg", "polar", "real", "resolve_conj",
           "resolve_neg", "view_as_complex", "view_as_real"]


def absent(name: str) -> NoReturn:
    """The error for what would make a tensor of a dtype that is not here."""
    raise NotImplementedError(f"{name}: {NOT_HERE.strip()}")


@op
def real(input: Tensor) -> Tensor:
    """The real part of a tensor: itself."""
    check_tensor(input, "real")
    return input


@op
def imag(input: Tensor) -> Tensor:
    """The imaginary part, which real tensors have none of: always PyTorch's error."""
    check_tensor(input, "imag")
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


@op(method=True)
def conj(input: Tensor) -> Tensor:
    """The conjugate of a real tensor: itself."""
    check_tensor(input, "conj")
    return input


@op(method=True)
def conj_physical(input: Tensor) -> Tensor:
    """The conjugate of a real tensor: itself."""
    check_tensor(input, "conj_physical")
    return input


@op(method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: no conjugation waits."""
    check_tensor(input, "resolve_conj")
    return input


@op(method=True)
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: no negation waits."""
    check_tensor(input, "resolve_neg")
    return input


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


@tensor_method
def cfloat(input: Tensor) -> Tensor:
    """`to(complex64)`: not here."""
    absent("cfloat()")


@tensor_method
def cdouble(input: Tensor) -> Tensor:
    """`to(complex128)`: not here."""
    absent("cdouble()")


@tensor_method
def chalf(input: Tensor) -> Tensor:
    """`to(complex32)`: not here."""
    absent("chalf()")


@tensor_method
def bfloat16(input: Tensor) -> Tensor:
    """`to(bfloat16)`: not here."""
    absent("bfloat16()")


tensor_properties({"imag": property(imag, doc="The imaginary part: always PyTorch's error.")})
