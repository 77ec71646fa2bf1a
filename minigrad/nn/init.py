"""Initialisation: mirrors `torch/nn/init.py`. Random numbers are drawn as PyTorch draws them, so that seeds match.

This is where the scales of weights come from: each function states its rule and who found it.
"""

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from minigrad.autograd.grad_mode import no_grad
from minigrad.backends.registry import device_like
from minigrad.core import Tensor
from minigrad.core import constant as leaf_of
from minigrad.ops._dispatch.arg_parser import guardable
from minigrad.ops.random import Generator, randperm

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]

LINEAR = ("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid")
FAR = "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the gain that makes up for a nonlinearity: linear 1, tanh 5/3, relu √2, leaky_relu √(2 / (1 + slope²)).
    Raises ValueError for any other nonlinearity, or a slope that is not a number."""
    if nonlinearity in LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    if nonlinearity != "leaky_relu":
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
        raise ValueError(f"negative_slope {param} not a valid number")
    return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers drawn uniformly from [a, b)."""
    with no_grad():
        tensor.uniform_(a, b, generator=generator)
    return tensor


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with numbers from a normal distribution."""
    with no_grad():
        tensor.normal_(mean, std, generator=generator)
    return tensor


def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Generator | None = None) -> Tensor:
    """Fill with numbers from a normal distribution truncated to [a, b].

    Numbers are drawn until all lie in the interval: normal ones if more than 3 in 10 do, else uniform ones, each
    accepted with a probability of the density there over the density at its peak (rejection sampling).
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(FAR, stacklevel=2)
    share = (math.erf((b - mean) / std / math.sqrt(2.0)) - math.erf((a - mean) / std / math.sqrt(2.0))) / 2.0
    with no_grad():
        draw = truncated_normals if share > 0.3 else rejection_sampled
        tensor.copy_(draw(tensor, mean, std, a, b, generator))
    return tensor


def truncated_normals(tensor: Tensor, mean: float, std: float, a: float, b: float,
                      generator: Generator | None) -> Tensor:
    """Return normal numbers; while some are outside [a, b], new ones are drawn for all places, and used there."""
    low, high = tensor.array.dtype.type(a), tensor.array.dtype.type(b)
    numbers = tensor.normal_(mean, std, generator=generator).array
    while (outside := (numbers < low) | (numbers > high)).any():
        drawn = leaf_of(np.empty_like(numbers)).normal_(mean, std, generator=generator).array
        numbers = np.where(outside, drawn, numbers)
    return leaf_of(numbers)


def rejection_sampled(tensor: Tensor, mean: float, std: float, a: float, b: float,
                      generator: Generator | None) -> Tensor:
    """Return uniform numbers from [a, b], each accepted with probability density / peak, else drawn again."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    numbers, missing = np.empty_like(tensor.array), np.ones(tensor.array.shape, bool, like=device_like(tensor.array))
    drawn, chance = leaf_of(np.empty_like(numbers)), leaf_of(np.empty_like(numbers))
    while missing.any():
        drawn.uniform_(a, b, generator=generator)
        numbers = np.where(missing, drawn.array, numbers)
        height = ((drawn - mean) / std) ** 2 * -0.5 - peak
        missing &= (chance.uniform_(generator=generator).log() > height).array
    return leaf_of(numbers)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    with no_grad():
        tensor.fill_(val)
    return tensor


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with no_grad():
        tensor.zero_()
    return tensor


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with ones on the diagonal and zeros elsewhere: a Linear layer then returns its input. Raises
    ValueError unless the tensor is a matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.copy_(leaf_of(np.eye(*tensor.shape, dtype=tensor.array.dtype, like=device_like(tensor.array))))
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that it passes on as many input channels as it can, in each group. Raises
    ValueError unless it has 3, 4 or 5 dimensions, and its channels divide into the groups."""
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    channels, *rest = tensor.shape
    if channels % groups:
        raise ValueError("dim 0 must be divisible by groups")
    weight = np.zeros(tensor.shape, tensor.array.dtype, like=device_like(tensor.array))
    centre = tuple([n // 2 for n in rest[1:]])
    for group in range(groups):
        for channel in range(min(channels // groups, rest[0])):
            weight[(group * (channels // groups) + channel, channel, *centre)] = 1
    with no_grad():
        tensor.copy_(leaf_of(weight))
    return tensor


def fans(tensor: Tensor) -> tuple[int, int]:
    """Return how many inputs each output has, and how many outputs each input has."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = fans  # PyTorch's name, which programs call though it is private


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill uniformly from [-bound, bound), bound = gain √(6 / (fan_in + fan_out)) (Glorot and Bengio 2010). Raises
    ValueError for a tensor of fewer than two dimensions."""
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(sum(fans(tensor)))))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers, std = gain √(2 / (fan_in + fan_out)) (Glorot and Bengio 2010). Raises ValueError for a
    tensor of fewer than two dimensions."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(sum(fans(tensor)))), generator)


def he_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return gain / √fan; None, with a warning, if there is nothing to fill. Raises ValueError for a tensor of fewer
    than two dimensions, or another mode."""
    if tensor.numel() == 0:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None) -> Tensor:
    """Fill uniformly from [-bound, bound), bound = gain √(3 / fan) (He et al. 2015). Raises ValueError for a tensor of
    fewer than two dimensions, or another mode."""
    std = he_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers, std = gain / √fan (He et al. 2015). Raises ValueError for a tensor of fewer than two
    dimensions, or another mode."""
    std = he_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a matrix whose rows or columns, whichever are fewer, are orthonormal (Saxe et al. 2013).

    All dimensions but the first count as one. The matrix is Q of a QR decomposition of normal numbers, with the signs
    of the diagonal of R. Raises ValueError for a tensor of fewer than two dimensions.
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.shape[0], tensor.numel() // tensor.shape[0]
    empty = leaf_of(np.empty((rows, columns), tensor.array.dtype, like=device_like(tensor.array)))
    drawn = empty.normal_(0, 1, generator=generator).array
    if drawn.dtype == np.float16:
        raise NotImplementedError("\"geqrf_cpu\" not implemented for 'Half'")
    q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
    q = q * np.sign(np.diag(r))
    with no_grad():
        tensor.copy_(leaf_of((q.T if rows < columns else q).reshape(tensor.shape))).mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with normal numbers, then set a share `sparsity` of each column to zero (Martens 2010). Raises
    ValueError unless the tensor is a matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows)[:math.ceil(sparsity * rows)], column] = 0
    return tensor


# Functions that compute on arrays: with several GPUs, on the one that the tensor is on.
globals().update({name: guardable(globals()[name], name, __name__)
                  for name in ("dirac_", "eye_", "orthogonal_", "sparse_", "trunc_normal_")})


def deprecated(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Make the old name of a function, without the underscore: it warns and calls the new one."""
    new = function.__name__
    old = new.removesuffix("_")

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    called.__name__ = called.__qualname__ = old
    called.__doc__ = f"Old name of `{new}`; it warns."
    return called


constant = deprecated(constant_)
dirac = deprecated(dirac_)
eye = deprecated(eye_)
kaiming_normal = deprecated(kaiming_normal_)
kaiming_uniform = deprecated(kaiming_uniform_)
normal = deprecated(normal_)
orthogonal = deprecated(orthogonal_)
sparse = deprecated(sparse_)
uniform = deprecated(uniform_)
xavier_normal = deprecated(xavier_normal_)
xavier_uniform = deprecated(xavier_uniform_)
