"""`vmap`: a function of one example, as a function of a batch of them. Mirrors `torch/_functorch/vmap.py`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from minigrad._base.nested import leaves
from minigrad.backends.batched import OF_NUMBERS, OF_PASSES, Level, NoRule, batched_at, in_batches, overlap
from minigrad.core import Tensor
from minigrad.func.batching import Enter, Leave, entering, lifted
from minigrad.func.transforms import refilled, structure
from minigrad.history.views import share
from minigrad.ops.random import default_generator
from minigrad.ops.shape.join import cat, stack

__all__ = ["of_passes", "vmap"]

Function = Callable[..., Any]
RANDOMNESS = ("error", "different", "same")


def vmap(func: Function, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Function:
    """Return a function that runs `func` on all examples of a batch at once.

    `func` is written for one example; inside, its tensors lack the dimension of the batch. You need it where a function
    of one example is given: per-example gradients, `vmap(grad(loss))`, or the rows of a Jacobian. On a device other
    than the CPU, and for bfloat16, it runs `func` for each example.

    Args:
        in_dims: which dimension of each argument has the examples; None: the argument is the same for all. One number
            for all arguments, or a tree like theirs.
        out_dims: which dimension of each result gets them; None for a result that is the same for all.
        randomness: what random draws do: `"error"` refuses them, `"different"` draws for each example, `"same"` once.
        chunk_size: run so many examples at a time, which takes less memory.

    Raises ValueError, PyTorch's, for dimensions that do not fit the arguments or results, and for batches of several
    sizes; RuntimeError if the function asks for a number or a truth value of a tensor, which differs between examples.
    """
    if randomness not in RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func, assigned=[name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(func, name)])
    def batched(*args: Any, **kwargs: Any) -> Any:
        return Call(func, in_dims, out_dims, randomness).run(args, kwargs, chunk_size)

    return batched


def of_passes(run: Callable[..., Sequence[Any]], vectors: Sequence[Tensor]) -> tuple[Any, ...]:
    """Return what a pass finds for each entry of a batch of vectors, stacked, or None; all entries make one pass.

    This is what `is_grads_batched` and `vectorize` run. PyTorch runs them by its first `vmap`, which is no transform,
    and whose errors have other words.
    """
    missing: list[bool] = []

    def found_by(*rows: Any) -> list[Any]:
        found = run(*rows)
        missing[:] = [each is None for each in found]
        return [each for each in found if each is not None]

    try:
        columns = iter(Call(found_by, 0, 0, OF_PASSES).run(tuple(vectors), {}, None))
    except RuntimeError as error:
        if isinstance(error.__cause__, NoRule) and error.args[0] in OF_NUMBERS:
            raise RuntimeError(OF_NUMBERS[error.args[0]]) from error.__cause__
        raise
    return tuple([None if none else next(columns) for none in missing])


class Call:
    """One call of a function that `vmap` returned."""

    def __init__(self, func: Function, in_dims: Any, out_dims: Any, randomness: str) -> None:
        self.func, self.in_dims, self.out_dims, self.randomness = func, in_dims, out_dims, randomness

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], chunk_size: int | None) -> Any:
        """Check the arguments, run the function on batches, and return what these contain."""
        for dim in leaves(self.out_dims):
            if not (dim is None or isinstance(dim, int)):
                raise ValueError(f"vmap({name_of(self.func)}, ..., out_dims={self.out_dims}): `out_dims` must be an "
                                 "int, None or a python collection of ints representing where in the outputs the "
                                 "vmapped dimension should appear.")
        dims = self.dims_of(args)
        values = [lifted(value) if isinstance(value, Tensor) else value for value in leaves(args)]
        size = size_of(values, dims)
        if size and not all(dim is None or in_batches(value.array) for value, dim in zip(values, dims, strict=True)):
            return self.one_by_one(args, values, dims, size, kwargs)
        if chunk_size is None or not size:
            return self.of_batch(args, values, dims, size, kwargs)
        state = default_generator.get_state()
        results = []
        for start in range(0, size, chunk_size):
            length = min(chunk_size, size - start)
            if self.randomness == "same":
                default_generator.set_state(state)
            part = [value if dim is None else value.narrow(dim, start, length)
                    for value, dim in zip(values, dims, strict=True)]
            results.append(self.of_batch(args, part, dims, length, kwargs))
        return self.joined(results, cat)

    def dims_of(self, args: tuple[Any, ...]) -> list[int | None]:
        """The dimension of each tensor among the arguments. Raises PyTorch's ValueErrors if they do not fit."""
        call = f"vmap({name_of(self.func)}, in_dims={self.in_dims}, ...)(<inputs>): "
        if not isinstance(self.in_dims, (int, tuple)):
            raise ValueError(f"{call}expected `in_dims` to be int or a (potentially nested) tuple matching the "
                             f"structure of inputs, got: {type(self.in_dims)}.")
        if not args:
            raise ValueError(f"vmap({name_of(self.func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
                             "you are trying to vmap over a function with no inputs. The latter is unsupported.")
        dims = spread(self.in_dims, args)
        if dims is None:
            raise ValueError(f"{call}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
                             f"{structure(self.in_dims)} but inputs has structure {structure(args)}.")
        for i, (value, dim) in enumerate(zip(leaves(args), dims, strict=True)):
            if dim is None:
                continue
            if not isinstance(dim, int):
                raise ValueError(f"{call}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
                                 "or None.")
            if not isinstance(value, Tensor):
                raise ValueError(f"{call}Got in_dim={dim} for an input but the input is of type {type(value)}. We "
                                 "cannot vmap over non-Tensor arguments, please use None as the respective in_dim")
            if not -value.ndim <= dim < value.ndim:
                raise ValueError(f"{call}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality "
                                 f"{value.ndim} so expected in_dim to satisfy -{value.ndim} <= in_dim < {value.ndim}.")
            dims[i] = dim % value.ndim
        return dims

    def of_batch(self, args: Any, values: Sequence[Any], dims: Sequence[int | None], size: int,
                 kwargs: dict[str, Any]) -> Any:
        """Run the function on a batch of so many examples."""
        with entering(size, self.randomness) as level:
            given = [value if dim is None else Enter.forward(value, level, dim)
                     for value, dim in zip(values, dims, strict=True)]
            level.given += [(each.array, dim, value) for each, dim, value in zip(given, dims, values, strict=True)
                            if dim is not None]
            sources = {id(each): value for each, value, dim in zip(given, values, dims, strict=True) if dim is not None}
            try:
                return self.left(self.func(*refilled(args, iter(given)), **kwargs), level, sources)
            except NoRule as error:
                raise RuntimeError(*error.args) from error

    def one_by_one(self, args: Any, values: Sequence[Any], dims: Sequence[int | None], size: int,
                   kwargs: dict[str, Any]) -> Any:
        """Run the function on one example after the other: there are no batches of its arrays."""
        state = default_generator.get_state()
        results = []
        for i in range(size):
            if self.randomness == "same":
                default_generator.set_state(state)
            given = [value if dim is None else value.select(dim, i) for value, dim in zip(values, dims, strict=True)]
            results.append(self.func(*refilled(args, iter(given)), **kwargs))
        return self.joined(results, stack)

    def left(self, results: Any, level: Level, sources: dict[int, Tensor]) -> Any:
        """Results as those outside see them; `sources`: by the id of a batch, what it was made of. Raises ValueError if
        `out_dims` does not fit them."""
        if isinstance(results, Tensor):
            single = isinstance(self.out_dims, tuple) and len(self.out_dims) == 1
            dims = [self.out_dims[0] if single else self.out_dims]
            fits = dims[0] is None or isinstance(dims[0], int)
        else:
            found = spread(self.out_dims, results)
            dims, fits = found or [], found is not None
        if not fits:
            raise ValueError(f"vmap({name_of(self.func)}, ..., out_dims={self.out_dims})(<inputs>): out_dims is not "
                             f"compatible with the structure of `outputs`. out_dims has structure "
                             f"{structure(self.out_dims)} but outputs has structure {structure(results)}.")
        return refilled(results, iter([self.outside(each, dim, level, sources)
                                       for each, dim in zip(leaves(results), dims, strict=True)]))

    def outside(self, result: Any, dim: int | None, level: Level, sources: dict[int, Tensor]) -> Any:
        """One result, with its examples along a dimension; a view of an argument is one outside too."""
        name = name_of(self.func)
        if dim is None:
            if isinstance(result, Tensor) and batched_at(result.array, level):
                raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
            return result
        if not isinstance(result, Tensor):
            raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(result)}. Did you "
                             "mean to set out_dims= to None for output?")
        ndim = result.array.ndim + 1
        if not -ndim <= dim < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got "
                             f"{dim})")
        left = Leave.forward(lifted(result), level, dim % ndim)
        source = sources.get(id(result if result._base is None else result._base))
        if source is not None and (not left.array.size or overlap(left.array, source.array)):
            share(left, source)
        return left

    def joined(self, results: list[Any], join: Callable[[Any, int], Tensor]) -> Any:
        """The results of several runs, one behind the other."""
        dims = spread(self.out_dims, results[0]) or []
        columns = zip(*[leaves(each) for each in results], strict=True)
        return refilled(results[0], iter([parts[0] if dim is None else join(parts, dim)
                                          for parts, dim in zip(columns, dims, strict=True)]))


def name_of(func: Function) -> str:
    """What PyTorch's errors call a function."""
    if hasattr(func, "__name__"):
        return str(func.__name__)
    return f"functools.partial({name_of(func.func)}, ...)" if isinstance(func, functools.partial) else repr(func)


def spread(dims: Any, tree: Any) -> list[Any] | None:
    """The dimension of each leaf of a tree, from one number for all, or a tree like it; None if that does not fit."""
    if not isinstance(dims, (tuple, list, dict)):
        return [dims] * len(list(leaves(tree)))
    if type(dims) is not type(tree) or len(dims) != len(tree):
        return None
    if isinstance(dims, dict) and isinstance(tree, dict):
        return spread(list(dims.values()), list(tree.values())) if list(dims) == list(tree) else None
    found: list[Any] = []
    for dim, part in zip(dims, tree, strict=True):
        more = spread(dim, part)
        if more is None:
            return None
        found += more
    return found


def size_of(values: Sequence[Any], dims: Sequence[int | None]) -> int:
    """The number of examples. Raises ValueError if there are several, or no dimension has them."""
    sizes = [value.shape[dim] for value, dim in zip(values, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    return int(sizes[0])
