"""Calls a module with parameters other than its own: mirrors `torch/nn/utils/stateless.py`."""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from minigrad._base.contexts import contextmanager, ensure
from minigrad.core import Tensor
from minigrad.nn.modules.module import Module

__all__ = ["functional_call"]

DEPRECATED = (
    "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future "
    "version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.")

MISSING = object()  # what a module had under a name that it did not have


def names_of_tied(module: Module) -> dict[str, set[str]]:
    """For each name of a tensor that a module holds under several names, all of them."""
    names: dict[int, set[str]] = defaultdict(set)
    for name, tensor in (*module.named_parameters(remove_duplicate=False),
                         *module.named_buffers(remove_duplicate=False)):
        names[id(tensor)].add(name)
    return {name: group for group in names.values() if len(group) > 1 for name in group}


def for_all_names(module: Module, given: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return what was given for one name of a tied tensor, for all of its names."""
    result = dict(given)
    for name, group in names_of_tied(module).items():
        chosen = {id(given[other]): given[other] for other in group if other in given}
        if len(chosen) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(group)}, which are tied. Consider "
                             "using tie_weights=False")
        if chosen:
            result[name] = next(iter(chosen.values()))
    return result


def check_names(module: Module, given: Mapping[str, Tensor]) -> None:
    """Raise PyTorch's error if names are missing or superfluous."""
    known = {name for name, _ in (*module.named_parameters(remove_duplicate=False),
                                  *module.named_buffers(remove_duplicate=False))}
    texts = [f"{what} key(s): {', '.join(map(repr, names))}." for what, names in (
        ("Unexpected", sorted({*given} - known)), ("Missing", sorted(known - {*given}))) if names]
    if texts:
        raise RuntimeError("Error(s) in reparametrizing for {}:\n\t{}".format(module._get_name(), "\n\t".join(texts)))


def holder_of(module: Module, path: list[str]) -> Module:
    """Return the submodule at a path. Raises AttributeError if there is none, and TypeError if it is no module."""
    for count, part in enumerate(path, 1):
        if not hasattr(module, part):
            raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
        module = getattr(module, part)
        if not isinstance(module, Module):
            raise TypeError(f"submodule `{'.'.join(path[:count])}`: {module} is not an instance of torch.nn.Module")
    return module


def exchange(module: Module, name: str, tensor: Any) -> Any:
    """Replace a parameter, a buffer or an attribute of a module by a tensor, also by MISSING, or add it; return what
    was there. Raises TypeError if one of them is no tensor, and KeyError for an empty name."""
    *path, last = name.split(".")
    module = holder_of(module, path)
    check_tensor(tensor, "")
    if not last:
        raise KeyError('tensor name can\'t be empty string ""')
    for held in (module._parameters, module._buffers, vars(module)):
        if last in held:
            old = held[last]
            check_tensor(old, f"attribute `{last}`: ")
            if tensor is MISSING:
                del held[last]
            else:
                held[last] = tensor
            return old
    old = getattr(module, last, MISSING)
    check_tensor(old, f"attribute `{last}`: ")
    if tensor is not MISSING:  # else the call has taken away itself what was added for it
        setattr(module, last, tensor)
    return old


def check_tensor(value: Any, where: str) -> None:
    """Raise PyTorch's TypeError unless a value can stand where a module has a tensor."""
    if not (value is MISSING or value is None or isinstance(value, Tensor)):
        raise TypeError(f"{where}{value} is not an instance of torch.Tensor")


@contextmanager
def exchange_block(module: Module, tensors: Mapping[str, Tensor]) -> Iterator[None]:
    """A block in which these tensors replace a module's own."""
    own: dict[str, Any] = {}

    def put_back() -> None:
        for name, tensor in own.items():
            exchange(module, name, tensor)

    with ensure(put_back):
        for name, tensor in tensors.items():
            own[name] = exchange(module, name, tensor)
        yield


def functional_call(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """The old name of `minigrad.func.functional_call`, which takes several dicts too. Warns that it is old."""
    warnings.warn(DEPRECATED, FutureWarning, stacklevel=2)
    return called_with(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def called_with(module: Module, parameters_and_buffers: dict[str, Tensor], args: Any = None,
                kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """What `functional_call` does, with one dict. Raises ValueError if tied names are given different tensors, and
    RuntimeError if `strict`, for names other than the module's."""
    given = for_all_names(module, parameters_and_buffers) if tie_weights else dict(parameters_and_buffers)
    if strict:
        check_names(module, given)
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with exchange_block(module, given):
        return module(*arguments, **(kwargs or {}))
