"""Modules as functions of their parameters: mirrors `torch/_functorch/functional_call.py`."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from minigrad.core import Tensor
from minigrad.nn.modules.batchnorm import _BatchNorm
from minigrad.nn.modules.module import Module
from minigrad.nn.utils.stateless import called_with
from minigrad.ops.shape.join import stack

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]

Tensors = dict[str, Tensor]


def functional_call(module: Module, parameter_and_buffer_dicts: Tensors | Sequence[Tensors], args: Any = None,
                    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False) -> Any:
    """Call a module with these tensors in place of its own, by name; its own are as before afterwards.

    You need it to differentiate by the parameters: `grad(lambda p: loss(functional_call(model, p, x)))(parameters)`.

    Args:
        parameter_and_buffer_dicts: by qualified name; or several such dicts. Names that are left out keep their own.
            A name that the module does not have is an attribute during the call, unless `strict`.
        args: a tuple of arguments of the module, or the only one.
        tie_weights: a tensor that the module holds under several names is replaced under all of them.
        strict: raise RuntimeError if a name is missing or unknown.

    Raises:
        ValueError: a name is in several dicts, or what was given is no dict; tied names got different tensors.
    """
    given = parameter_and_buffer_dicts
    if not isinstance(given, dict):
        if not isinstance(given, Sequence):
            raise ValueError("Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                             f"{type(given)}")
        if not all(isinstance(each, dict) for each in given):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        repeated = [name for name, count in Counter(name for each in given for name in each).items() if count > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: tensor for each in given for name, tensor in each.items()}
    return called_with(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Module]) -> tuple[Tensors, Tensors]:
    """Return the parameters and the buffers of several modules of one class, stacked along a new first dimension.

    The parameters are new leaves. Raises RuntimeError for no modules, of several classes, or in different modes, and
    if a parameter requires grad in some of them only.
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({each.training for each in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(each) for each in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters, buffers = ([dict(named) for named in each] for each in (
        (model.named_parameters() for model in models), (model.named_buffers() for model in models)))
    return stacked(parameters), stacked(buffers)


def stacked(states: list[Tensors]) -> Tensors:
    """One dict of stacked tensors, each a leaf if those that it is made of require grad."""
    result = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        if len({each.requires_grad for each in tensors}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        whole = stack(tensors)
        result[name] = whole.detach().requires_grad_() if tensors[0].requires_grad else whole
    return result


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let all batch norms of a module normalise by each batch, without running statistics; return the module.

    You need it before `vmap`, which refuses to update statistics that the examples share.
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
