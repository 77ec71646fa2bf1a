"""Whole Jacobians: `jacrev` collects their rows, `jacfwd` their columns; `hessian` is one around the other.

Which is cheaper depends on the shape: a row costs one backward pass, a column one run of the function. With few inputs
and many outputs take `jacfwd`, with many inputs and few outputs `jacrev`; a Hessian is square, and columns of rows need
no graph of a graph.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minigrad._base.nested import leaves
from minigrad.core import Tensor
from minigrad.func.transforms import Argnums, Function, jvp, only_tensors, positions, refilled, vjp, wrapped
from minigrad.ops.factory import zeros_like
from minigrad.ops.random import default_generator
from minigrad.ops.shape.join import stack

__all__ = ["hessian", "jacfwd", "jacrev"]

RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
          "randomness flags on vmap or perform the randomness operation out of vmap")


def jacrev(func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
           _preallocate_and_copy: bool = False) -> Function:
    """Return a function that computes the Jacobian of a function row by row, each by a backward pass.

    For each output (of a tree) and each argument of `argnums` the result has a tensor of shape
    `output.shape + input.shape`. `has_aux`: `func` returns a pair, of which only the first is differentiated; the
    result is then a pair too. `chunk_size` is accepted: rows are computed one by one. Raises ValueError if it is 0.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @wrapped(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        places = positions(argnums, len(args))
        output, vjp_fn, *aux = vjp(by_chosen(func, args, kwargs, places), *[args[each] for each in places],
                                   has_aux=has_aux)
        outputs = list(leaves(output))

        def of(index: int) -> Any:
            rows = [vjp_fn(refilled(output, iter(one_hot))) for one_hot in one_hots(outputs, index)]
            columns = [list(leaves(row)) for row in rows]
            shape = outputs[index].shape
            stacked = [stack_rows([row[i] for row in columns], shape, given)
                       for i, given in enumerate(only_tensors([args[each] for each in places]))]
            return arranged(args, argnums, places, iter(stacked))

        jacobian = refilled(output, iter([of(index) for index in range(len(outputs))]))
        return (jacobian, aux[0]) if has_aux else jacobian

    return transformed


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error",
           chunk_size: int | None = None) -> Function:
    """Return a function that computes the Jacobian of a function column by column, each by running it in forward mode.

    The arguments and the result are those of `jacrev`. `randomness`: what random draws inside the function do, which
    runs once for each column: `"error"`, `"same"` draws each time, or `"different"` ones.
    """
    @wrapped(func)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        places = positions(argnums, len(args))
        primals = tuple([args[each] for each in places])
        inputs = only_tensors(primals)
        chosen = by_chosen(func, args, kwargs, places)
        columns: list[Any] = []
        output: Any = None
        aux: list[Any] = []
        for index, given in enumerate(inputs):
            pushed = []
            for direction in one_hots(inputs, index):
                with drawing(randomness):
                    output, tangent, *rest = jvp(chosen, primals, refilled(primals, iter(direction)), has_aux=has_aux)
                pushed.append(list(leaves(tangent)))
                aux = rest
            columns.append((given, pushed))
        parts = [arranged(args, argnums, places, iter([
            stack_columns([column[i] for column in pushed], given) for given, pushed in columns]))
            for i in range(len(list(leaves(output))))]
        jacobian = refilled(output, iter(parts))
        return (jacobian, aux[0]) if has_aux else jacobian

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


def one_hots(tensors: Sequence[Tensor], index: int) -> Iterator[list[Tensor]]:
    """Yield the unit vectors of one of some tensors, each with zeros for the others."""
    for element in range(tensors[index].numel()):
        made = [zeros_like(each) for each in tensors]
        made[index].view(-1)[element] = 1
        yield made


def stack_rows(rows: list[Tensor], shape: Sequence[int], given: Tensor) -> Tensor:
    """The rows of a Jacobian as one tensor of shape `shape + given.shape`."""
    whole = (*shape, *given.shape)
    found: Tensor = stack(rows, 0).reshape(whole) if rows else given.new_zeros(whole)
    return found


def stack_columns(columns: list[Tensor], given: Tensor) -> Tensor:
    """The columns of a Jacobian as one tensor, the dimensions of the input last."""
    found: Tensor = stack(columns, -1).reshape((*columns[0].shape, *given.shape))
    return found


def arranged(args: Sequence[Any], argnums: Argnums, places: Sequence[int], parts: Iterator[Any]) -> Any:
    """Parts of a Jacobian in the form of the chosen arguments: one, or a tuple of several."""
    trees = tuple([refilled(args[each], parts) for each in places])
    return trees[0] if isinstance(argnums, int) else trees


@contextmanager
def drawing(randomness: str) -> Iterator[None]:
    """A block with one of many runs of a function. Raises RuntimeError if it draws and may not."""
    before = default_generator.get_state()
    yield
    if randomness == "different":
        return
    if randomness == "error" and not default_generator.get_state().equal(before):
        raise RuntimeError(RANDOM)
    default_generator.set_state(before)
