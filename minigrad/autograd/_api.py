"""`backward` and `grad`: mirrors `torch/autograd/__init__.py`, and the checks of PyTorch's `python_engine.cpp`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, overload

import numpy as np

from minigrad._base.dtype import Size
from minigrad._base.type_name import type_name
from minigrad._base.warnings import warn_once
from minigrad.autograd.graph import metadata_of
from minigrad.backends.registry import HERE, OF_TYPE, beside, lies_in
from minigrad.core.engine import edge_of, execute
from minigrad.core.evaluate import check_device
from minigrad.core.graph import GradientEdge, gradient_edge
from minigrad.core.saved import is_tensor
from minigrad.core.tensor import Tensor, plain

__all__ = ["backward", "grad", "run_backward"]

TensorOrTensors = Any  # a tensor, a GradientEdge, or a sequence of them; inputs may also be a dict with such values


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
    wanted = () if inputs is None else _inputs(inputs, "backward")
    roots = _sequence(tensors)
    run_backward(roots, _make_grads(roots, _vectors(grad_tensors, roots), False),
                 create_graph if retain_graph is None else retain_graph, create_graph, wanted,
                 allow_unreachable=True, accumulate_grad=True)


@overload
def grad(outputs: TensorOrTensors, inputs: dict[str, Any], *args: Any, **options: Any) -> dict[str, Any]: ...


@overload
def grad(outputs: TensorOrTensors, inputs: TensorOrTensors, *args: Any, **options: Any) -> tuple[Any, ...]: ...


def grad(outputs: TensorOrTensors, inputs: TensorOrTensors, grad_outputs: TensorOrTensors | None = None,
         retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True,
         allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> Any:
    """The gradients of `outputs` with respect to `inputs`, one per input; no `.grad` is touched.

    They come as a tuple, or as a dict if `inputs` is one. `grad_outputs`: as `grad_tensors` of `backward`.
    `allow_unused`: None for an input that the outputs do not depend on, where else this is an error.
    `materialize_grads`: zeros for it. `is_grads_batched`: each of `grad_outputs` has one more dimension in front; the
    results have it too.

    Raises:
        RuntimeError: as `backward`; if an input does not require grad or was not used.
        ValueError: if `materialize_grads` is asked for with `allow_unused=False`.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                         "allow_unused=False.")
    roots, wanted = _sequence(outputs), _inputs(inputs, "grad")
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
                      "gradient for other parts of the graph, please use torch.autograd.backward.", FutureWarning,
                      stacklevel=2)
    keep = create_graph if retain_graph is None else retain_graph
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    vectors = _make_grads(roots, _vectors(grad_outputs, roots), is_grads_batched)
    if is_grads_batched:
        found = _batched(lambda row, last: run_backward(roots, row, keep or not last, create_graph, wanted,
                                                        allow_unused), vectors)
    else:
        found = run_backward(roots, vectors, keep, create_graph, wanted, allow_unused)
    if materialize_grads:
        found = _materialized(found, wanted, create_graph)
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def run_backward(tensors: Sequence[Any], grad_tensors: Sequence[Any], keep_graph: bool, create_graph: bool,
                 inputs: Sequence[Any] = (), allow_unreachable: bool = False,
                 accumulate_grad: bool = False) -> tuple[Any, ...]:
    """Run the engine; what `Variable._execution_engine` has under this name. Nothing is changed if a check fails.

    Raises:
        RuntimeError: if a root or an input is no tensor or does not require grad, or an input was not reached.
    """
    keep_graph, create_graph = bool(index(keep_graph)), bool(index(create_graph))
    allow_unreachable, accumulate_grad = bool(index(allow_unreachable)), bool(index(accumulate_grad))
    if len(tensors) != len(grad_tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grad_tensors)} gradients")
    for i, root in enumerate(tensors):
        if is_tensor(root) and (not root._requires_grad or gradient_edge(root) is None):
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    for each in inputs:
        _check_input(each, accumulate_grad)
    if accumulate_grad:
        for each in inputs:
            if is_tensor(each):
                each.retain_grad()
        if create_graph:
            _warn_of_cycle()
    found = execute([edge_of(root) for root in tensors], grad_tensors, create_graph=create_graph, keep_graph=keep_graph,
                    inputs=inputs, accumulate_grad=accumulate_grad)
    for i, got in enumerate(found):
        if got is None and not allow_unreachable:
            raise RuntimeError(f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                               "Set allow_unused=True if this is the desired behavior.")
    return tuple(found)


def _sequence(given: Any) -> tuple[Any, ...]:
    return (given,) if is_tensor(given) or isinstance(given, GradientEdge) else tuple(given)


def _inputs(given: Any, caller: str) -> tuple[Any, ...]:
    if isinstance(given, Mapping) and type(given) is not dict:
        raise TypeError(f"`inputs` argument to `{caller}()` must be a dict, not {type(given).__name__}. Other Mapping "
                        "types are not supported.")
    wanted = _sequence(given.values() if type(given) is dict else given)
    if not wanted:
        raise RuntimeError(f"`inputs` argument to `{caller}()` cannot be empty.")
    return wanted


def _vectors(given: Any, roots: Sequence[Any]) -> tuple[Any, ...]:
    return (None,) * len(roots) if given is None else (given,) if is_tensor(given) else tuple(given)


def _check_input(given: Any, accumulate: bool) -> None:
    if not (is_tensor(given) or isinstance(given, GradientEdge)):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type_name(given)}")
    if is_tensor(given) and not given._requires_grad:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False" if accumulate else
                           "One of the differentiated Tensors does not require grad")


def _make_grads(roots: Sequence[Any], vectors: Sequence[Any], batched: bool) -> list[Any]:
    """The gradients to start from: of the shapes and dtypes of their roots, and ones where they were left out."""
    made = []
    for i, (root, given) in enumerate(zip(roots, vectors)):
        if not (is_tensor(root) or isinstance(root, GradientEdge)):
            raise AssertionError("Expected output to be a torch.Tensor")
        shape, place, dtype = metadata_of(root) if isinstance(root, GradientEdge) else (
            root.array.shape, beside(root.array) if OF_TYPE else HERE, root.array.dtype)
        if given is not None and not is_tensor(given):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
        if given is not None:
            _check_shape(i, root, shape, given, batched)
            if given.array.dtype != dtype:
                given = Tensor.backward_namespace.cast(given, dtype)
            if place is not HERE or type(given.array) in OF_TYPE:
                given = _placed(i, given, place, batched)
        elif isinstance(root, GradientEdge) or root._requires_grad:
            if any(n != 1 for n in shape):
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            given = plain(np.ones(shape, dtype, like=place)[()])
        made.append(given)
    return made


def _placed(i: int, given: Any, place: Any, batched: bool) -> Any:
    """A gradient where its root lies; numbers go there, in a batch too."""
    if batched and given.array.ndim == 1 and not lies_in(given.array, place):
        return Tensor.backward_namespace.moved(given, place)
    return check_device(given, place, i, Tensor.backward_namespace)


def _check_shape(i: int, root: Any, shape: tuple[int, ...], given: Any, batched: bool) -> None:
    got = given[0].array.shape if batched else given.array.shape
    if got == shape:
        return
    if batched and isinstance(root, GradientEdge):
        raise RuntimeError("Batched grads are not supported with GradientEdge")
    if batched:
        raise RuntimeError(
            "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
            "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
            f"mismatch was detected: grad_output[{i}] has a shape of {Size(got[1:])} and output[{i}] has a "
            f"shape of {Size(shape)}. If you only want some tensors in `grad_output` to be considered batched, "
            "consider using vmap.")
    raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {Size(got)} and output[{i}] has a "
                       f"shape of {Size(shape)}.")


def _batched(vjp: Callable[[list[Any], bool], tuple[Any, ...]], vectors: Sequence[Any]) -> tuple[Any, ...]:
    """`vjp` once for each entry of a batch of vectors, its results stacked; the errors are those of PyTorch's vmap."""
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
    rows = [vjp([vector[i] for vector in vectors], i == sizes[0] - 1) for i in range(sizes[0])]
    return tuple([None if column[0] is None else Tensor.backward_namespace.stack(column, 0)
                  for column in zip(*rows, strict=True)])


def _materialized(found: Sequence[Any], wanted: Sequence[Any], requires_grad: bool) -> tuple[Any, ...]:
    """Zeros in the place of None."""
    made = []
    for got, given in zip(found, wanted, strict=True):
        if got is None:
            if not is_tensor(given):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            got = Tensor.backward_namespace.zeros(given.array.shape, given)
            got._requires_grad = requires_grad
        made.append(got)
    return tuple(made)


def _warn_of_cycle() -> None:
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
        "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid "
        "this. If you have to use this function, make sure to reset the .grad fields of your parameters to None "
        "after use to break the cycle and avoid the leak.")


def _tensor_backward(self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None,
                     create_graph: bool = False, inputs: Any = None) -> None:
    """Add the gradient of this tensor to the `.grad` of the leaves that it was computed from.

    `gradient`: of this tensor's shape; may be left out for a tensor of one element, then it is 1.
    `retain_graph`: keep what the nodes saved (default: `create_graph`). `create_graph`: record the pass itself.
    `inputs`: the tensors to accumulate into (default: all leaves).

    Raises:
        RuntimeError: if this tensor has no graph, `gradient` is missing or has another shape, the graph was freed
            by an earlier pass, or a saved tensor was changed in place.
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_tensor_backward.__name__, _tensor_backward.__qualname__ = "backward", "Tensor.backward"
setattr(Tensor, "backward", _tensor_backward)  # noqa: B010 (mypy lets nobody assign a method)
