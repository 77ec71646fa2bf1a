"""What NumPy's functions do with batches (NOTE 14 in batched.py): one rule for each family of functions.

In each rule `value` is an array whose first axis counts the examples; an array without it is the same for all. Rules
call NumPy's functions again, since a value may be a batch of a level further out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy.lib.stride_tricks import sliding_window_view

from minigrad.backends.batched import (
    CONTROL_FLOW,
    DYNAMIC,
    IN_PLACE,
    MASK,
    RULES,
    Batched,
    Level,
    NoRule,
    batched_at,
    beside,
    innermost,
    overlap,
)
from minigrad.backends.registry import is_array

np: Any = numpy  # whose types know of no batches

ALL, NEW = slice(None), None


def rule(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule for some of NumPy's functions."""
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RULES.update(dict.fromkeys(functions, function))
        return function
    return register


# ---- Alignment.
def aligned(x: Any, ndim: int, level: Level) -> Any:
    """A value whose examples have so many dimensions, so that they broadcast as they do one by one."""
    if not batched_at(x, level):
        return x
    missing = ndim - x.ndim
    return x.value[(ALL, *(NEW,) * missing)] if missing > 0 else x.value


def whole(x: Any, level: Level) -> Any:
    """A value with the first axis; one that is the same for all is repeated, without a copy."""
    if batched_at(x, level):
        return x.value
    x = x if hasattr(x, "shape") else np.asarray(x)
    return np.broadcast_to(x, (level.size, *x.shape))


def behind(axis: Any, ndim: int) -> Any:
    """An axis, or several, of an example as one of a value; None: all."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    return tuple([behind(each, ndim) for each in axis]) if isinstance(axis, (tuple, list, range)) else int(
        axis) % max(ndim, 1) + 1


def wrap(result: Any, level: Level) -> Any:
    """The results of a function as batches."""
    if isinstance(result, (tuple, list)):
        parts = [wrap(each, level) for each in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return result if result is None else Batched(result, level)


# ---- Elementwise functions.
def elementwise(function: Callable[..., Any], args: Sequence[Any], options: dict[str, Any], level: Any) -> Any:
    """Any function that broadcasts its arguments."""
    ndim = max([x.ndim for x in (*args, *options.values()) if is_array(x)])
    given = {name: aligned(x, ndim, level) for name, x in options.items()}
    return wrap(function(*[aligned(x, ndim, level) for x in args], **given), level)


def broadcasting(function: Any) -> None:
    RULES[function] = lambda *args, **options: elementwise(
        function, args, options, innermost((*args, *options.values())))


for each in (np.isclose, np.nan_to_num, np.round, np.real, np.imag, np.isposinf, np.isneginf, np.iscomplexobj,
             np.angle, np.fix):
    broadcasting(each)


@rule("ufunc")
def ufunc_called(ufunc: Any, method: str, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """All of NumPy's ufuncs, and the other things that a ufunc can do."""
    if not options and method == "__call__" and (result := of_alike(ufunc, *args)) is not None:
        return result
    if method != "__call__":
        return UFUNC_METHODS[method](ufunc, *args, **options)
    out = options.pop("out", None) or tuple(args[ufunc.nin:])
    args = args[:ufunc.nin]
    level = innermost((*args, *out, *options.values()))
    assert level is not None
    if ufunc.signature is not None:
        result = products(ufunc, args, level)
        return result if not out or out[0] is None else written(out[0], result)
    if not out or all(each is None for each in out):
        return elementwise(ufunc, args, options, level)
    if len(out) > 1:
        raise NoRule(IN_PLACE)
    if not batched_at(out[0], level):
        if out[0] is args[0]:  # `x += batch`: Python gives the result to the name `x`
            return elementwise(ufunc, args, options, level)
        raise NoRule(IN_PLACE)
    ndim = max([x.ndim for x in (*args, out[0]) if is_array(x)])
    ufunc(*[aligned(x, ndim, level) for x in args], out=out[0].value, **options)
    return out[0]


def of_alike(ufunc: Any, x: Any, y: Any = None, *more: Any) -> Batched | None:
    """A ufunc of one or two arguments whose dimensions need no alignment, as most have; None for any other."""
    if more or ufunc.nargs != 2 + (y is not None) or ufunc.signature is not None:
        return None
    if y is None:
        return Batched(ufunc(x.value), x.level)
    if type(x) is Batched and type(y) is Batched:
        return Batched(ufunc(x.value, y.value), x.level) if x.level is y.level and x.ndim == y.ndim else None
    batch, other = (x, y) if type(x) is Batched else (y, x)
    if not isinstance(other, (np.ndarray, np.generic, float, int)) or getattr(other, "ndim", 0) > batch.ndim:
        return None
    return Batched(ufunc(x.value, y) if batch is x else ufunc(x, y.value), batch.level)


def written(out: Any, result: Any) -> Any:
    """`out`, after a result was written to it."""
    out[...] = result
    return out


@rule(np.where)
def where(condition: Any, *choices: Any) -> Any:
    level = innermost((condition, *choices))
    assert level is not None
    return nonzero(condition) if not choices else elementwise(np.where, (condition, *choices), {}, level)


@rule(np.nonzero, np.argwhere, np.flatnonzero)
def nonzero(a: Any) -> Any:
    raise NoRule(DYNAMIC.format("aten::nonzero"))


@rule(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **options: Any) -> Any:
    a_min, a_max = options.pop("min", a_min), options.pop("max", a_max)
    result = a if a_min is None else np.maximum(a, a_min)
    result = result if a_max is None else np.minimum(result, a_max)
    return result if out is None else written(out, result)


# ---- Reductions, and what runs along an axis.
def reduced(ufunc: Any, a: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
            **options: Any) -> Any:
    if out is not None and out != (None,):
        raise NoRule(IN_PLACE)
    if innermost(options.values()) is not None:
        raise NoRule(IN_PLACE)
    axes = () if a.ndim == 0 else behind(axis, a.ndim)
    return a.like(ufunc.reduce(a.value, axes, dtype, None, keepdims, **options))


def accumulated(ufunc: Any, a: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    result = a.like(ufunc.accumulate(a.value, behind(axis, a.ndim), dtype))
    return result if out is None or out == (None,) else written(out[0] if isinstance(out, tuple) else out, result)


def outer_of(ufunc: Any, a: Any, b: Any, **options: Any) -> Any:
    return ufunc(a[(..., *(NEW,) * np.ndim(b))], b, **options)


def reduced_at(ufunc: Any, a: Any, indices: Any, axis: int = 0, **options: Any) -> Any:
    if innermost((indices,)) is not None:
        raise NoRule(CONTROL_FLOW)
    return a.like(ufunc.reduceat(a.value, indices, behind(axis, a.ndim), **options))


def added_at(ufunc: Any, out: Any, index: Any, *x: Any) -> None:
    place = advanced(out, index, innermost((out, index, *x)), writing=True)
    ufunc.at(*place.target(), *[place.arranged(each) for each in x])


UFUNC_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": reduced, "accumulate": accumulated, "outer": outer_of, "reduceat": reduced_at, "at": added_at}
OF_ALL = (np.sum, np.prod, np.max, np.min, np.amax, np.amin, np.mean, np.any, np.all, np.std, np.var, np.count_nonzero,
          np.nansum, np.nanmax, np.nanmin, np.median, np.nanmedian)
OF_FLAT = (np.argmax, np.argmin, np.cumsum, np.cumprod)


def reduction(function: Any, *, flat: bool) -> None:
    """A rule for a function of all axes by default; one with a single axis gets the array flat."""
    def of(a: Any, axis: Any = None, *args: Any, **options: Any) -> Any:
        if options.get("out") is not None or innermost((*args, *options.values())) is not None:
            return RULES["loop"](function, (a, axis, *args), options)
        if flat and (axis is None or not a.ndim):
            keepdims, ndim = options.pop("keepdims", False), a.ndim
            result = a.like(function(a.reshape(-1).value, 1, *args, **options))
            return result.reshape((1,) * ndim) if keepdims is True else result
        axes = () if a.ndim == 0 else behind(axis, a.ndim)
        return a.like(function(a.value, axes, *args, **options))

    RULES[function] = of


for each in OF_ALL:
    reduction(each, flat=False)
for each in OF_FLAT:
    reduction(each, flat=True)


def along(function: Any, *, given: int = 0) -> None:
    """A rule for a function along one axis, by default the last; `given` arguments come before the axis."""
    def of(a: Any, *args: Any, **options: Any) -> Any:
        first, rest = args[:given], args[given:]
        axis = rest[0] if rest else options.pop("axis", -1)
        if not batched_at(a, innermost((a, *args))) or innermost(args) is not None:
            return RULES["loop"](function, (a, *first), {"axis": axis, **options})
        if axis is None or not a.ndim:
            a, axis = a.reshape(-1), 0
        return a.like(function(a.value, *first, behind(axis, a.ndim), *rest[1:], **options))

    RULES[function] = of


for each in (np.sort, np.argsort, np.diff):
    along(each, given=int(each is np.diff))
for each in (np.partition, np.argpartition):
    along(each, given=1)


# ---- Shapes.
@rule(np.reshape)
def reshape(a: Any, shape: Any = None, order: str = "C", **options: Any) -> Any:
    return a.reshape(options.get("newshape") if shape is None else shape)


@rule(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    return a.transpose(*(() if axes is None else axes))


@rule(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    return a.like(np.expand_dims(a.value, behind(tuple(axes), a.ndim + len(axes))))


@rule(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    axes = tuple([i for i, n in enumerate(a.shape) if n == 1]) if axis is None else axis
    return a.like(np.squeeze(a.value, behind(axes, a.ndim)))


@rule(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return a.like(np.moveaxis(a.value, behind(source, a.ndim), behind(destination, a.ndim)))


@rule(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return array.like(np.broadcast_to(aligned(array, len(sizes), array.level), (array.level.size, *sizes)))


@rule(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    return m.like(np.flip(m.value, behind(axis, m.ndim)))


@rule(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.roll(a.reshape(-1), shift, 0).reshape(a.shape)
    return a.like(np.roll(a.value, shift, behind(axis, a.ndim)))


@rule(np.tile)
def tile(A: Any, reps: Any) -> Any:
    times = (reps,) if isinstance(reps, int) else tuple(reps)
    a = A.reshape((1,) * (len(times) - A.ndim) + A.shape)
    return a.like(np.tile(a.value, (1,) * (a.value.ndim - len(times)) + times))


@rule(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    if innermost((repeats,)) is not None:
        raise NoRule(DYNAMIC.format("aten::repeat_interleave.Tensor"))
    a, axis = (a.reshape(-1), 0) if axis is None else (a, axis)
    return a.like(np.repeat(a.value, repeats, behind(axis, a.ndim)))


@rule(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    widths = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    return array.like(np.pad(array.value, [(0, 0), *widths], mode, **options))


@rule(np.concatenate)
def concatenate(arrays: Any, axis: Any = 0, out: Any = None, **options: Any) -> Any:
    level = innermost(arrays)
    assert level is not None
    if axis is None:
        arrays, axis = [np.ravel(each) for each in arrays], 0
    joined = np.concatenate([whole(each, level) for each in arrays], behind(axis, arrays[0].ndim), **options)
    return Batched(joined, level) if out is None else written(out, Batched(joined, level))


@rule(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, **options: Any) -> Any:
    level = innermost(arrays)
    assert level is not None
    values = [whole(each, level) for each in arrays]
    return Batched(np.stack(values, behind(axis, values[0].ndim), **options), level)


@rule(np.split, np.array_split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return [ary.like(each) for each in np.array_split(ary.value, indices_or_sections, behind(axis, ary.ndim))]


@rule(sliding_window_view)
def windows(x: Any, window_shape: Any, axis: Any = None, **options: Any) -> Any:
    return x.like(sliding_window_view(x.value, window_shape, behind(axis, x.ndim), **options))


@rule(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return m.like(np.tril(m.value, k)) if m.ndim > 1 else RULES["loop"](np.tril, (m, k), {})


@rule(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return m.like(np.triu(m.value, k)) if m.ndim > 1 else RULES["loop"](np.triu, (m, k), {})


@rule(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    view = np.diagonal(a.value, offset, behind(axis1, a.ndim), behind(axis2, a.ndim))
    if type(view) is np.ndarray and a.value.flags.writeable:
        view.flags.writeable = True  # as on a device: an op may write to a diagonal that it has made
    return a.like(view)


@rule(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return np.diagonal(a, offset, axis1, axis2).sum(-1, dtype)


@rule(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    return a.reshape(-1)


@rule(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return a.swapaxes(axis1, axis2)


@rule(np.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    found = [each if np.ndim(each) else np.reshape(each, (1,)) for each in arrays]
    return found[0] if len(found) == 1 else tuple(found)


@rule(np.broadcast_arrays)
def broadcast_arrays(*arrays: Any, subok: bool = False) -> Any:
    shape = np.broadcast_shapes(*[np.shape(each) for each in arrays])
    return tuple([np.broadcast_to(each, shape) for each in arrays])


@rule(np.copy)
def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    return a.like(np.copy(a.value, order))


@rule(np.array, np.asarray)
def array(a: Any, dtype: Any = None, **options: Any) -> Any:
    found = a if type(a) is Batched else np.stack(a)
    return found.copy() if dtype is None else found.astype(dtype)


@rule(np.ascontiguousarray)
def ascontiguousarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    a = a if a.ndim else a.reshape(1)
    return a.like(np.ascontiguousarray(a.value, dtype, like=a.value))  # a batch itself, in a nested `vmap`


def likeness(function: Any) -> None:
    """A rule for a function that makes an array like another."""
    def of(a: Any, *args: Any, shape: Any = None, **options: Any) -> Any:
        options.pop("subok", None)
        if innermost((*args, *options.values())) is not None:
            return RULES["loop"](function, (a, *args), options)
        if shape is None:
            return a.like(function(a.value, *args, **options))
        return a.like(function(a.value, *args, shape=(a.level.size, *shape), **options))

    RULES[function] = of


for each in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    likeness(each)
RULES[np.shape] = lambda a: a.shape
RULES[np.ndim] = lambda a: a.ndim
RULES[np.size] = lambda a, axis=None: a.size if axis is None else a.shape[axis]
RULES[np.result_type] = lambda *args: np.result_type(*[x.dtype if type(x) is Batched else x for x in args])
RULES[np.may_share_memory] = RULES[np.shares_memory] = lambda a, b, max_work=None: overlap(a, b)


# ---- Products and linear algebra.
def products(ufunc: Any, args: Sequence[Any], level: Level) -> Any:
    """`matmul` and its kind: the dimensions before the last one or two broadcast."""
    cores = [part.count(",") + bool(part.strip("()")) for part in ufunc.signature.split("->")[0].split("),(")]
    if ufunc is np.matmul:
        return matmul(args[0], args[1], level)
    ndim = max([x.ndim - core for x, core in zip(args, cores, strict=True)])
    return wrap(ufunc(*[aligned(x, ndim + core, level) for x, core in zip(args, cores, strict=True)]), level)


def matmul(x: Any, y: Any, level: Level) -> Any:
    """Where one of two matrices is the same for all, the product is one product of matrices."""
    if x.ndim == 1 or y.ndim == 1:
        result = np.matmul(x[NEW] if x.ndim == 1 else x, y[:, NEW] if y.ndim == 1 else y)
        result = result[..., 0, :] if x.ndim == 1 else result
        return result[..., 0] if y.ndim == 1 else result
    if x.ndim == y.ndim == 2 and not batched_at(y, level) and innermost((x.value, y)) is None:
        if x.value.flags.c_contiguous:
            rows = x.value.reshape(level.size * x.shape[0], x.shape[1])
            return Batched((rows @ y).reshape(level.size, x.shape[0], y.shape[1]), level)
    ndim = max(x.ndim, y.ndim)
    return Batched(np.matmul(aligned(x, ndim, level), aligned(y, ndim, level)), level)


@rule(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    if not np.ndim(a) or not np.ndim(b):
        return a * b
    return np.matmul(a, b) if np.ndim(b) < 3 else RULES["loop"](np.dot, (a, b), {})


@rule(np.outer)
def outer(a: Any, b: Any, out: Any = None) -> Any:
    return np.ravel(a)[:, NEW] * np.ravel(b)


@rule(np.einsum)
def einsum(subscripts: Any, *operands: Any, **options: Any) -> Any:
    level = innermost(operands)
    assert level is not None
    if not isinstance(subscripts, str):
        raise NoRule(CONTROL_FLOW)
    given, arrow, result = subscripts.replace(" ", "").partition("->")
    if not arrow:
        result = "..." * ("..." in given) + "".join(sorted([c for c in set(given) - {",", "."} if given.count(c) == 1]))
    letter = next(c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBA" if c not in given)
    parts = [letter * batched_at(x, level) + part for x, part in zip(operands, given.split(","), strict=True)]
    values = [x.value if batched_at(x, level) else x for x in operands]
    options.pop("out", None)
    return Batched(np.einsum(f"{','.join(parts)}->{letter}{result}", *values, **options), level)


def stacked_linalg(name: str) -> None:
    """A function of `np.linalg` of one stack of matrices."""
    function = getattr(np.linalg, name)
    RULES[function] = lambda a, *args, **options: wrap(function(a.value, *args, **options), a.level)


for name in ("inv", "det", "slogdet", "cholesky", "qr", "svd", "eigh", "eigvalsh", "eig", "eigvals", "matrix_power"):
    stacked_linalg(name)


@rule(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    level = innermost((a, b))
    assert level is not None
    if b.ndim == 1:
        return np.linalg.solve(a, b[:, NEW])[..., 0]
    ndim = max(a.ndim, b.ndim)
    return Batched(np.linalg.solve(aligned(a, ndim, level), aligned(b, ndim, level)), level)


# ---- Indices.
class Place:
    """Where an index with arrays leads: the indexed axes moved to the front, and an index of arrays for these."""

    def __init__(self, of: Any, index: tuple[Any, ...], dims: int, first: int, level: Level) -> None:
        self.of, self.index, self.dims, self.first, self.level = of, index, dims, first, level

    def target(self) -> tuple[Any, tuple[Any, ...]]:
        """The array and the index, as NumPy takes them."""
        return self.of, self.index

    def read(self) -> Any:
        """The elements, with the dimensions of the index where NumPy has them."""
        found = beside(self.of, self.index)[self.index]
        source = tuple(range(1, 1 + self.dims))
        where = tuple(range(1 + self.first, 1 + self.first + self.dims))
        return Batched(found if source == where else np.moveaxis(found, source, where), self.level)

    def arranged(self, part: Any) -> Any:
        """What is written there, with its dimensions in the order of the target."""
        rest = self.of.ndim - len(self.index)
        ndim = self.dims + rest
        value = aligned(part, ndim, self.level)
        lead = batched_at(part, self.level)
        own = getattr(value, "ndim", 0) - lead
        if not own or not self.first:
            return value
        value = value if own == ndim else np.reshape(value, (*value.shape[:lead], *(1,) * (ndim - own),
                                                             *value.shape[lead:]))
        where = tuple(range(lead + self.first, lead + self.first + self.dims))
        return np.moveaxis(value, where, tuple(range(lead, lead + self.dims)))


def parts_of(index: Any, ndim: int) -> list[Any]:
    """The parts of an index, one for each axis and None for each new one; masks become positions."""
    parts: list[Any] = []
    for part in index if type(index) is tuple else (index,):
        is_mask = getattr(part, "dtype", None) == np.bool_ and getattr(part, "ndim", 0) > 0
        if is_mask and type(part) is Batched:
            raise NoRule(MASK)
        parts += np.nonzero(part) if is_mask else [np.asarray(part) if isinstance(part, list) else part]
    used = sum([part is not NEW and part is not Ellipsis for part in parts])
    at = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return [*parts[:at], *[ALL] * (ndim - used), *parts[at + 1:]]


def is_simple(index: Any) -> bool:
    """Whether an index takes a view: numbers, slices, new axes."""
    return all(isinstance(part, (int, np.integer, slice, type(None), type(...)))
               for part in (index if type(index) is tuple else (index,)))


def advanced(x: Any, index: Any, level: Any, writing: bool = False) -> Place:
    """An index with arrays, some of which may differ between the examples."""
    if writing and not batched_at(x, level):
        raise NoRule(IN_PLACE)
    value = whole(x, level)
    parts = parts_of(index, x.ndim)
    arrays = [i for i, part in enumerate(parts) if not isinstance(part, slice) and part is not NEW]
    view = value[(ALL, *[part if isinstance(part, slice) or part is NEW else ALL for part in parts])]
    dims = max([np.ndim(parts[i]) for i in arrays], default=0)
    chosen = [aligned(parts[i], dims, level) for i in arrays]
    examples = np.arange(level.size).reshape(-1, *(1,) * dims)
    front = view
    if arrays != list(range(len(arrays))):
        front = np.moveaxis(view, [i + 1 for i in arrays], range(1, 1 + len(arrays)))
    adjacent = bool(arrays) and arrays == list(range(arrays[0], arrays[-1] + 1))
    return Place(front, (examples, *chosen), dims, arrays[0] if adjacent else 0, level)


@rule("getitem")
def getitem(x: Any, index: Any) -> Any:
    if is_simple(index):
        return x.like(x.value[(ALL, *(index if type(index) is tuple else (index,)))])
    level = innermost((x, *(index if type(index) is tuple else (index,))))
    return advanced(x, index, level).read()


@rule("setitem")
def setitem(x: Any, index: Any, part: Any) -> None:
    level = innermost((x, part, *(index if type(index) is tuple else (index,))))
    if level is None or not batched_at(x, level):
        raise NoRule(IN_PLACE)
    if is_simple(index):
        at = (ALL, *(index if type(index) is tuple else (index,)))
        x.value[at] = aligned(part, x.value[at].ndim - 1, x.level)
    elif getattr(index, "dtype", None) == np.bool_ and index.shape == x.shape and not np.ndim(part):
        np.copyto(x.value, aligned(part, x.ndim, x.level), casting="unsafe", where=aligned(index, x.ndim, x.level))
    else:
        place = advanced(x, index, level, writing=True)
        of, where = place.target()
        of[where] = place.arranged(part)


@rule("add_at")
def add_at(out: Any, index: Any, x: Any) -> None:
    np.add.at(out, index, x)


@rule(np.take)
def take(a: Any, indices: Any, axis: Any = None) -> Any:
    a, axis = (np.ravel(a), 0) if axis is None else (a, axis % np.ndim(a))
    level = innermost((a, indices))
    assert level is not None
    if batched_at(a, level) and innermost((indices,)) is None:
        return a.like(np.take(a.value, indices, axis + 1))
    return advanced(a, (*(ALL,) * axis, indices), level).read()


@rule(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    level = innermost((arr, indices))
    assert level is not None
    arr, axis = (np.ravel(arr), 0) if axis is None else (arr, axis)
    return Batched(np.take_along_axis(whole(arr, level), whole(indices, level), behind(axis, arr.ndim)), level)


@rule(np.put_along_axis)
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    level = innermost((arr, indices, values))
    if level is None or not batched_at(arr, level):
        raise NoRule(IN_PLACE)
    np.put_along_axis(arr.value, whole(indices, level), aligned(values, arr.ndim, level), behind(axis, arr.ndim))


@rule(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    level = innermost((dst, src, where))
    if level is None or not batched_at(dst, level):
        raise NoRule(IN_PLACE)
    np.copyto(dst.value, aligned(src, dst.ndim, level), casting=casting, where=aligned(where, dst.ndim, level))


# ---- All others.
WRITES = ("put", "place", "putmask", "fill_diagonal")


@rule("loop")
def loop(function: Any, args: Sequence[Any], options: dict[str, Any]) -> Any:
    """Call a function for each example, and stack the results."""
    level = innermost((*args, *options.values()))
    if level is None or not level.size or options.get("out") is not None or (
            function.__name__ in WRITES and not batched_at(args[0], level)):
        raise NoRule(IN_PLACE)
    return stacked([function(*each, **own) for each, own in [
        (example(tuple(args), i, level), example(options, i, level)) for i in range(level.size)]],
        level, function.__name__)


def example(value: Any, i: int, level: Level) -> Any:
    """One example of all batches in some arguments."""
    if batched_at(value, level):
        return value.value[i]
    if type(value) in (list, tuple):
        return type(value)([example(each, i, level) for each in value])
    return {name: example(each, i, level) for name, each in value.items()} if type(value) is dict else value


def stacked(results: list[Any], level: Level, name: str) -> Any:
    """The results of all examples as batches. Raises NoRule if they have different shapes."""
    first = results[0]
    if first is None:
        return None
    if isinstance(first, (tuple, list)):
        parts = [stacked(list(each), level, name) for each in zip(*results, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if not hasattr(first, "dtype"):  # a truth value, or a number
        if any(each != first for each in results):
            raise NoRule(CONTROL_FLOW)
        return first
    for i, each in enumerate(results):
        if np.shape(each) != np.shape(first):
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(np.shape(first))} at entry "
                               f"0 and {list(np.shape(each))} at entry {i}")
    return Batched(np.stack(results), level)
