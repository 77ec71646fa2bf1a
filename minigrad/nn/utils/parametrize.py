"""Computes parameters of a module from others: mirrors `torch/nn/utils/parametrize.py`.

`register_parametrization(module, "weight", Symmetric())` moves the parameter to
`module.parametrizations.weight.original`, and makes `module.weight` what `Symmetric()` computes from it, anew at each
access. Use it to keep a weight symmetric, orthogonal or of norm 1 while an optimiser changes the original.

To make `weight` a property, a module gets a class of its own, `ParametrizedLinear`, which is a subclass of `Linear`.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from minigrad._base.contexts import contextmanager
from minigrad.autograd.grad_mode import no_grad
from minigrad.core import Tensor
from minigrad.nn.modules.container import ModuleDict, ModuleList
from minigrad.nn.modules.module import Module
from minigrad.nn.parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]

M = TypeVar("M", bound=Module)
NOT_SERIALIZED = (
    "Serialization of parametrized modules is only supported through state_dict(). See:\n"
    "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
    "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")


class Cache:
    """What `cached` keeps: by module and name, the parameter that was computed."""

    depth = 0
    computed: dict[tuple[int, str], Tensor] = {}  # noqa: RUF012  # one for all, as the class is


@contextmanager
def cached() -> Iterator[None]:
    """A block in which each parametrized tensor is computed at its first access and kept until the outermost one ends.

    Use it where a weight is read often, as in a loop over time steps.
    """
    Cache.depth += 1
    try:
        yield
    finally:
        Cache.depth -= 1
        if not Cache.depth:
            Cache.computed.clear()


def keep(module: Module, name: str, tensor: Tensor) -> None:
    """Register a tensor as a parameter if it is one, else as a buffer."""
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def check_kept(new: Tensor, dtype: Any, shape: Any, unless: str, names: tuple[str, str]) -> None:
    """Raise PyTorch's errors for a parametrization that changes the dtype or the shape of its input."""
    for what, given, got in (("dtype", dtype, new.dtype), ("shape", shape, new.shape)):
        if given != got:
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless {unless} "
                             f"flag is enabled.\n{names[0].format(what)}: {given}\n{names[1].format(what)}: {got}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order in which they are applied, and what the first is applied to.

    That is `original`, or `original0`, `original1`, … if `right_inverse` of the first returns several tensors.

    Args:
        modules: the parametrizations; at least one.
        original: the parameter or buffer. `right_inverse` of the modules transforms its values.
        unsafe: allow a result of another dtype or shape.

    Raises ValueError if one of them does not return a tensor, or changes the dtype or the shape.
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not len(modules):
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        dtype, shape = original.dtype, original.shape
        inverse = self._inverse_of(original)
        self.is_tensor = isinstance(inverse, Tensor)
        self.ntensors = 1 if self.is_tensor else len(inverse)
        if self.is_tensor:
            for what in ("dtype", "device"):
                if getattr(original, what) != getattr(inverse, what):
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                                     f"original.{what}: {getattr(original, what)}\n"
                                     f"right_inverse(original).{what}: {getattr(inverse, what)}")
            with no_grad():
                original.set_(inverse)
            keep(self, "original", original)
        else:
            for number, each in enumerate(inverse):
                if not isinstance(each, Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                                     f"Got element {number} of the sequence with type {type(each).__name__}.")
                part = Parameter(each, original.requires_grad) if isinstance(original, Parameter) else each
                keep(self, f"original{number}", part.requires_grad_(original.requires_grad))
        if not unsafe:
            result = self()
            if not isinstance(result, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
            check_kept(result, dtype, shape, "`unsafe`", ("unparametrized {}", "parametrized {}"))

    @no_grad()  # type: ignore[untyped-decorator]  # it takes functions and generators
    def _inverse_of(self, value: Any) -> Any:
        """Apply `right_inverse` of the modules that have one to a value."""
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    continue
        if not isinstance(value, (Tensor, Sequence)):
            raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                             f"{type(value).__name__}")
        return value

    @no_grad()  # type: ignore[untyped-decorator]  # as above
    def right_inverse(self, value: Any) -> None:
        """Set the original so that the parametrized tensor becomes `value`; `module.weight = value` calls this.

        Raises RuntimeError if a parametrization cannot be inverted; ValueError if an inverse is of another kind, number
        or dtype than the original.
        """
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
            value = module.right_inverse(value)
        if self.is_tensor:
            if not isinstance(value, Tensor):
                raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
            if value.dtype != self.original.dtype:
                raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has "
                                 f"dtype {self.original.dtype}")
            self.original.set_(value)
            return
        if not isinstance(value, Sequence):
            raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
        if len(value) != self.ntensors:
            raise ValueError("'right_inverse' must return a sequence of tensors of length "
                             f"{self.ntensors}. Got a sequence of length {len(value)}.")
        for number, each in enumerate(value):
            original = getattr(self, f"original{number}")
            if not isinstance(each, Tensor):
                raise ValueError("'right_inverse' must return a sequence of tensors or reference-type opaques. Got "
                                 f"element {number} of type {type(each).__name__}.")
            if each.dtype != original.dtype:
                raise ValueError(f"Tensor {number} returned by `right_inverse` has dtype {each.dtype} while "
                                 f"`original{number}` has dtype {original.dtype}")
            original.set_(each)

    def forward(self) -> Tensor:
        originals = [self.original] if self.is_tensor else [
            getattr(self, f"original{number}") for number in range(self.ntensors)]
        first, *others = self
        result: Tensor = first(*originals)
        for module in others:
            result = module(result)
        return result


def give_class(module: Module) -> None:
    """Make a module the only instance of a new subclass of its class."""
    cls = type(module)

    def refuse(self: Module) -> None:
        raise RuntimeError(NOT_SERIALIZED)

    def deep(self: Module, memo: dict[int, Any]) -> Module:
        if id(self) not in memo:
            replica = memo[id(self)] = type(self).__new__(type(self))
            replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return memo[id(self)]

    members: dict[str, Any] = {"__getstate__": refuse}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deep
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def give_property(module: Module, name: str) -> None:
    """Make `module.name` compute the parametrized tensor, and an assignment to it set the original."""
    def computed(self: Any) -> Tensor:
        parametrization = self.parametrizations[name]
        if not Cache.depth:
            return parametrization()
        key = id(module), name
        if key not in Cache.computed:
            Cache.computed[key] = parametrization()
        return Cache.computed[key]

    def assign(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(computed, assign))


def check_further(module: Module, name: str, parametrization: Module) -> None:
    """Raise PyTorch's errors for a parametrization that does not fit after those that a tensor has."""
    old = getattr(module, name)
    new = parametrization(old)
    if not isinstance(new, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(new).__name__}.")
    own = f"module.{name}"
    check_kept(new, old.dtype, old.shape, "the `unsafe`", (f"{own}.{{}}", f"parametrization({own}).{{}}"))
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        back = parametrization.right_inverse(new)
    except NotImplementedError:
        return
    if not isinstance(back, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(back).__name__}")
    for what in ("dtype", "shape"):
        if getattr(back, what) != getattr(old, what):
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                             f"{own}, unless the `unsafe` flag is enabled.\n{own}.{what}: {getattr(old, what)}\n"
                             f"returned {what}: {getattr(back, what)}")


def register_parametrization(module: M, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> M:
    """Make a module compute a parameter or buffer by `parametrization`; a second one is applied to the first's result.

    `tensor_name`: the name of a parameter, a buffer, or a tensor that is already parametrized. `parametrization`: its
    `forward` computes the tensor; its `right_inverse`, if it has one, computes the original from the present values,
    and at each assignment. `unsafe`: allow a result of another dtype or shape. Raises ValueError if there is no such
    tensor, or the dtype or shape would change.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            check_further(module, tensor_name, parametrization)
        known: Any = module.parametrizations[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        listed = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            give_class(module)
            module.parametrizations = ModuleDict()
        give_property(module, tensor_name)
        module.parametrizations[tensor_name] = listed
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                         f"'{tensor_name}'")
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a tensor of a module is parametrized; without a name, whether any is."""
    known = getattr(module, "parametrizations", None)
    if not isinstance(known, ModuleDict):
        return False
    return len(known) > 0 if tensor_name is None else tensor_name in known


def remove_parametrizations(module: M, tensor_name: str, leave_parametrized: bool = True) -> M:
    """Make a tensor a plain parameter or buffer again.

    `leave_parametrized`: with the values that the parametrizations compute; otherwise with those of the original.
    Raises ValueError if it is not parametrized, or has several originals that should stay.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    listed: Any = module.parametrizations[tensor_name]
    if listed.is_tensor:
        original = listed.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        computed = getattr(module, tensor_name)
        original = Parameter(computed) if computed.requires_grad else computed
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                         "terms of a sequence of tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    keep(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class of a module as it was before its first parametrization."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Module, to_module: M, tensor_name: str | None = None) -> M:
    """Give a module the parametrizations of another, and its originals: all, or those of one tensor."""
    if is_parametrized(from_module):
        source: Any = from_module.parametrizations
        for name in list(source) if tensor_name is None else [tensor_name]:
            if not hasattr(to_module, name):
                setattr(to_module, name, Parameter(getattr(from_module, name)))
            for parametrization in source[name]:
                register_parametrization(to_module, name, parametrization)
            target: Any = to_module.parametrizations[name]
            names = ["original"] if source[name].is_tensor else [f"original{i}" for i in range(source[name].ntensors)]
            for original in names:
                setattr(target, original, getattr(source[name], original))
    return to_module
