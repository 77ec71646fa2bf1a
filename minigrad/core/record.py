"""Records ops: wraps the array that an op computed in a Tensor, and gives it its history.

Every op ends in one of these functions; PyTorch generates them as `VariableType.cpp`. Here it is decided whether the
result of an op requires grad: it does if an input does and grad mode is on. (While grad mode is off in any thread,
`UNUSUAL.modes` is not empty, so `record1` and `record2` need not check it.) These two are for ops with one and
two inputs, `record_n` for any number, `record_many` for ops with several outputs.
"""

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from minigrad.backends.registry import MultiDevice, check_in_use, info_of
from minigrad.core.grad_mode import LOCAL, UNUSUAL
from minigrad.core.graph import ManyOutputs, Node, edge_target, known_accumulator, output_nrs_of
from minigrad.core.saved import versions_of
from minigrad.core.saved_tensor import pack_all
from minigrad.core.tensor import Tensor, blank, plain

__all__ = ["SCALAR_OPERAND", "make_node", "record1", "record2", "record_many", "record_n"]

N = TypeVar("N", bound=Node)
BETWEEN_DEVICES = ("Copy", "ToCopy")  # ops that lead from one device to another
SCALAR_OPERAND = plain(np.zeros(()))  # stands for an operand that is a Python number: an input without an edge


def record1(cls: type[Node], array: Any, a: Tensor, saved: tuple[Any, ...] = (), const: tuple[Any, ...] = (),
            input_metadata: tuple[Any, ...] | None = None) -> Tensor:
    """Wrap `array`, the result of an op with the input `a`.

    `saved` are the values that the formula needs: inputs as tensors, results as arrays, numbers, None for what no
    wanted gradient needs. `const` are its further arguments. `input_metadata` is given where an input was broadcast or
    promoted: for each input the (shape, dtype) of its gradient, or None.
    """
    if UNUSUAL.modes:
        return record_unusual(cls, array, (a,), saved, const, input_metadata)
    result = blank()
    result.array = array
    result._grad = result._grad_fn = result._extras = None
    result._requires_grad = a._requires_grad
    if a._requires_grad:
        if a._extras is None and input_metadata is None:  # output 0 of its node, no view, no version: fill it here
            node = result._grad_fn = cls()
            node.fill((a._grad_fn or a,), saved, const)
        else:
            result._grad_fn = make_node(cls, (a,), saved, const, input_metadata)
    return result


def record2(cls: type[Node], array: Any, a: Tensor, b: Tensor, saved: tuple[Any, ...] = (),
            const: tuple[Any, ...] = (), input_metadata: tuple[Any, ...] | None = None) -> Tensor:
    """Wrap `array`, the result of an op with the inputs `a` and `b`; the other arguments are those of `record1`."""
    if UNUSUAL.modes:
        return record_unusual(cls, array, (a, b), saved, const, input_metadata)
    result = blank()
    result.array = array
    result._grad = result._grad_fn = result._extras = None
    result._requires_grad = requires_grad = a._requires_grad or b._requires_grad
    if requires_grad:
        if a._extras is None and b._extras is None and input_metadata is None:
            node = result._grad_fn = cls()
            node.fill(((a._grad_fn or a) if a._requires_grad else None,
                       (b._grad_fn or b) if b._requires_grad else None), saved, const)
        else:
            result._grad_fn = make_node(cls, (a, b), saved, const, input_metadata)
    return result


def record_n(cls: type[Node], array: Any, inputs: Sequence[Tensor], saved: tuple[Any, ...] = (),
             const: tuple[Any, ...] = (), input_metadata: tuple[Any, ...] | None = None) -> Tensor:
    """Wrap `array`, the result of an op with any number of inputs."""
    if UNUSUAL.modes:
        return record_unusual(cls, array, inputs, saved, const, input_metadata)
    result = plain(array)
    if any(x._requires_grad for x in inputs):
        result._grad_fn, result._requires_grad = make_node(cls, inputs, saved, const, input_metadata), True
    return result


def make_node(cls: type[N], inputs: Sequence[Tensor], saved: tuple[Any, ...], const: tuple[Any, ...],
              input_metadata: tuple[Any, ...] | None) -> N:
    """Make a node over any inputs: results of ops with several outputs, views, tensors with a version."""
    node = cls()
    node.fill(tuple([edge_target(x) for x in inputs]), saved, const, next_output_nrs=output_nrs_of(inputs))
    if [x for x in inputs if known_accumulator(x) is not None]:
        node.hold_accumulators()
    if [s for s in saved if isinstance(s, Tensor) and s._extras is not None]:
        node.extras().versions = versions_of(saved)
    if input_metadata is not None:
        node.extras().input_metadata = input_metadata
    return node


def record_unusual(cls: type[Node], array: Any, inputs: Sequence[Tensor], saved: tuple[Any, ...],
                   const: tuple[Any, ...], input_metadata: tuple[Any, ...] | None) -> Tensor:
    """Wrap a result while something unusual is on, in this thread or in another: a grad mode, a recorder, hooks."""
    result = plain(array)
    if MultiDevice.active and cls.op not in BETWEEN_DEVICES:
        check_in_use(array, [x.array for x in inputs])
    node = None
    if LOCAL.recording and [x for x in inputs if x._requires_grad]:
        node = make_node(cls, inputs, saved, const, input_metadata)
        result._grad_fn, result._requires_grad = node, True
        if LOCAL.saved_tensors_hooks and saved:
            # a hook may unpack another dtype
            node.extras().input_metadata = tuple([(x.array.shape, x.array.dtype) for x in inputs])
            pack_all(node, (result,))
    if LOCAL.observer is not None:
        LOCAL.observer.forward(cls.op, node, inputs, (result,))
    return result


def record_many(cls: type[ManyOutputs], arrays: Sequence[Any], a: Tensor | tuple[Tensor, ...],
                const: tuple[Any, ...] = (), saved: tuple[Any, ...] = ()) -> tuple[Tensor, ...]:
    """Wrap `arrays`, the results of an op with several outputs; `a` is its input, or a tuple of all its inputs."""
    results = tuple([plain(array) for array in arrays])
    inputs = a if isinstance(a, tuple) else (a,)
    if MultiDevice.active and arrays:
        check_in_use(arrays[0], [x.array for x in inputs])
    node = None
    if LOCAL.recording and any(x._requires_grad for x in inputs):
        node = make_node(cls, inputs, saved, const, None)
        node.outputs = len(arrays)
        node.output_info = [info_of(x) for x in arrays]
        for output_nr, result in enumerate(results):
            result._grad_fn, result._output_nr, result._requires_grad = node, output_nr, True
        if LOCAL.saved_tensors_hooks and saved:
            pack_all(node, results)
    if LOCAL.observer is not None:
        LOCAL.observer.forward(cls.op, node, inputs, results)
    return results
