"""`as_subclass`: a tensor as one of a subclass, which intercepts the functions called on it (`__torch_function__`)."""

from minigrad._base.type_name import type_name
from minigrad.core import Tensor
from minigrad.ops._dispatch import tensor_method
from minigrad.ops._dispatch.torch_function import DisableTorchFunctionSubclass
from minigrad.ops.shape.views import Alias
from minigrad.ops.tensor.properties import NO_SUBCLASS

__all__: list[str] = []


@tensor_method
def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """A view of a whole tensor as a subclass of Tensor.

    Raises:
        TypeError: if `cls` is not a class that derives from Tensor.
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    if not issubclass(cls, Tensor):
        raise TypeError(NO_SUBCLASS)
    with DisableTorchFunctionSubclass():
        view = Alias.forward(self)
    view.__class__ = cls
    return view
