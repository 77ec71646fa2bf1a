"""Declares, creates and prints layers, with helpers that several share: mirrors `torch/nn/modules/utils.py`."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import wraps
from inspect import get_annotations
from operator import attrgetter
from typing import Any, ClassVar, dataclass_transform

from minigrad._base.dtype import dtype as dtype_type
from minigrad.nn import init
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter
from minigrad.ops.factory import empty


def _ntuple(n: int) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that makes a tuple of `n` from one value, and a plain tuple from an iterable."""
    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n
    return parse


_single, _pair, _triple, _quadruple = [_ntuple(n) for n in (1, 2, 3, 4)]


def attributes(module: object, *names: str) -> str:
    """Return these attributes as `name=value`, for `extra_repr`."""
    return ", ".join([f"{name}={getattr(module, name)}" for name in names])


class Family(Module):
    """A module whose subclasses differ in class attributes: `class Conv2d(_Conv, dims=2)` has `_dims = 2`."""

    def __init_subclass__(cls, **class_attributes: Any) -> None:
        super().__init_subclass__()
        for name, value in class_attributes.items():
            setattr(cls, f"_{name}", staticmethod(value) if callable(value) else value)


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class Layer(Family):
    """A module that stores its settings, and calls one function with its input and the settings.

    Its settings are declared as the fields of a dataclass, which writes `__init__`:

        class LeakyReLU(Layer, function=F.leaky_relu):
            negative_slope: float = 1e-2
            inplace: bool = False

    `arguments` are the attributes that the function gets after the input, by default all settings; `printed` those that
    are printed, by default the arguments. A user's subclass has no such keywords, and is a class like any other.
    """

    _function: ClassVar[Callable[..., Any]]
    _arguments: ClassVar[tuple[str, ...]] = ()
    _printed: ClassVar[tuple[str, ...] | None] = None

    def __init_subclass__(cls, **class_attributes: Any) -> None:
        super().__init_subclass__(**class_attributes)
        settings = get_annotations(cls)
        if class_attributes and settings:
            layer: Any = dataclass(eq=False, repr=False, match_args=False)(cls)
            for name in settings:  # no default stays on the class: it would hide a buffer of that name
                if name in vars(cls):
                    delattr(cls, name)
            cls._arguments = class_attributes.get("arguments", tuple([setting.name for setting in fields(layer)]))
            layer.__init__ = after_module_init(layer.__init__)
        if "function" in class_attributes and cls.forward is Module.forward:
            call = calling(class_attributes["function"], cls._arguments)
            cls.forward = call  # type: ignore[method-assign]  # in place of a `def`

    def extra_repr(self) -> str:
        return attributes(self, *self._arguments if self._printed is None else self._printed)


def after_module_init(store_settings: Callable[..., None]) -> Callable[..., None]:
    """Make the `__init__` of a layer: that of Module, then the one that stores the settings."""
    @wraps(store_settings)
    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        store_settings(self, *args, **kwargs)
    return __init__


def calling(function: Callable[..., Any], names: tuple[str, ...]) -> Callable[..., Any]:
    """Make a `forward` that calls a function with its input and these attributes, as fast as one written out."""
    values: Any = attrgetter(*names) if names else None  # a value for one name, a tuple for several

    def forward(self: Module, input: Any) -> Any:
        return function(input)

    def forward_with_one(self: Module, input: Any) -> Any:
        return function(input, values(self))

    def forward_with_several(self: Module, input: Any) -> Any:
        return function(input, *values(self))

    return (forward, forward_with_one, forward_with_several)[min(len(names), 2)]


def empty_parameter(shape: int | tuple[int, ...], device: Any, dtype: dtype_type | None,
                    requires_grad: bool = True) -> Parameter:
    """Make a Parameter whose values are still to be set."""
    return Parameter(empty(shape, device=device, dtype=dtype), requires_grad)


def reset_weight_and_bias(weight: Parameter, bias: Parameter | None) -> None:
    """Draw weight and bias uniformly from ±1/√n, where n is the number of inputs of an output."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        inputs = init.fans(weight)[0]
        bound = 1 / math.sqrt(inputs) if inputs > 0 else 0
        init.uniform_(bias, -bound, bound)
