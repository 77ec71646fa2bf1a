"""Answers questions about complex numbers for real tensors, and raises a clear error for everything else.

Mirrors PyTorch's functions that create complex tensors or split them. docs/dtypes.md says why minigrad has none.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from minigrad._base.dtype import NOT_HERE
from minigrad._base.tensor_errors import check_tensor
from minigrad.core import Tensor
from minigrad.ops._dispatch import op, tensor_method
from minigrad.ops._dispatch.registration import tensor_properties

__all__ = ["complex", "conj", "conj_physical", "imag", "is_conj", "is_neg", "polar", "real", "resolve_conj",
           "resolve_neg", "view_as_complex", "view_as_real"]


def of_real(name: str, doc: str, answer: Any = None, *, method: bool = True) -> Callable[[Tensor], Any]:
    """The op of this name, which for a real tensor returns the tensor itself, or always the same `answer`."""
    def function(input: Tensor) -> Any:
        check_tensor(input, name)
        return input if answer is None else answer

    function.__doc__ = doc
    return op(method=method, name=name)(function)


def op_that_raises(name: str, doc: str, text: str = "") -> Callable[..., NoReturn]:
    """The op of this name, which raises PyTorch's error for a real tensor, or one for the lack of complex dtypes."""
    def function(*args: Any, **options: Any) -> NoReturn:
        raise RuntimeError(text) if text else NotImplementedError(f"{name}(): {NOT_HERE.strip()}")

    function.__doc__ = doc
    return op(name=name)(function)


real = of_real("real", "The real part of a tensor: itself.", method=False)
conj = of_real("conj", "The conjugate of a real tensor: itself.")
conj_physical = of_real("conj_physical", "The conjugate of a real tensor: itself.")
resolve_conj = of_real("resolve_conj", "The tensor itself: no conjugation is pending.")
resolve_neg = of_real("resolve_neg", "The tensor itself: no negation is pending.")
is_conj = of_real("is_conj", "Whether a conjugation is pending: always False.", False)
is_neg = of_real("is_neg", "Whether a negation is pending: always False.", False)
imag = op_that_raises("imag", "The imaginary part, which real tensors lack: always PyTorch's error.",
                      "imag is not implemented for tensors with non-complex dtypes.")
view_as_real = op_that_raises("view_as_real", "A complex tensor as pairs of real numbers: always PyTorch's error for a "
                              "real one.", "view_as_real is only supported for complex tensors")
view_as_complex = op_that_raises("view_as_complex", "Pairs of real numbers as complex ones: not implemented.")
complex = op_that_raises("complex", "Two real tensors as a complex one: not implemented.")
polar = op_that_raises("polar", "Lengths and angles as a complex tensor: not implemented.")


def no_conversion(name: str, dtype: str) -> None:
    """Create the method of this name, which would convert to a dtype that minigrad lacks: always an error."""
    def method(input: Tensor) -> NoReturn:
        raise NotImplementedError(f"{name}(): {NOT_HERE.strip()}")

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`to({dtype})`: not implemented."
    tensor_method(method)


for name, dtype in (("cfloat", "complex64"), ("cdouble", "complex128"), ("chalf", "complex32")):
    no_conversion(name, dtype)
tensor_properties({"imag": property(imag, doc="The imaginary part: always PyTorch's error.")})
