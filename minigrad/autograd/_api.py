"""`backward` and `grad`: mirrors `torch/autograd/__init__.py`, and the checks of PyTorch's `python_engine.cpp`."""

import importlib
import warnings
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, overload

from minigrad.backends.batched import in_batches
from minigrad.core import UNUSUAL, Tensor
from minigrad.core.arguments import inputs_of, sequence_of
from minigrad.core.engine import execute, start_grads

__all__ = ["backward", "batched", "grad", "run_backward"]

TensorOrTensors = Any  # a tensor, a GradientEdge, or a sequence of them; inputs may also be a dict with such values


def backward(tensors: TensorOrTensors, grad_tensors: TensorOrTensors | None = None, retain_graph: bool | None = None,
             create_graph: bool = False, grad_variables: TensorOrTensors | None = None,
             inputs: TensorOrTensors | None = None) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves that they were computed from.

    `grad_tensors`: for each of `tensors` the vector of the vector-Jacobian product, of the same shape (None: 1, for a
    tensor of one element). The other arguments are those of `Tensor.backward`. Raises RuntimeError as
    `Tensor.backward`; if `grad_tensors` and `grad_variables` are both given and differ.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to "
                               "`backward()`. Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    wanted = () if inputs is None else inputs_of(inputs, "backward")
    roots = sequence_of(tensors)
    if UNUSUAL.transforms is not None:
        UNUSUAL.transforms.refuse_pass(roots, True)
    execute(roots, start_grads(roots, _vectors(grad_tensors, roots)),
            create_graph if retain_graph is None else retain_graph, create_graph, wanted)


@overload
def grad(outputs: TensorOrTensors, inputs: dict[str, Any], *args: Any, **options: Any) -> dict[str, Any]: ...


@overload
def grad(outputs: TensorOrTensors, inputs: TensorOrTensors, *args: Any, **options: Any) -> tuple[Any, ...]: ...


def grad(outputs: TensorOrTensors, inputs: TensorOrTensors, grad_outputs: TensorOrTensors | None = None,
         retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
         allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """Return the gradients of `outputs` with respect to `inputs`, one per input; no `.grad` is touched.

    They come as a tuple, or as a dict if `inputs` is one. `grad_outputs`: as `grad_tensors` of `backward`.
    `allow_unused`: return None for an input that the outputs do not depend on, which is otherwise an error.
    `materialize_grads`: return zeros for such an input. `is_grads_batched`: each of `grad_outputs` has one more
    dimension in front; the results have it too. Raises RuntimeError as `backward`; if an input does not require grad or
    was not used, and ValueError if `materialize_grads` is combined with `allow_unused=False`.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    roots, wanted = sequence_of(outputs), inputs_of(inputs, "grad")
    if UNUSUAL.transforms is not None:
        UNUSUAL.transforms.refuse_pass(roots, False)
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
                      "gradient for other parts of the graph, please use torch.autograd.backward.", FutureWarning,
                      stacklevel=2)
    keep = create_graph if retain_graph is None else retain_graph
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    vectors = start_grads(roots, _vectors(grad_outputs, roots), is_grads_batched)
    if is_grads_batched:
        found = batched(lambda row, last: run_backward(roots, row, keep or not last, create_graph, wanted,
                                                       allow_unused), vectors)
    else:
        found = run_backward(roots, vectors, keep, create_graph, wanted, allow_unused)
    if materialize_grads:
        found = _materialized(found, wanted, create_graph)
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def run_backward(tensors: Sequence[Any], grad_tensors: Sequence[Any], keep_graph: bool, create_graph: bool,
                 inputs: Sequence[Any] = (), allow_unreachable: bool = False,
                 accumulate_grad: bool = False) -> tuple[Any, ...]:
    """Run the engine, as `Variable._execution_engine.run_backward` does. Nothing is changed if a check fails. Raises
    RuntimeError if a root or an input is not a tensor or does not require grad, or an input was not reached."""
    allow_unreachable, accumulate_grad = bool(index(allow_unreachable)), bool(index(accumulate_grad))
    found = execute(tensors, grad_tensors, keep_graph, create_graph, inputs, accumulate_grad)
    for i, got in enumerate(found):
        if got is None and not allow_unreachable:
            raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                               "Set allow_unused=True if this is the desired behavior.")
    return tuple(found)


def _vectors(grads: Any, roots: Sequence[Any]) -> tuple[Any, ...]:
    return (None,) * len(roots) if grads is None else sequence_of(grads)


def batched(run: Callable[[Sequence[Any], bool], Sequence[Any]], vectors: Sequence[Any]) -> tuple[Any, ...]:
    """Return what `run` finds for each entry of a batch of vectors, stacked: by `vmap` in one call, or by a loop where
    there are no batches of the arrays. `run` gets the vectors of an entry, and whether this is the last call.

    The errors for vectors that do not fit together are those of PyTorch's vmap. The module of `vmap`, which is built on
    passes, is loaded here.
    """
    for vector in vectors:
        if vector is None:
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for an input but the input is of type <class "
                "'NoneType'>. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim")
        if vector.array.ndim == 0:
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
                "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0.")
    sizes = [len(vector) for vector in vectors]
    if len(set(sizes)) > 1:
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    if all(in_batches(vector.array) for vector in vectors):
        found: tuple[Any, ...] = importlib.import_module("minigrad.func.vmap").of_passes(
            lambda *row: run(row, True), vectors)
        return found
    rows = [run([vector[i] for vector in vectors], i == sizes[0] - 1) for i in range(sizes[0])]
    return tuple([None if column[0] is None else Tensor.backward_namespace.stack(column, 0)
                  for column in zip(*rows, strict=True)])


def _materialized(found: Sequence[Any], wanted: Sequence[Any], requires_grad: bool) -> tuple[Any, ...]:
    """Return the gradients with zeros in place of None."""
    made = []
    for got, given in zip(found, wanted, strict=True):
        if got is None:
            if not isinstance(given, Tensor):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            got = Tensor.backward_namespace.zeros(given.array.shape, given)
            got._requires_grad = requires_grad
        made.append(got)
    return tuple(made)
