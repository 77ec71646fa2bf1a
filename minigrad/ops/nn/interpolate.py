"""Resizes (N, C, …) by nearest elements, linear or cubic interpolation, or area averages (`interpolate`), and samples
images at given coordinates (`grid_sample`), such as those of an affine map (`affine_grid`).

Spatial transformers warp images by `grid_sample`: the result is differentiable with respect to the image and the
coordinates. These run from -1, the first edge, to 1, the last, in the order (x, y) or (x, y, z).
"""

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.contexts import errstate
from minigrad._base.dtype import as_dtype
from minigrad.backends.numpy import XP
from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, record1, record2
from minigrad.ops._dispatch import Scaled, same_device
from minigrad.ops.index.flat_indexing import elements_at, scatter_into
from minigrad.ops.nn.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from minigrad.ops.nn.resample import LOOKED_AT, Resample, resampling


def nearest(size: int, out: int, scale: float, exact: bool) -> Any:
    """The matrix that selects the nearest element; `scale` is the distance between samples in the input."""
    matrix = np.zeros((out, size))
    at = np.float32(scale) * (np.arange(out, dtype=np.float32) + np.float32(0.5 if exact else 0))
    matrix[np.arange(out), np.minimum(np.floor(at).astype(np.int64), size - 1)] = 1
    return matrix


def positions(size: int, out: int, scale: float, align_corners: bool) -> Any:
    """The positions in the input of the result's elements."""
    if align_corners:
        return np.arange(out) * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return scale * (np.arange(out) + 0.5) - 0.5


def linear(size: int, out: int, scale: float, align_corners: bool) -> Any:
    """The matrix of linear interpolation between neighbours."""
    at = np.maximum(positions(size, out, scale, align_corners), 0)
    low = np.minimum(at.astype(np.int64), size - 1)
    high = np.minimum(low + 1, size - 1)
    part = np.clip(at - low, 0, 1)
    matrix = np.zeros((out, size))
    np.add.at(matrix, (np.arange(out), low), np.maximum(1 - part, LOOKED_AT))
    np.add.at(matrix, (np.arange(out), high), np.maximum(part, LOOKED_AT))
    return matrix


def cubic(size: int, out: int, scale: float, align_corners: bool) -> Any:
    """The matrix of cubic interpolation (Keys, 1981, with a = -0.75)."""
    at = positions(size, out, scale, align_corners)
    low = np.floor(at).astype(np.int64)
    part = at - low
    matrix = np.zeros((out, size))
    for offset in range(-1, 3):
        d = abs(part - offset)
        weight = np.where(d <= 1, (1.25 * d - 2.25) * d * d + 1, ((-0.75 * d + 3.75) * d - 6) * d + 3)
        np.add.at(matrix, (np.arange(out), np.clip(low + offset, 0, size - 1)), np.where(weight, weight, LOOKED_AT))
    return matrix


def upsampling(name: str, kernel: str, matrix: Callable[..., Any]) -> tuple[type[Resample], Callable[..., Any]]:
    """An op, given the kernel name in PyTorch's errors and a function that computes its matrices."""
    lines = [""] if name.endswith("1D") else ["_d", "_h", "_w"][-int(name[-2]):]
    shown = ("output_size", "self_sym_sizes", *[f"scales{line}" for line in lines])
    return resampling(__name__, f"Upsample{name}", kernel,
                      shown=shown if matrix is nearest else (*shown, "align_corners")), matrix


UPSAMPLING = {
    ("nearest", 1): upsampling("Nearest1D", "compute_indices_weights_nearest", nearest),
    ("nearest", 2): upsampling("Nearest2D", "upsample_nearest2d_channels_last", nearest),
    ("nearest", 3): upsampling("Nearest3D", "compute_indices_weights_nearest", nearest),
    ("nearest-exact", 1): upsampling("NearestExact1D", "compute_indices_weights_nearest", nearest),
    ("nearest-exact", 2): upsampling("NearestExact2D", "upsample_nearest2d_channels_last", nearest),
    ("nearest-exact", 3): upsampling("NearestExact3D", "compute_indices_weights_nearest", nearest),
    ("linear", 1): upsampling("Linear1D", "compute_indices_weights_linear", linear),
    ("bilinear", 2): upsampling("Bilinear2D", "upsample_bilinear2d_channels_last", linear),
    ("trilinear", 3): upsampling("Trilinear3D", "compute_indices_weights_linear", linear),
    ("bicubic", 2): upsampling("Bicubic2D", "compute_indices_weights_cubic", cubic),
}
AREA = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
DIMS = {"linear": 3, "bilinear": 4, "trilinear": 5}
MODES = {mode for mode, _ in UPSAMPLING}


def interpolate(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """Resize all dimensions of (N, C, …) but the first two, to `size` or by `scale_factor`.

    `mode`: 'nearest', 'nearest-exact', 'area', 'linear' (3-D input), 'bilinear', 'bicubic' (4-D), 'trilinear' (5-D).
    `align_corners`: whether the first and last elements keep their positions. `antialias` is not implemented. Raises
    ValueError if both or neither of `size` and `scale_factor` are given, or their lengths do not fit, and
    NotImplementedError if a mode does not fit the number of dimensions, or for `antialias`.
    """
    shape = input.array.shape
    k = len(shape) - 2
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | "
                         "bicubic | trilinear")
    out, factors = sizes_for(shape, size, scale_factor)
    if antialias:
        raise NotImplementedError("minigrad does not implement interpolate with antialias=True")
    if recompute_scale_factor:
        factors = None
    scales = [1 / f if f else n / o if o else 0.0 for n, o, f in zip(shape[2:], out, factors or [0.0] * k, strict=True)]
    if mode in DIMS and 1 <= k <= 3 and k + 2 != DIMS[mode]:
        raise NotImplementedError(f"Got {k + 2}D input, but {mode} mode needs {DIMS[mode]}D input")
    if any(o <= 0 for o in out) or any(n <= 0 for n in shape[2:]):
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input "
                           f"{size_text(shape[2:])} output {size_text(out)}")
    if 1 <= k <= 3 and mode in MODES and math.prod(shape[1:]) == 0:
        raise RuntimeError(f"Non-empty {k + 2}D data tensor expected but got a tensor with sizes {list(shape)}")
    if mode == "area" and 1 <= k <= 3:
        return AREA[k - 1](input, out)
    if (mode, k) in UPSAMPLING:
        op, matrix = UPSAMPLING[mode, k]
        option = mode == "nearest-exact" or bool(align_corners)
        matrices = tuple([matrix(*along, option) for along in zip(shape[2:], out, scales, strict=True)])
        given: Sequence[float | None] = factors or [None] * k
        shown = given if matrix is nearest else (*given, option)
        return op.forward(input, matrices, tuple(out), shape, *shown)
    raise NotImplementedError("Input Error: Only 3D, 4D and 5D input Tensors supported (got "
                              f"{len(shape)}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | "
                              f"lanczos | area | nearest-exact (got {mode})")


def size_text(sizes: Sequence[int]) -> str:
    """Sizes as PyTorch's error prints them."""
    return f"({', '.join(f'{name}: {n}' for name, n in zip(('D', 'H', 'W')[-len(sizes):], sizes, strict=True))})"


def sizes_for(shape: tuple[int, ...], size: Any, scale_factor: Any) -> tuple[list[int], list[float] | None]:
    """The size of the result, and the scale factors if these determine it."""
    k = len(shape) - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)) and len(size) != k:
            raise ValueError("Input and output must have the same number of spatial dimensions, but got input with "
                             f"spatial dimensions of {list(shape[2:])} and output size of {size}. Please provide "
                             "input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) "
                             "format.")
        return [int(n) for n in (size if isinstance(size, (list, tuple)) else [size] * k)], None
    if isinstance(scale_factor, (list, tuple)) and len(scale_factor) != k:
        raise ValueError("Input and scale_factor must have the same number of spatial dimensions, but got input "
                         f"with spatial dimensions of {list(shape[2:])} and scale_factor of shape {scale_factor}. "
                         "Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, "
                         "s2, ...,sK) format.")
    factors = [float(f) for f in (scale_factor if isinstance(scale_factor, (list, tuple)) else [scale_factor] * k)]
    return [math.floor(float(n) * f) for n, f in zip(shape[2:], factors, strict=True)], factors


SAMPLING_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
CUBIC = -0.75  # the slope of the cubic kernel at 1, as in PyTorch
ALIGN = ("Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
         "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details.")

UNIT = ("Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This is "
        "not an intended use case of affine_grid. See the documentation of affine_grid for details.")


class Fraction(Node, number=None):
    """How far each position is beyond the element before it: a piecewise linear function of the grid."""

    @staticmethod
    def values(x: Any, slope: Any, offset: Any) -> Any:
        return np.where(slope == 0, 0, x) * slope + offset  # where the slope is 0 the position may be infinite

    @staticmethod
    def forward(a: Tensor, slope: Any, offset: Any) -> Tensor:
        return record1(Fraction, Fraction.values(a.array, slope, offset), a, (), (slope,))

    def backward(self, xp: Any, g: Any, slope: Any) -> Any:
        return xp.apply(Scaled, g, slope)


class Taps(NamedTuple):
    """The elements read along one dimension: for each tap their numbers and whether they are inside."""

    numbers: list[Any]
    inside: list[Any]
    slope: Any  # of the position with respect to the grid
    offset: Any


def reflected(position: Any, low: float, high: float) -> tuple[Any, Any]:
    """Positions mirrored at both ends until they are inside, and the sign of the slope."""
    if low == high:
        return np.zeros_like(position), np.zeros_like(position)
    span = high - low
    sign = as_dtype(np.where(position < low, -1, 1), position.dtype)
    distance = np.abs(position - low)
    flips, extra = np.floor(distance / span), np.fmod(distance, span)
    even = flips % 2 == 0
    return np.where(even, extra + low, span - extra + low), np.where(even, sign, -sign)


def padded(position: Any, size: int, padding: str, align: bool) -> tuple[Any, Any]:
    """Positions after padding, and their slope."""
    slope = np.ones_like(position)
    if padding == "reflection":
        position, slope = reflected(position, 0 if align else -0.5, size - 1 if align else size - 0.5)
    if padding != "zeros":
        slope = np.where((position <= 0) | (position >= size - 1) | (position != position), 0, slope)
        position = np.clip(np.nan_to_num(position, nan=0.0), 0, size - 1)
    return position, slope


def taps_of(grid: Any, size: int, mode: str, padding: str, align: bool) -> Taps:
    """The taps along a dimension of this size, for coordinates from -1 to 1."""
    scale = (size - 1) / 2 if align else size / 2
    position = (grid + 1) * scale - (0 if align else 0.5)
    slope = np.full_like(position, scale)
    if mode != "bicubic":
        position, turned = padded(position, size, padding, align)
        slope = as_dtype(slope * turned, grid.dtype)
    position = np.nan_to_num(position, nan=-2.0, posinf=size + 2, neginf=-2)
    position = np.clip(position, -2 - size, 2 * size + 2) if mode != "bicubic" else position
    start = np.rint(position) if mode == "nearest" else np.floor(position)
    numbers, inside = [], []
    for step in {"nearest": (0,), "bilinear": (0, 1), "bicubic": (-1, 0, 1, 2)}[mode]:
        number = start + step
        if mode == "bicubic":
            number = padded(number, size, padding, align)[0]
        kept = (number >= 0) & (number < size)
        numbers.append(np.where(kept, number, 0).astype(np.int64))
        inside.append(kept)
    return Taps(numbers, inside, slope, as_dtype(Fraction.values(grid, -slope, position - start), grid.dtype))


def weights(xp: Any, t: Any, mode: str) -> list[tuple[Any, Any]]:
    """For each tap, its weight at a fraction `t`, and the slope of the weight."""
    if mode == "bilinear":
        return [(1 - t, t * 0 - 1), (t, t * 0 + 1)]
    if mode == "nearest":
        return [(t * 0 + 1, t * 0)]
    near, far = [], []
    for d, sign in ((t, 1), (1 - t, -1)):
        near.append((((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1, ((CUBIC + 2) * 3 * d - (CUBIC + 3) * 2) * d * sign))
        u = d + 1
        far.append((((u - 5) * u + 8) * u * CUBIC - 4 * CUBIC, ((3 * u - 10) * u + 8) * CUBIC * sign))
    return [far[0], near[0], near[1], far[1]]


class Sampler:
    """The taps of a whole grid: products over the dimensions."""

    def __init__(self, grid: Any, shape: Sequence[int], mode: str, padding: str, align: bool) -> None:
        self.shape, self.mode = tuple(shape), mode
        sizes = self.shape[2:]
        self.taps = [taps_of(grid[..., i], n, mode, padding, align) for i, n in enumerate(reversed(sizes))]
        count = len(self.taps[0].numbers)
        planes = np.arange(math.prod(self.shape[:2]), like=device_like(grid)) * math.prod(sizes)
        self.planes = planes.reshape(*self.shape[:2], *(1,) * len(sizes))
        self.choices = list(itertools.product(range(count), repeat=len(sizes)))

    def fractions(self, xp: Any, grid: Any) -> list[Any]:
        """The weights of the taps along each dimension, and their slopes."""
        return [weights(xp, xp.apply(Fraction, xp.getitem(grid, (..., i)), taps.slope, taps.offset), self.mode)
                for i, taps in enumerate(self.taps)]

    def chosen(self, choice: tuple[int, ...]) -> tuple[Any, Any]:
        """For one tap per dimension, the indices of the elements in the input, and whether they are inside."""
        step = 1
        indices: Any = 0
        inside: Any = True
        for taps, number, n in zip(self.taps, choice, reversed(self.shape[2:]), strict=True):
            indices, inside = indices + taps.numbers[number] * step, inside & taps.inside[number]
            step *= n
        return self.planes + indices[:, None], inside[:, None]

    def sampled(self, xp: Any, x: Any, grid: Any) -> Any:
        """The weighted sums of the elements at the taps."""
        fractions, result = self.fractions(xp, grid), 0
        for choice in self.choices:
            indices, inside = self.chosen(choice)
            weight = math.prod([each[number][0] for each, number in zip(fractions, choice, strict=True)])
            read = xp.masked(np.broadcast_to(inside, indices.shape), elements_at(xp, x, indices))
            result = result + read * xp.getitem(weight, (slice(None), None))
        return result

    def gradients(self, xp: Any, g: Any, x: Any, grid: Any) -> tuple[Any, Any]:
        """The gradients of the input and of the grid."""
        fractions, of_x = self.fractions(xp, grid), 0
        along = [0] * len(self.taps)
        for choice in self.choices:
            indices, inside = self.chosen(choice)
            mask = np.broadcast_to(inside, indices.shape)
            own = [each[number] for each, number in zip(fractions, choice, strict=True)]
            weight = xp.getitem(math.prod([w for w, _ in own]), (slice(None), None))
            of_x = of_x + scatter_into(xp, xp.masked(mask, g * weight), indices, self.shape)
            read = xp.sum(xp.masked(mask, elements_at(xp, x, indices)) * g, (1,), False)
            for i in range(len(along)):
                factors = [slope if j == i else w for j, (w, slope) in enumerate(own)]
                along[i] = along[i] + read * math.prod(factors)
        moved = [xp.apply(Scaled, part, taps.slope) for part, taps in zip(along, self.taps, strict=True)]
        return of_x, xp.stack(moved, -1)


class GridSampler2D(Node):
    saves = ("input", "grid")
    constants = ("interpolation_mode", "padding_mode", "align_corners", "")

    @classmethod
    def forward(cls, a: Tensor, grid: Tensor, mode: str, padding: str, align: bool) -> Tensor:
        with errstate(invalid="ignore"):  # a grid may hold NaN and infinities
            sampler = Sampler(grid.array, a.array.shape, mode, padding, align)
            result = sampler.sampled(XP, a.array, grid.array)
        return record2(cls, as_dtype(result, a.array.dtype, copy=False), a, grid, (a, grid),
                       (SAMPLING_MODES[mode], PADDINGS[padding], align, sampler))

    def backward(self, xp: Any, g: Any, a: Any, grid: Any, mode: int, padding: int, align: bool,
                 sampler: Sampler) -> tuple[Any, Any]:
        return sampler.gradients(xp, g, a, grid)


class GridSampler3D(GridSampler2D):
    __slots__ = ()


def warned(align_corners: bool | None) -> bool:
    """Whether the corners are aligned, with PyTorch's warning if it is not given."""
    if align_corners is None:
        warnings.warn(ALIGN, UserWarning, stacklevel=3)
    return bool(align_corners)


def check_grid(input: Tensor, grid: Tensor, mode: str) -> None:
    """Raise PyTorch's errors for shapes that do not fit."""
    x, y = input.array.shape, grid.array.shape
    same_device(input.array, grid.array)
    if x[0] != y[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
                           f"{list(x)} and grid with sizes {list(y)}")
    if y[-1] != len(x) - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {len(x) - 2} in last dimension, but got grid "
                           f"with sizes {list(y)}")
    for dim, n in list(enumerate(x))[2:]:
        if n <= 0:
            raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
                               f"sizes {list(x)} with dimension {dim} being empty")
    if len(x) not in (4, 5) or len(x) != len(y):
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got "
                           f"input with sizes {list(x)} and grid with sizes {list(y)}")
    if mode == "bicubic" and len(x) == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Sample images (N, C, H, W) or volumes (N, C, D, H, W) at the coordinates of a grid (N, …, 2 or 3): (N, C, …).

    Args:
        mode: "bilinear" between the nearest elements, "nearest", or "bicubic" (images only).
        padding_mode: outside are "zeros", the "border" element, or the mirrored image, "reflection".
        align_corners: -1 and 1 are the centres of the first and last elements; otherwise, by default, their edges.

    Raises ValueError for another mode, and RuntimeError if the shapes do not fit.
    """
    if mode not in SAMPLING_MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but "
                         f"got: '{mode}'")
    if padding_mode not in PADDINGS:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                         f"but got: '{padding_mode}'")
    align = warned(align_corners)
    check_grid(input, grid, mode)
    op = GridSampler2D if input.array.ndim == 4 else GridSampler3D
    return op.forward(input, grid, mode, padding_mode, align)


class AffineGridGenerator(Node):
    constants = ("size", "align_corners", "")

    @staticmethod
    def forward(theta: Tensor, size: tuple[int, ...], align: bool) -> Tensor:
        lines = [np.linspace(-1, 1, n) * (1 if align or n == 1 else (n - 1) / n) * (n > 1) for n in size[2:]]
        points = np.meshgrid(*lines, indexing="ij")[::-1]
        base = np.stack([*points, np.ones(size[2:])], -1).reshape(-1, len(size) - 1)
        moved = Resample.values(theta.array, (base,)).swapaxes(-1, -2)
        array = np.ascontiguousarray(moved, like=theta.array).reshape(size[0], *size[2:], len(size) - 2)
        return record1(AffineGridGenerator, array, theta, (), (size, align, base))

    def backward(self, xp: Any, g: Any, size: tuple[int, ...], align: bool, base: Any) -> Any:
        rows = xp.reshape(g, (size[0], math.prod(size[2:]), len(size) - 2))
        return xp.apply(Resample, xp.swapaxes(rows, 1, 2), (base.T,))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The coordinates at which `grid_sample` reads an image of `size` transformed by affine maps.

    Args:
        theta: matrices (N, 2, 3), or (N, 3, 4) for volumes.
        size: of the result of `grid_sample`: (N, C, H, W) or (N, C, D, H, W).

    Returns:
        A grid (N, H, W, 2) or (N, D, H, W, 3).

    Raises ValueError if the shapes do not fit, or a size is not positive, and NotImplementedError if `size` has another
    length.
    """
    align = warned(align_corners)
    if theta.array.dtype.kind != "f":
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    shape, dims = theta.array.shape, len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
                                  f"respectively. Got size {size}.")
    if len(shape) != 3 or shape[1:] != (dims, dims + 1):
        raise ValueError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
                         f"Got {theta.shape}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align and min(size[2:]) == 1:
        warnings.warn(UNIT, UserWarning, stacklevel=2)
    if shape[0] != size[0]:
        raise RuntimeError(f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
                           f"{list(size)}. Got {list(shape)}.")
    return AffineGridGenerator.forward(theta, tuple(size), align)
