"""Pads the last dimensions with a number, or by reflection, replication or wrapping around."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.backends.registry import device_like
from minigrad.core import Node, Tensor, plain, record1
from minigrad.ops._dispatch import backward_of, check_kind, in_format_of, op
from minigrad.ops._dispatch.type_promotion import number_in
from minigrad.ops.index.indexing import setitem
from minigrad.ops.shape.slices import Slice

__all__ = ["constant_pad_nd"]

Shape = tuple[int, ...]


class ConstantPadNd(Node):
    """Padding with a number; negative padding crops. `pad` starts at the last dimension: (left, right, top, …)."""

    constants = ("pad",)

    @staticmethod
    def values(x: Any, pad: Shape, value: float = 0) -> Any:
        sides = sides_of(pad, x.ndim)
        size = tuple([n + left + right for n, (left, right) in zip(x.shape, sides, strict=True)])
        out = np.full(size, number_in(value, x.dtype), x.dtype, like=device_like(x))
        out[inner_part(out.shape, sides)] = x[kept_part(x.shape, sides)]
        return in_format_of(out, x)

    @staticmethod
    def forward(a: Tensor, pad: Shape, value: float = 0) -> Tensor:
        return record1(ConstantPadNd, ConstantPadNd.values(a.array, pad, value), a, (), (pad,))

    def backward(self, xp: Any, g: Any, pad: Shape) -> Any:
        return xp.apply(ConstantPadNd, g, tuple([-n for n in pad]))


def sides_of(pad: Shape, ndim: int) -> list[tuple[int, int]]:
    """The padding before and after each dimension, starting with the first."""
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    return [(0, 0)] * (ndim - len(pairs)) + pairs[::-1]


def inner_part(shape: Shape, sides: list[tuple[int, int]]) -> tuple[slice, ...]:
    """The slices of the tensor itself in a padded tensor of this shape."""
    return tuple([slice(max(left, 0), n - max(right, 0)) for n, (left, right) in zip(shape, sides, strict=True)])


def kept_part(shape: Shape, sides: list[tuple[int, int]]) -> tuple[slice, ...]:
    """The slices of a tensor of this shape that negative padding leaves."""
    return tuple([slice(max(-left, 0), n - max(-right, 0)) for n, (left, right) in zip(shape, sides, strict=True)])


class PadFromWithin(Node, number=None):
    """Padding with elements of the tensor: for each padded dimension, `indices` is where each element comes from."""

    saves = ("self",)
    constants = ("padding",)

    @classmethod
    def forward(cls, a: Tensor, pad: Shape, indices: tuple[Any, ...]) -> Tensor:
        index = (..., *np.ix_(*indices))
        return record1(cls, in_format_of(a.array[index], a.array), a, (a,), (pad, index, a.array.shape))

    def backward(self, xp: Any, g: Any, a: Any, pad: Shape, index: tuple[Any, ...], shape: Shape) -> Any:
        return xp.apply(backward_of(type(self)), xp.scatter(g, index, shape), a)


def pads_of(name: str) -> list[type[PadFromWithin]]:
    """The ops that pad one, two and three dimensions."""
    def op(k: int) -> type[PadFromWithin]:
        class Op(PadFromWithin, name=f"{name}{k}D"):
            __slots__ = ()
        return Op
    return [op(k) for k in (1, 2, 3)]


ReflectionPad1D, ReflectionPad2D, ReflectionPad3D = REFLECT = pads_of("ReflectionPad")
ReplicationPad1D, ReplicationPad2D, ReplicationPad3D = REPLICATE = pads_of("ReplicationPad")
OPS = {"reflect": REFLECT, "replicate": REPLICATE}


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The tensor with its last dimensions padded by `pad`: (left, right, top, bottom, …), the last dimension first.

    `mode`: 'constant' (with `value`, default 0), 'reflect' (mirrored at the edge), 'replicate' (the element at the
    edge) or 'circular' (the elements at the other end). Raises RuntimeError if `pad` is too long, of odd length, or too
    wide, and NotImplementedError for another mode, or a number of dimensions that the mode does not support.
    """
    sides = tuple([int(n) for n in pad])
    shape = input.array.shape
    if len(sides) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(sides) // 2 > len(shape):
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got "
                           f"padding length {len(sides)} and input of dimension {len(shape)}")
    around = sides_of(sides, len(shape))
    if mode == "constant":
        for dim, (n, (left, right)) in enumerate(zip(shape, around, strict=True)):
            if n + left + right < 0:
                raise RuntimeError(f"The input size {n}, plus negative padding {left} and {right}, resulted in a "
                                   f"negative output size, which is invalid. Check dimension {dim} of your input.")
        return ConstantPadNd.forward(input, sides, 0.0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    k = len(sides) // 2
    if mode == "circular" and 1 <= k <= 3 and len(shape) in (k + 1, k + 2):
        return circular(input, around, range(len(shape) - 1, len(shape) - k - 1, -1))
    if mode not in OPS or not 1 <= k <= 3 or len(shape) not in (k + 1, k + 2):
        if mode not in OPS and mode != "circular":
            raise NotImplementedError(f"Unrecognised padding mode {mode}")
        raise NotImplementedError(
            f"Padding size {len(sides)} is not supported for {len(shape)}D input tensor.\nSupported combinations for "
            "non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: "
            "padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)")
    if 0 in shape[-k - 1:]:
        raise RuntimeError(f"Expected {k + 1}D or {k + 2}D (batch mode) tensor with possibly 0 batch size and other "
                           f"non-zero dimensions for input, but got: {list(shape)}")
    for i, (n, (left, right)) in enumerate(zip(shape[::-1], around[:-k - 1:-1])):
        if mode == "reflect" and max(left, right) >= n:
            raise RuntimeError(f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input "
                               f"dimension, but got: padding ({left}, {right}) at dimension {len(shape) - 1 - i} "
                               f"of input {list(shape)}")
    check_kind(input.array, "b", f"{'reflection' if mode == 'reflect' else 'replication'}_pad{k}d")
    like = device_like(input.array)
    return OPS[mode][k - 1].forward(input, sides, tuple(
        [indices_of(mode, n, *side, like) for n, side in zip(shape[-k:], around[-k:], strict=True)]))


def indices_of(mode: str, n: int, left: int, right: int, like: Any) -> Any:
    """For each element of the padded dimension, the index among `n` elements that it comes from."""
    indices = np.arange(-left, n + right, like=like)
    if mode == "replicate":
        return np.clip(indices, 0, n - 1)
    return np.where(indices < 0, -indices, np.where(indices >= n, 2 * (n - 1) - indices, indices))


def circular(input: Tensor, around: list[tuple[int, int]], dims: range) -> Tensor:
    """Circular padding; as in PyTorch it is written into an empty tensor, part by part."""
    shape = input.array.shape
    for n, (left, right) in zip(shape, around, strict=True):
        if max(left, right) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if n + left + right < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    size = tuple([n + left + right for n, (left, right) in zip(shape, around, strict=True)])
    out = plain(np.empty(size, input.array.dtype, like=device_like(input.array)))
    middle, cropped = input, kept_part(shape, around)
    for dim in dims:
        middle = Slice.forward(middle, dim, cropped[dim])
    setitem(out, inner_part(out.array.shape, around), middle)
    for dim in dims:
        left, right = around[dim]
        n, front = out.array.shape[dim], (slice(None),) * dim
        if left > 0:
            setitem(out, (*front, slice(0, left)), out[(*front, slice(n - left - max(right, 0), n - max(right, 0)))])
        if right > 0:
            setitem(out, (*front, slice(n - right, n)), out[(*front, slice(max(left, 0), max(left, 0) + right))])
    return out


padded_by = pad  # in `constant_pad_nd` the name is a parameter


@op
def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """`pad` with a number."""
    before, after = pad[::2], pad[1::2]
    if len(before) != len(after):
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    return padded_by(input, pad, "constant", number_in(value, input.array.dtype).item())  # not as a float, as in `pad`
