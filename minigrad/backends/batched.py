"""Arrays with a hidden first dimension: what `vmap` puts into tensors in place of arrays of one example.

NOTE 14 (vmap is a device). The ops are written once, for all devices, and NumPy passes each call to its arguments (NOTE
9). So a batch of examples is one more device. A `Batched` array has the shape of one example, and an op that computes
with it does not notice: it calls NumPy's functions, and for these there are the rules, in `batched_rules.py`. That are
few functions, where there are four hundred ops, and the formulas of all derivatives come along, in both directions.

- An elementwise function broadcasts the hidden dimension too, once the others are aligned: one rule for all ufuncs.
- Functions with an axis count it behind the hidden one. Products, linear algebra and indices have rules of their own.
- Any other function of NumPy is called for each example, and the results are stacked.
- Who asks for a number, or wants a NumPy array, gets a `NoRule`: the op is then run for each example (func/vmap.py).

Batches nest, one for each `vmap`: the innermost level is outside, and its rule calls NumPy on what is inside.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from minigrad._base.dtype import BFLOAT16
from minigrad.backends import registry
from minigrad.backends.registry import BACKEND_OF

__all__ = ["BACKEND", "Batched", "Level", "NoRule", "batched_at", "beside", "by_example", "check_randomness",
           "copied_for", "for_examples", "in_all_examples", "in_batches", "in_memory", "innermost", "make_ready",
           "outside", "overlap", "refuse_batches", "refuse_dynamic", "refuse_masks", "refuse_out", "view_at"]

ITEM = ("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
        "Tensor, please try to rewrite what you're doing with other operations. If error is occurring somewhere inside "
        "PyTorch internals, please file a bug report.")
CONTROL_FLOW = ("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
                "support that yet, please file an issue at https://github.com/pytorch/pytorch/issues .")
EITHER = ("vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor "
          "in some data-dependent control flow or (3) encountering this error in PyTorch internals. For (1): we"
          " don't support vmap over calling .item() on a Tensor, please try to rewrite what you're doing with "
          "other operations. For (2): we don't support data-dependent control flow in vmap yet, please file an "
          "issue at https://github.com/pytorch/pytorch/issues . For (3): please file an issue.")
INTO_ONE = ("vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in "
            "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` "
            "not being vmapped over {1}. Please try to use out-of-place operators instead of {0}. "
            "If said operator is being called inside the PyTorch framework, please file a bug report instead.")
IN_PLACE = INTO_ONE.format("inplace arithmetic", "in a vmap")
OF_PASSES = "of passes"  # the randomness of a level of `is_grads_batched`, which PyTorch runs by its first `vmap`
NO_DRAWS = {  # by what a level says of random draws
    "error": "vmap: called random operation while in randomness error mode. Please either use the 'same' or "
             "'different' randomness flags on vmap or perform the randomness operation out of vmap",
    OF_PASSES: "vmap: We do not yet support calling random operations inside of vmap. Please perform random "
               "operations outside of vmap as a workaround"}
NO_OUT = ("vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out "
          "variants as a workaround")
RANDOM = {"bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randint_like", "randn",
          "randn_like", "randperm"}
DIFFERENT_IN_ONE = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like "
                    "same randomness. If this is necessary for your usage, please file an issue with functorch.")
SAME_OF_BATCH = ("Vmap does not currently support same randomness with a batched tensor input. Please file an issue "
                 "with functorch")
MASK = ("vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing "
        "with a boolean mask.")
DYNAMIC = ("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {}. "
           "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature.")
NO_FALLBACK = "Batching rule not implemented for aten::{}. We could not generate a fallback."
OF_NUMBERS = {ITEM: NO_FALLBACK.format("item"), CONTROL_FLOW: NO_FALLBACK.format("is_nonzero")}
OUT = "Batching rule not implemented for aten::{}.{}; the fallback path doesn't work on out= or view ops."
OUT_OVERLOADS = {"sum": "IntList_out", "max": "dim_max", "min": "dim_min", "sort": "values", "where": "self_out",
                 "pow": "Tensor_Scalar_out"}  # what PyTorch calls them; most others are called `out`
OF_LISTS = {"cat", "stack", "hstack", "vstack", "dstack"}
count = itertools.count(1).__next__


class NoRule(RuntimeError):
    """An op asked for the numbers of one example. The op then runs for each; a user's program sees PyTorch's error."""


class Level:
    """One call of `vmap`, of so many examples.

    Its rank puts it inside of the calls around it, and outside of those that had ended when it began: a backward pass
    that is run by `vmap` goes through what they recorded.
    """

    __slots__ = ("born", "given", "randomness", "rank", "size")

    def __init__(self, size: int, outer: Level | None = None, randomness: str = "error", born: int = 0) -> None:
        self.size, self.randomness, self.born = size, randomness, born
        self.given: list[tuple[Any, int, Any]] = []  # the batches that it began with, where their examples are, in what
        self.rank: tuple[int, ...] = (*(() if outer is None else outer.rank), -count())


class Batched(NDArrayOperatorsMixin):
    """An array per example: `value` has all of them along its first axis."""

    __slots__ = ("level", "value")
    base = None

    def __init__(self, value: Any, level: Level) -> None:
        self.value, self.level = value, level

    # ---- What is the same for each example.
    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.value.shape[1:]
        return shape

    @property
    def ndim(self) -> int:
        return int(self.value.ndim) - 1

    @property
    def size(self) -> int:
        return int(np.prod(self.value.shape[1:], dtype=np.int64))

    @property
    def dtype(self) -> Any:
        return self.value.dtype

    @property
    def itemsize(self) -> int:
        return int(self.value.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        strides: tuple[int, ...] = self.value.strides[1:]
        return strides

    @property
    def flags(self) -> Any:
        return self.value[0].flags if len(self.value) else self.value.flags

    @property
    def T(self) -> Any:
        return self.transpose()

    def __len__(self) -> int:
        return self.shape[0]

    # ---- What differs, and has no answer.
    def __bool__(self) -> bool:
        raise NoRule(CONTROL_FLOW)

    def item(self) -> Any:
        raise NoRule(ITEM)

    __int__ = __float__ = __index__ = item

    def tolist(self) -> Any:
        raise NoRule("Cannot access data pointer of Tensor that doesn't have storage")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NoRule(IN_PLACE)  # NumPy asks for it where a batch is written into an array that is none

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(len(self))])

    def __repr__(self) -> str:
        return f"Batched({self.value!r})"

    # ---- Methods that return a batch.
    def __getitem__(self, index: Any) -> Any:
        return RULES["getitem"](self, index)

    def __setitem__(self, index: Any, part: Any) -> None:
        RULES["setitem"](self, index, part)

    def like(self, value: Any) -> Batched:
        """A batch of the same level."""
        return Batched(value, self.level)

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        return self.like(self.value.astype(dtype, *args, **options))

    def view(self, dtype: Any = None) -> Any:
        return self.like(self.value.view() if dtype is None else self.value.view(dtype))

    def copy(self, order: str = "C") -> Any:
        return self.like(self.value.copy(order))

    def fill(self, number: Any) -> None:
        self[...] = number

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        sizes = shape[0] if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)) else shape
        if self.value.size == 0 and -1 in sizes:  # the size of an example is still known
            sizes = np.empty(self.shape, bool).reshape(sizes).shape
        return self.like(self.value.reshape((len(self.value), *sizes)))

    def ravel(self, order: str = "C") -> Any:
        return self.reshape(self.size)

    flatten = ravel

    def transpose(self, *axes: Any) -> Any:
        dims = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else axes
        order = [d % self.ndim for d in dims] if dims else range(self.ndim)[::-1]
        return self.like(self.value.transpose((0, *[d + 1 for d in order])))

    def swapaxes(self, i: int, j: int) -> Any:
        return self.like(self.value.swapaxes(i % self.ndim + 1, j % self.ndim + 1))

    def squeeze(self, axis: Any = None) -> Any:
        return np.squeeze(self, axis)

    def dot(self, other: Any) -> Any:
        return np.dot(self, other)

    @property
    def real(self) -> Any:
        return self

    def conj(self) -> Any:
        return self

    # ---- NumPy's functions.
    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
        return RULES["ufunc"](ufunc, method, args, options)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        rule = RULES.get(function)
        if rule is not None:
            return rule(*args, **options)
        if function.__name__ in CREATES and not innermost(args):
            return getattr(DeviceOfBatches(outside(self)), function.__name__)(*args, **options)
        return RULES["loop"](function, args, options)


RULES: dict[Any, Callable[..., Any]] = {}  # of NumPy's functions, and by name of what is none; see batched_rules.py
CREATES = ("zeros", "ones", "empty", "full", "arange", "array", "asarray", "eye", "identity", "tri")
METHODS = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "take", "repeat",
           "clip", "round", "sort", "argsort", "nonzero", "diagonal", "trace", "std", "var", "searchsorted")


def method_of(name: str) -> Callable[..., Any]:
    """A method of arrays that is a function of NumPy's."""
    function = getattr(np, name)
    return lambda self, *args, **options: function(self, *args, **options)


for each in METHODS:
    setattr(Batched, each, method_of(each))


def innermost(values: Any) -> Level | None:
    """The innermost level of the arrays among some values, and in lists, tuples and dicts among them."""
    found = None
    for value in values:
        level = None
        if type(value) is Batched:
            level = value.level
        elif type(value) in (list, tuple):
            level = innermost(value)
        elif type(value) is dict:
            level = innermost(value.values())
        elif type(value) is slice:
            level = innermost((value.start, value.stop, value.step))
        if level is not None and (found is None or level.rank > found.rank):
            found = level
    return found


def in_batches(array: Any) -> bool:
    """Whether there are batches of such arrays: not of those of a device, and not of bfloat16."""
    return registry.on_host(BACKEND_OF.get(type(array))) and array.dtype is not BFLOAT16


def batched_at(value: Any, level: Level | None) -> bool:
    """Whether a value is a batch of this level."""
    return type(value) is Batched and value.level is level


def outside(array: Any) -> tuple[Level, ...]:
    """The levels of an array, the innermost first."""
    return (array.level, *outside(array.value)) if type(array) is Batched else ()


def wrapped(array: Any, levels: tuple[Level, ...]) -> Any:
    """An array whose first axes are these levels, the outermost first, as a batch."""
    return array if not levels else Batched(wrapped(array, levels[1:]), levels[0])


def beside(x: Any, others: tuple[Any, ...]) -> Any:
    """An array that is indexed by batches, or gets some: as a batch, without a copy."""
    level = innermost((x, *others))
    return x if level is None or batched_at(x, level) else Batched(np.broadcast_to(x, (level.size, *x.shape)), level)


def copied_for(x: Any, part: Any) -> Any:
    """A copy of an array into which `part` can be written: it differs between all examples between which that does."""
    if type(part) is not Batched or set(outside(part)) <= set(outside(x)):
        return x.copy()
    return np.zeros(x.shape, x.dtype, like=part) + x


def refuse_masks(index: Any) -> None:
    """Raise PyTorch's RuntimeError for a mask that differs between examples: so might the size of the result."""
    for part in index if type(index) is tuple else (index,):
        if type(part) is Batched and part.dtype == np.bool_:
            raise RuntimeError(MASK)


def refuse_dynamic(array: Any, op: str) -> None:
    """Raise PyTorch's RuntimeError for a batch: the size of what this op makes depends on the numbers."""
    if type(array) is Batched:
        raise NoRule(DYNAMIC.format(f"aten::{op}"))


def refuse_batches(message: str, *arrays: Any) -> None:
    """Raise PyTorch's RuntimeError of this text if one of some arrays is a batch."""
    if any(type(each) is Batched for each in arrays):
        raise RuntimeError(message)


def by_example(function: Callable[..., Any], *args: Any) -> Any:
    """A function of arrays that looks at their numbers: called for each example where one is a batch."""
    @functools.wraps(function)
    def again(*own: Any) -> Any:
        return by_example(function, *own)

    return function(*args) if innermost(args) is None else RULES["loop"](again, args, {})


def view_at(array: Any, shape: tuple[int, ...], strides: tuple[int, ...], shift: int) -> Any:
    """A view of an array's memory, with strides in bytes, so many bytes behind where the array begins."""
    if type(array) is Batched:
        own = array.value
        return array.like(view_at(own, (len(own), *shape), (own.strides[0], *strides), shift))
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start = array.ctypes.data - owner.ctypes.data + shift
    memory = owner if owner.flags.c_contiguous else owner.T
    return np.ndarray(shape, array.dtype, memory, start, strides)


def in_all_examples(x: Any) -> Any:
    """The array of all examples, whose first dimensions count them; an array that is the same for all is returned."""
    return in_all_examples(x.value) if type(x) is Batched else x


def overlap(x: Any, y: Any) -> bool:
    """Whether two arrays may share memory, in whichever examples."""
    return bool(np.may_share_memory(in_all_examples(x), in_all_examples(y)))


class DeviceOfBatches:
    """The module that creates arrays beside a batch: with memory of their own for each example, since they may be
    written to. What has its numbers at once is the same for all."""

    arange, array, asarray, eye = np.arange, np.array, np.asarray, staticmethod(np.eye)
    identity, tri = staticmethod(np.identity), staticmethod(np.tri)

    def __init__(self, levels: tuple[Level, ...] | None = None) -> None:
        self.given = levels

    def made(self, make: Callable[..., Any], shape: Any, *args: Any, **options: Any) -> Any:
        levels = CURRENT.levels if self.given is None else self.given
        sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        return wrapped(make((*[each.size for each in reversed(levels)], *sizes), *args, **options), levels)

    def zeros(self, shape: Any, dtype: Any = float, order: str = "C") -> Any:
        return self.made(np.zeros, shape, dtype)

    def ones(self, shape: Any, dtype: Any = float, order: str = "C") -> Any:
        return self.made(np.ones, shape, dtype)

    def empty(self, shape: Any, dtype: Any = float, order: str = "C") -> Any:
        return self.made(np.empty, shape, dtype)

    def full(self, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
        return self.made(np.full, shape, fill_value, dtype)


class Current(threading.local):
    """What is on in a thread."""

    levels: tuple[Level, ...] = ()  # for which arrays are created, the innermost first
    inside: tuple[Level, ...] = ()  # the calls of `vmap` that run, the outermost first


CURRENT = Current()


class BatchBackend:
    """`minigrad.backends.registry.Backend`: the CPU, whose arrays are batches. A device's index is its levels."""

    type, array_type, module, has_batches = "cpu", Batched, DeviceOfBatches(), True

    def device_count(self) -> int:
        return 1

    def current_device(self) -> Any:
        return CURRENT.levels

    def set_device(self, index: Any) -> None:
        CURRENT.levels = index

    @contextmanager
    def on(self, index: Any) -> Iterator[None]:
        before, CURRENT.levels = CURRENT.levels, index
        try:
            yield
        finally:
            CURRENT.levels = before

    def index_of(self, array: Batched) -> Any:
        return outside(array)

    def from_host(self, array: Any, index: Any) -> Any:
        return array  # arrays that are the same for all examples go together with batches

    def to_host(self, array: Any) -> Any:
        return array

    def move(self, array: Any, index: Any) -> Any:
        return array

    def address(self, array: Batched) -> int:
        own = array.value
        return self.address(own) if type(own) is Batched else int(own.ctypes.data)

    def bounds(self, array: Batched) -> tuple[int, int]:
        return registry.bounds(array.value)

    def storage(self, array: Batched) -> tuple[int, int]:
        own = array.value
        while type(own) is Batched:
            own = own.value
        while isinstance(own.base, np.ndarray):
            own = own.base
        return int(own.ctypes.data), int(own.nbytes)

    def as_strided(self, array: Batched, shape: Any, strides: Any) -> Any:
        own = array.value
        return array.like(registry.as_strided(own, (len(own), *shape), (own.strides[0], *strides)))

    def add_at(self, out: Any, index: Any, x: Any) -> None:
        RULES["add_at"](out, index, x)

    def matmul(self, x: Any, y: Any) -> Any:
        return np.matmul(x, y)

    @contextmanager
    def linalg_errors(self) -> Iterator[None]:
        yield

    def fused(self, name: str) -> None:
        return None

    fused_rows = fused

    def composite(self, function: Callable[..., Any], *args: Any) -> Any:
        rule = RULES.get(function)
        return None if rule is None else rule(*args)

    def capturing(self) -> bool:
        return False


BACKEND: Any = BatchBackend()  # what a device has to itself, memory and streams, a batch has not


def check_randomness(*parameters: Any, written: Any = None) -> None:
    """Raise PyTorch's RuntimeError if random numbers are not allowed here: by a level; for chances that differ between
    examples, where all examples get the same numbers; for an array, the same for all, into which different are written.
    """
    for level in CURRENT.inside:
        if level.randomness in NO_DRAWS:
            raise RuntimeError(NO_DRAWS[level.randomness])
        if level.randomness == "same" and any(level in outside(each) for each in parameters):
            raise RuntimeError(SAME_OF_BATCH)
        if written is not None and level not in outside(written) and any(level in outside(each) for each in parameters):
            raise RuntimeError(INTO_ONE.format("inplace bernoulli", "in a vmap"))
        if written is not None and level.randomness == "different" and level not in outside(written):
            raise RuntimeError(DIFFERENT_IN_ONE)


def refuse_out(name: str, arrays: Sequence[Any]) -> None:
    """Raise PyTorch's RuntimeError for `out=` inside of `vmap`: of a random op, or where one of the arrays is a batch.
    """
    if CURRENT.inside:
        if name in RANDOM:
            raise RuntimeError(NO_OUT)
        refuse_batches(NO_FALLBACK.format(f"{name}.out") if name in OF_LISTS else OUT.format(
            name, OUT_OVERLOADS.get(name, "out")), *arrays)


def for_examples(draw: Callable[..., Any], shape: Any, parameters: tuple[Any, ...]) -> Any:
    """Random numbers inside of `vmap`: for each example of the levels that ask for different ones. Raises RuntimeError
    as `check_randomness`."""
    check_randomness(*parameters)
    inside = CURRENT.inside
    different = tuple([level for level in inside if level.randomness == "different"])
    CURRENT.inside = ()
    try:
        sizes = [level.size for level in different]
        own = [np.ravel(whole_of(each, different)) if registry.is_array(each) else each
               for each in parameters]
        return wrapped(draw((*sizes, *shape), *own), different[::-1])
    finally:
        CURRENT.inside = inside


def in_memory(draw: Callable[..., Any], x: Any, *parameters: Any) -> Any:
    """`draw(x, *parameters)`, random numbers like an array, of arrays of all examples, whose order in memory counts;
    None if the levels do not ask for different numbers for just the examples of `x`. Raises RuntimeError if a level
    allows none."""
    check_randomness()
    levels, inside = outside(x), CURRENT.inside
    if not levels or levels[::-1] != tuple([level for level in inside if level.randomness == "different"]):
        return None
    CURRENT.inside = ()
    try:
        return wrapped(draw(in_all_examples(x), *[whole_of(each, levels[::-1]) for each in parameters]), levels)
    finally:
        CURRENT.inside = inside


def whole_of(x: Any, levels: tuple[Level, ...]) -> Any:
    """An array with a first axis for each of these levels, the outermost first."""
    for level in levels[::-1]:
        x = x.value if batched_at(x, level) else np.broadcast_to(x, (level.size, *x.shape))
    return x


def make_ready() -> None:
    """Let ops know that there are batches. It stays so: a graph may hold some."""
    if Batched not in BACKEND_OF:
        registry.serve(BACKEND)
