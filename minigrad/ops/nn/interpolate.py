"""Resizes (N, C, …) by nearest elements, linear or cubic interpolation, or area averages."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minigrad.core import Tensor
from minigrad.ops.nn.adaptive_pool import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from minigrad.ops.nn.resample import Resample, resampling


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
    np.add.at(matrix, (np.arange(out), low), 1 - part)
    np.add.at(matrix, (np.arange(out), high), part)
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
        np.add.at(matrix, (np.arange(out), np.clip(low + offset, 0, size - 1)), weight)
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
    `align_corners`: whether the first and last elements keep their positions. `antialias` is not implemented.

    Raises:
        ValueError: if both or neither of `size` and `scale_factor` are given, or their lengths do not fit.
        NotImplementedError: if a mode does not fit the number of dimensions, or for `antialias`.
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
