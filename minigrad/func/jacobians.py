"""Whole Jacobians: `jacrev` collects their rows, `jacfwd` their columns; `hessian` is one around the other.

All rows are one backward pass, and all columns one run of the function, of a batch of unit vectors (`vmap`; a single
row, as of a loss, is a plain backward pass). Which is
cheaper depends on the shape: with few inputs and many outputs take `jacfwd`, with many inputs and few outputs `jacrev`;
a Hessian is square, and columns of rows need no graph of a graph.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from minigrad._base.nested import leaves
from minigrad.autograd.functional import unit_vectors
from minigrad.core import Tensor
from minigrad.func.transforms import Argnums, Function, jvp, only_tensors, positions, refilled, vjp, wrapped
from minigrad.func.vmap import vmap
from minigrad.ops.shape.join import stack

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Function:
    """Return a function that computes the Jacobian of a function row by row, by a backward pass for all rows.

    For each output (of a tree) and each argument of `argnums` the result has a tensor of shape
    `output.shape + input.shape`. `has_aux`: `func` returns a pair, of which only the first is differentiated; the
    result is then a pair too. `chunk_size`: compute so many rows at a time, which takes less memory; 1 does without
    `vmap`. Raises ValueError for 0.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wrapped(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        places = positions(argnums, len(args))
        output, vjp_fn, *aux = vjp(by_chosen(func, args, kwargs, places), *[args[each] for each in places],
                                   has_aux=has_aux)
        outputs, inputs = list(leaves(output)), only_tensors([args[each] for each in places])
        units = unit_vectors(outputs)

        def pulled(*cotangents: Any) -> Any:
            return list(leaves(vjp_fn(refilled(output, iter(cotangents)))))

        if not len(units[0]):
            rows = [each.new_zeros((0, *each.shape)) for each in inputs]
        elif len(outputs) == len(units[0]) == 1:  # one row, as of a loss: a gradient
            rows = pulled(units[0].reshape(outputs[0].shape))
        elif chunk_size == 1:  # no batch, which asks for a rule: one row after the other
            rows = [stack(column) for column in zip(*[pulled(*row) for row in zip(*units, strict=True)], strict=True)]
        else:
            rows = vmap(pulled, chunk_size=chunk_size)(*units)
        parts = [split(row, outputs, 0) for row in rows]  # for each input, those of all outputs
        jacobian = refilled(output, iter([arranged(args, argnums, places, iter([
            of_shape(part[index], (*each.shape, *given.shape)) for part, given in zip(parts, inputs, strict=True)]))
            for index, each in enumerate(outputs)]))
        return (jacobian, aux[0]) if has_aux else jacobian

    return transformed


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error",
           chunk_size: int | None = None) -> Function:
    """Return a function that computes the Jacobian of a function column by column, by one run in forward mode.

    The arguments and the result are those of `jacrev`. `randomness`: what random draws inside the function do, which
    runs for all columns at once: `"error"`, `"same"` draws for each, or `"different"` ones.
    """
    @wrapped(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        places = positions(argnums, len(args))
        primals = tuple([args[each] for each in places])
        inputs = only_tensors(primals)
        chosen = by_chosen(func, args, kwargs, places)
        form: list[Any] = []

        def pushed(*direction: Any) -> Any:
            output, tangent, *rest = jvp(chosen, primals, refilled(primals, iter(direction)), has_aux=has_aux)
            form[:] = [output]
            return list(leaves(tangent)), rest

        columns, aux = vmap(pushed, randomness=randomness, chunk_size=chunk_size)(*unit_vectors(inputs))
        parts = [arranged(args, argnums, places, iter([
            of_shape(part, (*column.shape[1:], *given.shape)) for part, given in zip(
                split(column.movedim(0, -1), inputs, -1), inputs, strict=True)])) for column in columns]
        jacobian = refilled(form[0], iter(parts))
        return (jacobian, refilled(aux[0], iter([each[0] for each in leaves(aux[0])]))) if has_aux else jacobian

    return transformed


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """Return a function that computes the Hessian of a function: `jacfwd(jacrev(func))`."""
    return jacfwd(jacrev(func, argnums), argnums)


def by_chosen(func: Function, args: Sequence[Any], kwargs: dict[str, Any], places: Sequence[int]) -> Function:
    """Return the function of the arguments at some places; the others stay as they are."""
    def of_chosen(*chosen: Any) -> Any:
        given = list(args)
        for place, value in zip(places, chosen, strict=True):
            given[place] = value
        return func(*given, **kwargs)

    return of_chosen


def split(tensor: Tensor, by: Sequence[Tensor], dim: int) -> Sequence[Tensor]:
    """The parts of a tensor along a dimension that has the unit vectors of some tensors, for each of these."""
    return [tensor] if len(by) == 1 else tensor.split([each.numel() for each in by], dim)


def of_shape(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor in this shape, itself if it has it."""
    return tensor if tensor.array.shape == shape else tensor.reshape(shape)


def arranged(args: Sequence[Any], argnums: Argnums, places: Sequence[int], parts: Iterator[Any]) -> Any:
    """Parts of a Jacobian in the form of the chosen arguments: one, or a tuple of several."""
    trees = tuple([refilled(args[each], parts) for each in places])
    return trees[0] if isinstance(argnums, int) else trees
