"""`backward` and `grad`: mirrors `torch/autograd/__init__.py`. Checks the arguments, then runs the engine."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad._dtype import Size
from minigrad.autograd.engine import execute
from minigrad.autograd.graph import GradientEdge
from minigrad.autograd.graph_task import destination
from minigrad.autograd.saved import REGISTRY, is_tensor
from minigrad.autograd.views import edge_of

__all__ = ["backward", "grad"]

TensorOrTensors = Any  # a tensor, a GradientEdge, or a sequence of them


def backward(tensors: TensorOrTensors, grad_tensors: TensorOrTensors | None = None, retain_graph: bool | None = None,
             create_graph: bool = False, grad_variables: TensorOrTensors | None = None,
             inputs: TensorOrTensors | None = None) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves that they were computed from.

    `grad_tensors`: for each of `tensors` the vector of the vector-Jacobian product, of its shape (None: 1, for a
    tensor of one element). The other arguments are those of `Tensor.backward`.

    Raises:
        RuntimeError: as `Tensor.backward`; with two different `grad_tensors` and `grad_variables`.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                               "`backward()`. Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    wanted = None if inputs is None else _sequence(inputs)
    if wanted is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    roots = _sequence(tensors)
    grads = _root_grads(roots, _sequence(grad_tensors) if grad_tensors is not None else [None] * len(roots))
    if not roots:
        return
    for tensor in wanted or ():
        _check_wanted(tensor)
        if is_tensor(tensor) and not tensor.is_leaf:
            tensor.retain_grad()
    _warn_of_cycle(create_graph)
    execute(_edges(roots), grads, create_graph=create_graph, inputs=wanted,
            keep=create_graph if retain_graph is None else retain_graph)


def grad(outputs: TensorOrTensors, inputs: TensorOrTensors, grad_outputs: TensorOrTensors | None = None,
         retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
         allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, one per input; no `.grad` is touched.

    `grad_outputs`: as `grad_tensors` of `backward`. `allow_unused`: None for an input that the outputs do not depend
    on, where else this is an error. `materialize_grads`: zeros for it. `is_grads_batched`: each of `grad_outputs` has
    one more dimension in front; the results have it too.

    Raises:
        RuntimeError: as `backward`; if an input does not require grad or was not used; if `materialize_grads` is
            asked for with `allow_unused=False` (a ValueError, as in PyTorch).
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
                      "gradient for other parts of the graph, please use torch.autograd.backward.", FutureWarning,
                      stacklevel=2)
    allow_unused = bool(materialize_grads or allow_unused)
    roots, wanted = _sequence(outputs), _sequence(inputs)
    vectors = _sequence(grad_outputs) if grad_outputs is not None else [None] * len(roots)
    if is_grads_batched:
        return _batched(roots, wanted, vectors, retain_graph, create_graph, allow_unused, materialize_grads)
    grads = _root_grads(roots, vectors)
    for tensor in wanted:
        _check_wanted(tensor)
    found = execute(_edges(roots), grads, create_graph=create_graph, inputs=wanted, accumulate=False,
                    keep=create_graph if retain_graph is None else retain_graph)
    for index, got in enumerate(found):
        if got is None and not allow_unused:
            raise RuntimeError(f"The differentiated Tensor at index {index} appears to not have been used in the "
                               "graph. Set allow_unused=True if this is the desired behavior.")
        if got is None and materialize_grads:
            found[index] = REGISTRY.tensor(np.zeros_like(wanted[index].array))
    return tuple(found)


def _batched(roots: Sequence[Any], wanted: Sequence[Any], vectors: Sequence[Any], retain_graph: bool | None,
             create_graph: bool, allow_unused: bool, materialize_grads: bool) -> tuple[Any, ...]:
    """`grad` once per entry of a batch of vectors, by a loop."""
    keep = create_graph if retain_graph is None else retain_graph
    size = len(next(v for v in vectors if v is not None))
    rows = [grad(roots, wanted, [None if v is None else v[i] for v in vectors], keep or i < size - 1, create_graph,
                 allow_unused=allow_unused, materialize_grads=materialize_grads) for i in range(size)]
    return tuple([None if column[0] is None else REGISTRY.words.stack(column, 0)
                  for column in zip(*rows, strict=True)])


def _sequence(given: Any) -> list[Any]:
    return [given] if is_tensor(given) or isinstance(given, GradientEdge) else list(given)


def _edges(roots: Sequence[Any]) -> list[tuple[Any, int]]:
    return [destination(root) for root in roots]


def _check_wanted(tensor: Any) -> None:
    if is_tensor(tensor) and not tensor._requires_grad:
        raise RuntimeError("One of the differentiated Tensors does not require grad")


def _root_grads(roots: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    """The gradients to start from: checked, in the dtype of their tensors, ones where left out."""
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    made = []
    for index, (root, given) in enumerate(zip(roots, grads, strict=True)):
        if isinstance(root, GradientEdge):
            if given is None:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            made.append(given)
            continue
        if given is not None and not is_tensor(given):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
        if given is not None and given.array.shape != root.array.shape:
            raise RuntimeError(f"Mismatch in shape: grad_output[{index}] has a shape of {Size(given.array.shape)} and "
                               f"output[{index}] has a shape of {Size(root.array.shape)}.")
        if given is None and root._requires_grad:
            if root.array.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            given = REGISTRY.tensor(np.ones(root.array.shape, root.array.dtype)[()])
        elif given is not None and given.array.dtype != root.array.dtype:
            given = REGISTRY.words.cast(given, root.array.dtype)
        made.append(given)
    for index, root in enumerate(roots):
        if is_tensor(root) and (not root._requires_grad or edge_of(root) is None):
            raise RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
    return made


def _warn_of_cycle(create_graph: bool) -> None:
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
            "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
            "after use to break the cycle and avoid the leak.", UserWarning, stacklevel=4)
