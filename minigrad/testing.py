"""Compares results in tests, as `torch.testing` does: `assert_close`; and draws tensors for them: `make_tensor`.

You need it where numbers may differ by rounding: it reports how many elements differ, by how much at most, and where.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from minigrad._base.contexts import errstate
from minigrad._base.dtype import Size
from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.ops.factory import empty
from minigrad.ops.random import randint
from minigrad.ops.tensor.properties import finfo, iinfo

__all__ = ["assert_close", "make_tensor"]

EMPTY_INTERVAL = (
    "Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since 2.1 and will "
    "be removed in 2.3. Use `torch.full(...)` instead.")
# By dtype: (rtol, atol). Other dtypes must be equal.
TOLERANCES = {"bfloat16": (1.6e-2, 1e-5), "float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}
Message = str | Callable[[str], str] | None


def array_of(tensor: Any) -> Any:
    """The values of a tensor for NumPy, in float32 if they are bfloat16, which NumPy lacks."""
    values = tensor.detach().cpu()
    return (values.float() if values.dtype.name == "bfloat16" else values).numpy()


class Comparison:
    """The options of `assert_close`; its methods raise an AssertionError that says what differs."""

    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, checks: dict[str, bool]) -> None:
        self.rtol, self.atol, self.equal_nan, self.checks = rtol, atol, equal_nan, checks

    def any(self, actual: Any, expected: Any, path: str = "") -> None:
        """Compare two values of any kind; `path`: where they are in a container."""
        if all(isinstance(v, Sequence) and not isinstance(v, str) for v in (actual, expected)):
            self.sequences(actual, expected, path)
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            self.mappings(actual, expected, path)
        elif actual is None or expected is None:
            differ(actual is expected, f"None mismatch: {actual} is not {expected}", path)
        elif isinstance(actual, bool | np.bool_) and isinstance(expected, bool | np.bool_):
            differ(actual == expected, f"Booleans mismatch: {actual} is not {expected}", path)
        elif all(isinstance(v, int | float | complex | np.number) for v in (actual, expected)):
            self.numbers(actual, expected, path)
        elif isinstance(actual, Tensor) and isinstance(expected, Tensor):
            self.tensors(actual, expected, path)
        elif isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray):
            self.arrays(actual, expected, path)
        else:
            raise TypeError(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
                            f"{failing_item(path)}")

    def sequences(self, actual: Sequence[Any], expected: Sequence[Any], path: str) -> None:
        differ(len(actual) == len(expected), f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
               path)
        for i, pair in enumerate(zip(actual, expected, strict=True)):
            self.any(*pair, f"{path}[{i}]")

    def mappings(self, actual: Mapping[Any, Any], expected: Mapping[Any, Any], path: str) -> None:
        missing, more = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        differ(not missing and not more, "The keys of the mappings do not match:\n"
               f"Missing keys in the actual mapping: {sorted(missing)}\n"
               f"Additional keys in the actual mapping: {sorted(more)}", path)
        for key in actual:
            self.any(actual[key], expected[key], f"{path}[{key!r}]")

    def numbers(self, actual: Any, expected: Any, path: str) -> None:
        """Compare two Python numbers, as float64 or complex ones."""
        kinds = type(actual), type(expected)
        same = not self.checks["dtype"] or kinds[0] is kinds[1]
        differ(same, f"The (d)types do not match: {kinds[0]} != {kinds[1]}.", path)
        exact = all(isinstance(v, int) for v in (actual, expected))
        self.scalars(actual, expected, *self.tolerances("int64" if exact else "float64"), path)

    def tensors(self, actual: Tensor, expected: Tensor, path: str) -> None:
        """Compare shape, device, dtype and strides as far as requested; then the values, in a common dtype."""
        facts = {"shape": True, "device": self.checks["device"], "layout": self.checks["layout"],
                 "dtype": self.checks["dtype"]}
        for name, wanted in facts.items():
            mine, theirs = getattr(actual, name), getattr(expected, name)
            differ(not wanted or mine == theirs, f"The values for attribute '{name}' do not match: {mine} != {theirs}.",
                   path)
        strides = actual.stride(), expected.stride()
        differ(not self.checks["stride"] or strides[0] == strides[1],
               f"The values for attribute 'stride()' do not match: {strides[0]} != {strides[1]}.", path)
        self.values(array_of(actual), array_of(expected), path, actual.dtype.name, expected.dtype.name)

    def arrays(self, actual: Any, expected: Any, path: str) -> None:
        """Compare NumPy arrays, as tensors."""
        shapes = Size(actual.shape), Size(expected.shape)
        differ(shapes[0] == shapes[1], f"The values for attribute 'shape' do not match: {shapes[0]} != {shapes[1]}.",
               path)
        differ(not self.checks["dtype"] or actual.dtype == expected.dtype,
               f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}.", path)
        self.values(actual, expected, path, actual.dtype.name, expected.dtype.name)

    def values(self, actual: Any, expected: Any, path: str, *dtypes: str) -> None:
        """Compare arrays of one shape, in the dtype that holds both; the dtypes' names determine the tolerance."""
        rtol, atol = self.tolerances(*dtypes)
        dtype = np.promote_types(actual.dtype, expected.dtype)
        dtype = np.dtype(np.int64) if dtype.kind in "bu" else dtype
        actual, expected = actual.astype(dtype), expected.astype(dtype)
        with errstate(all="ignore"):
            distance = np.where(actual == expected, dtype.type(0), abs(actual - expected))
            fits = (actual == expected) | (distance <= atol + rtol * abs(expected)) & np.isfinite(expected)
            if self.equal_nan:
                fits |= (actual != actual) & (expected != expected)
        if fits.all():
            return
        if not actual.ndim:
            self.scalars(actual.item(), expected.item(), rtol, atol, path)
        with errstate(all="ignore"):
            relative = distance / abs(expected)
            relative = np.where(distance == 0, relative.dtype.type(0), relative)
        relative = relative.astype(dtype if dtype.kind == "f" else np.float32)
        count = fits.size - int(np.count_nonzero(fits))
        text = (f"Tensor-likes are not {closeness(rtol, atol)}!\n\n"
                f"Mismatched elements: {count} / {fits.size} ({count / fits.size:.1%})\n"
                f"Greatest absolute difference: {greatest(np.where(fits, distance.dtype.type(0), distance))}"
                f"{allowed(atol, rtol, atol)}\n"
                f"Greatest relative difference: {greatest(np.where(fits, relative.dtype.type(0), relative))}"
                f"{allowed(rtol, rtol, atol)}")
        differ(False, text, path)

    def scalars(self, actual: Any, expected: Any, rtol: float, atol: float, path: str) -> None:
        """Compare two numbers, by their difference."""
        nan = self.equal_nan and actual != actual and expected != expected
        distance = abs(actual - expected)
        if actual == expected or nan or (math.isfinite(abs(expected)) and distance <= atol + rtol * abs(expected)):
            return
        relative = distance / abs(expected) if expected else math.inf
        differ(False, f"Scalars are not {closeness(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
               f"Absolute difference: {distance}{allowed(atol, rtol, atol)}\n"
               f"Relative difference: {relative}{allowed(rtol, rtol, atol)}", path)

    def tolerances(self, *dtypes: str) -> tuple[float, float]:
        """(rtol, atol): the given ones, or the largest of some dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [TOLERANCES.get(name, (0.0, 0.0)) for name in dtypes]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)


def closeness(rtol: float, atol: float) -> str:
    """The requirement for numbers: to be close, or equal."""
    return "close" if rtol or atol else "equal"


def allowed(bound: float, rtol: float, atol: float) -> str:
    return f" (up to {bound} allowed)" if rtol or atol else ""


def greatest(difference: Any) -> str:
    """The maximum of an array, NaN before all, and its position."""
    where = np.unravel_index(int(np.argmax(difference)), difference.shape)
    return f"{difference[where].item()} at index {tuple(map(int, where))}"


def failing_item(path: str) -> str:
    """The position in a sequence or a mapping where something happened."""
    return f"\n\nThe failure occurred for item {path}" if path else ""


def differ(alike: bool, text: str, path: str) -> None:
    """Raise an AssertionError with a text, unless two values are alike."""
    if not alike:
        raise AssertionError(text + failing_item(path))


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
                 check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
                 msg: Message = None) -> None:
    """Check that each element differs from the expected one by at most `atol + rtol * abs(expected)`.

    Accepts tensors, NumPy arrays, numbers, and sequences and mappings of them. Without `rtol` and `atol` the dtype
    decides: 1.3e-6 and 1e-5 for float32, 1e-7 and 1e-7 for float64, 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for
    bfloat16; others must be equal. `equal_nan`: whether NaN equals NaN. `msg`: another text, or a function from the
    text to another one. Raises AssertionError if they differ; the text says where, and by how much at most, TypeError
    if the values cannot be compared, and ValueError if only one of `rtol` and `atol` is given.
    """
    if (rtol is None) is not (atol is None):
        raise ValueError("Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                         f"{'rtol' if rtol is None else 'atol'}.")
    if not allow_subclasses and type(actual) is not type(expected):
        raise TypeError("No comparison pair was able to handle inputs of type "
                        f"{type(actual)} and {type(expected)}.")
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    try:
        Comparison(rtol, atol, equal_nan, checks).any(actual, expected)
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


def bounds_of(dtype: dtype_type, low: float | None, high: float | None) -> tuple[Any, Any]:
    """The interval to draw from, inside that of the dtype. Raises ValueError if it is empty, or bounded by NaN."""
    if dtype.is_floating_point:
        least, beyond = finfo(dtype).min, finfo(dtype).max
    elif dtype.name == "bool":
        least, beyond = 0, 2
    else:
        least, beyond = iinfo(dtype).min, iinfo(dtype).max + (dtype.name != "int64")
    low = (0 if dtype.name == "bool" else -9) if low is None else low
    high = (2 if dtype.name == "bool" else 9 if dtype.is_floating_point else 10) if high is None else high
    if low != low or high != high:
        raise ValueError(f"`low` and `high` cannot be NaN, but got {low=} and {high=}")
    if low == high and dtype.is_floating_point:
        warnings.warn(EMPTY_INTERVAL, FutureWarning, stacklevel=3)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < least or low >= beyond:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only "
                         f"supports [{least}, {beyond})")
    low, high = (min(max(bound, least), beyond) for bound in (low, high))
    return (low, high) if dtype.is_floating_point else (math.ceil(low), math.ceil(high))


def make_tensor(*shape: Any, dtype: dtype_type, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """A tensor of numbers drawn uniformly from [low, high), by default [-9, 9), with integers up to 9; the same as
    PyTorch's after the same seed.

    Args:
        noncontiguous: every second element of a tensor twice as wide.
        exclude_zero: put 1, or the smallest normal number, for each 0.

    Raises ValueError for an empty interval, one outside the dtype, `requires_grad` for a dtype that is not floating
    point, and `noncontiguous` together with a memory format.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"{noncontiguous=} and {memory_format=}")
    if requires_grad and not dtype.is_floating_point:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got {dtype=}")
    noncontiguous = noncontiguous and math.prod(sizes) > 1
    sizes = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous else sizes
    low, high = bounds_of(dtype, low, high)
    if not dtype.is_floating_point:
        result: Any = randint(low, high, sizes, device=device, dtype=dtype)
    else:
        result = empty(sizes, device=device, dtype=dtype)
        if high - low >= finfo(dtype).max:  # more than `uniform_` takes
            result.uniform_(low / 2, high / 2).mul_(2)
        else:
            result.uniform_(low, high)
    if noncontiguous:
        result = result[..., 1::2]
    elif memory_format is not None:
        result = result.clone(memory_format=memory_format)
    if exclude_zero:
        result[result == 0] = finfo(dtype).tiny if dtype.is_floating_point else 1
    tensor: Tensor = result.requires_grad_() if requires_grad else result
    return tensor

