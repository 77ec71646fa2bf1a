"""Sets weights to 0 and keeps them there: mirrors `torch/nn/utils/prune.py`.

A pruned parameter `weight` becomes `weight_orig`, which is trained, times the buffer `weight_mask` of zeros and ones; a
hook multiplies them before each `forward`. `remove` makes the product a plain parameter again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, TypeVar

from minigrad.core import Tensor
from minigrad.nn.modules.module import Module
from minigrad.nn.utils.convert_parameters import parameters_to_vector
from minigrad.ops.factory import ones_like, zeros_like
from minigrad.ops.linalg.norms import norm
from minigrad.ops.random import rand, rand_like
from minigrad.ops.reduce.sort import kthvalue, topk

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity",
           "is_pruned", "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]

M = TypeVar("M", bound=Module)


def hooks_of(module: Module, name: str) -> dict[int, BasePruningMethod]:
    """Return the hooks by which a parameter of a module is pruned, by their keys."""
    return {key: hook for key, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name}


class BasePruningMethod(ABC):
    """A way to choose what is pruned; a subclass defines it in `compute_mask`.

    `PRUNING_TYPE`: "unstructured" if single elements are chosen, "structured" if whole slices along `dim` are, "global"
    if a mask is given. When a parameter is pruned again, it says which part of it is still considered.
    """

    PRUNING_TYPE: ClassVar[str]
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return a mask of the shape of the scores `t`: 0 where `default_mask` is, and where this method prunes."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return the product of the original and the mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask, original = [getattr(module, f"{self._tensor_name}_{part}") for part in ("mask", "orig")]
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
              **kwargs: Any) -> BasePruningMethod:
        """Prune a parameter of a module by this method; what was pruned before stays pruned.

        `args`, `kwargs`: the arguments of the method. `importance_scores`: what the method compares, by default the
        parameter itself.
        """
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}, got "
                                 f"{scores.shape} vs {original.shape}")
        before = hooks_of(module, name)
        if len(before) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
                                 "Use a PruningContainer.")
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        for key, hook in before.items():
            container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            container.add_pruning_method(method)
            method = container
            del module._forward_pre_hooks[key]
        if before:
            default = getattr(module, f"{name}_mask").detach().clone()
        else:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            default = ones_like(original)
        try:
            module.register_buffer(f"{name}_mask", method.compute_mask(scores, default_mask=default))
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if not before:
                module.register_parameter(name, getattr(module, f"{name}_orig"))
                del module._parameters[f"{name}_orig"]
            raise
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a tensor times the mask that this method computes, without a module."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(f"importance_scores should have the same shape as tensor t, got {scores.shape} vs "
                                 f"{t.shape}")
        default = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Module) -> None:
        """Make the product a plain parameter again."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """The methods by which one parameter was pruned, in order; the last considers what the others have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method for the same parameter."""
        if method is not None and not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError("Can only add pruning methods acting on the parameter named "
                             f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods += () if method is None else (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if mask is default_mask:
            mask = mask.clone()
        left = self.left_by_others(method, t, default_mask)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(dtype=mask.dtype)
        return mask

    @staticmethod
    def left_by_others(method: BasePruningMethod, t: Tensor, mask: Tensor) -> Any:
        """Return the part of a tensor that a further method considers, as an index."""
        if method.PRUNING_TYPE == "unstructured":
            return mask.eq(1)
        everything = [slice(None)] * t.ndim
        if method.PRUNING_TYPE == "global":
            return tuple(everything)
        if method.PRUNING_TYPE != "structured":
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        if not hasattr(method, "dim"):
            raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                                 "defined.")
        dim = method.dim + t.ndim if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.ndim}")
        kept = mask.sum(dim=[d for d in range(t.ndim) if d != dim]) != 0
        return (*everything[:dim], kept, *everything[dim + 1:])


def check_amount(amount: Any) -> None:
    """Raise PyTorch's errors for what is neither a count nor a fraction."""
    if not isinstance(amount, Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if float(amount) < 0 or (not isinstance(amount, Integral) and float(amount) > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def count_of(amount: Any, size: int) -> int:
    """Return how many of `size` elements a count or a fraction means."""
    count = int(amount) if isinstance(amount, Integral) else round(amount * size)
    if count > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return count


def check_structured(t: Tensor, dim: int) -> None:
    """Raise PyTorch's errors for a tensor without slices along a dimension."""
    if t.ndim <= 1:
        raise ValueError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                         f"{t.shape} with {t.ndim} dims")
    if dim >= t.ndim:
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


def slices_kept(t: Tensor, dim: int, index: Any, default_mask: Tensor) -> Tensor:
    """Return a mask that keeps the slices of an index along a dimension, where another mask keeps them too."""
    mask = zeros_like(t)
    where: list[Any] = [slice(None)] * t.ndim
    where[dim] = index
    mask[tuple(where)] = 1
    return mask.mul_(default_mask.to(dtype=mask.dtype))


class Identity(BasePruningMethod):
    """Prunes nothing: it makes the mask and the names."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class Amount(BasePruningMethod):
    """A method that prunes an amount: a fraction between 0 and 1, or a count."""

    def __init__(self, amount: Any) -> None:
        check_amount(amount)
        self.amount = amount


class Unstructured(Amount):
    PRUNING_TYPE = "unstructured"

    def without(self, scores: Tensor, count: int, largest: bool, default_mask: Tensor) -> Tensor:
        """Return a mask without the elements whose scores are the largest, or the smallest."""
        mask: Tensor = default_mask.clone()
        if count:
            mask.view(-1)[topk(scores.view(-1), k=count, largest=largest).indices] = 0
        return mask


class RandomUnstructured(Unstructured):
    """Prunes elements at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = count_of(self.amount, t.numel())
        return self.without(rand_like(t) if count else t, count, True, default_mask)


class L1Unstructured(Unstructured):
    """Prunes the elements with the smallest magnitude."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return self.without(t.abs(), count_of(self.amount, t.numel()), False, default_mask)


class RandomStructured(Amount):
    """Prunes slices along `dim` at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_structured(t, self.dim)
        size = t.shape[self.dim]
        count = count_of(self.amount, size)
        if not count:
            return default_mask
        chances = rand(size)
        return slices_kept(t, self.dim, chances > kthvalue(chances, k=count).values, default_mask)


class LnStructured(Amount):
    """Prunes the slices along `dim` that have the smallest n-norm."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        check_structured(t, self.dim)
        size = t.shape[self.dim]
        count = count_of(self.amount, size)
        lengths = norm(t, p=self.n, dim=[d for d in range(t.ndim) if d != self.dim % t.ndim])
        kept = topk(lengths, k=size - count, largest=True).indices
        return slices_kept(t, self.dim, kept, default_mask) if count else default_mask


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"default_mask shape {default_mask.shape} must match self.mask shape "
                                 f"{self.mask.shape}")
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: M, name: str) -> M:
    """Give a parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: M, name: str, amount: Any) -> M:
    """Prune elements at random: `amount` is a fraction or a count."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: M, name: str, amount: Any, importance_scores: Tensor | None = None) -> M:
    """Prune the elements with the smallest magnitude: `amount` is a fraction or a count."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: M, name: str, amount: Any, dim: int) -> M:
    """Prune slices along `dim` at random: `amount` is a fraction or a count of them."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: M, name: str, amount: Any, n: Any, dim: int, importance_scores: Tensor | None = None) -> M:
    """Prune the slices along `dim` with the smallest n-norm: `amount` is a fraction or a count of them."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: M, name: str, mask: Tensor) -> M:
    """Prune where a mask is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: type[BasePruningMethod],
                        importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any) -> None:
    """Prune elements of several parameters as if they were one.

    Args:
        parameters: pairs of a module and a name.
        pruning_method: an unstructured one; `kwargs` are its arguments.
        importance_scores: by such pairs, what the method compares; by default the parameters.

    Raises TypeError if an argument is of another kind.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = [(module, name, getattr(module, name)) for module, name in parameters]
    together = parameters_to_vector([scores.get((module, name), tensor) for module, name, tensor in pairs])
    default = parameters_to_vector([getattr(module, f"{name}_mask", ones_like(t)) for module, name, t in pairs])
    method, container = pruning_method(**kwargs), PruningContainer()
    method._tensor_name = container._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
                        f"{pruning_method} of type {method.PRUNING_TYPE}")
    container.add_pruning_method(method)
    mask, start = container.compute_mask(together, default), 0
    for module, name, tensor in pairs:
        custom_from_mask(module, name, mask=mask[start:start + tensor.numel()].view_as(tensor))
        start += tensor.numel()


def remove(module: M, name: str) -> M:
    """Make a pruned parameter a plain one again, with zeros where it was pruned.

    Raises ValueError if it is not pruned.
    """
    for key, hook in hooks_of(module, name).items():
        hook.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Module) -> bool:
    """Return whether a parameter of a module, or of one inside it, is pruned."""
    return any(isinstance(hook, BasePruningMethod) for each in module.modules()
               for hook in each._forward_pre_hooks.values())
