"""Packs sequences of different lengths into one tensor without padding, and pads them again.

Mirrors PyTorch's `PackedSequence.cpp`. Packed data holds the first step of all sequences, longest first, then the
second step of those that have one, and so on; `batch_sizes` is the number of rows of each step.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minigrad.backends.registry import backend_of, device_like, moved
from minigrad.core import Node, Tensor, plain, record_n
from minigrad.ops.shape.slices import narrow
from minigrad.ops.shape.views import Transpose, dim_of, reshape

UNSORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
    "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
    "need ONNX exportability."
)


class PackPaddedSequence(Node):
    """The rows of a (time, batch, …) tensor that are not padding."""

    saves = ("result1",)
    constants = ("batch_first", "", "input_sym_sizes")

    @staticmethod
    def forward(a: Tensor, batch_sizes: Tensor, batch_first: bool) -> Tensor:
        sizes = batch_sizes.array
        indices = np.repeat(np.arange(len(sizes)), sizes), np.concatenate([np.arange(n) for n in sizes])
        like = device_like(a.array)  # the sizes are on the CPU, as in PyTorch
        indices = tuple([moved(index, like) for index in indices])
        constants = batch_first, indices, a.array.shape
        return record_n(PackPaddedSequence, a.array[indices], (a,), (batch_sizes,), constants)

    def backward(self, xp: Any, g: Any, sizes: Any, batch_first: bool, indices: Any, shape: tuple[int, ...]) -> Any:
        return xp.scatter(g, indices, shape)


def pack(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The packed data and batch sizes of sequences of these lengths, which descend."""
    long = lengths.array
    padded = Transpose.forward(input, 0, 1) if batch_first else input
    if not padded.array.size:
        raise RuntimeError("Cannot pack empty tensors.")
    if long.ndim != 1 or long.dtype.name != "int64" or backend_of(long) is not None:
        raise RuntimeError("'lengths' argument should be a 1D CPU int64 tensor, but got "
                           f"{long.ndim}D {lengths.device} {lengths.dtype.type_name} tensor")
    batch = padded.array.shape[dim_of(1, padded.array.ndim)]
    if len(long) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(long)} "
                           f"(batch_size={batch})")
    if long[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
                           "<= 0")
    if (long[:-1] < long[1:]).any():
        raise RuntimeError(UNSORTED)
    sizes = plain((long[:, None] > np.arange(long[0])).sum(0))
    return PackPaddedSequence.forward(padded, sizes, batch_first), sizes


def pad(data: Tensor, sizes: Sequence[int], batch_first: bool, value: float, time: int) -> tuple[Tensor, Tensor]:
    """The padded (time, batch, …) tensor, and the lengths of the sequences. Steps of equal size are copied at once."""
    rest = data.array.shape[1:]
    out = plain(np.full((time, sizes[0], *rest), value, data.array.dtype, like=device_like(data.array)))
    step = row = 0
    while step < len(sizes):
        size, first = sizes[step], step
        while step < len(sizes) and sizes[step] == size:
            step += 1
        steps = step - first
        part = reshape(narrow(data, 0, row, steps * size), (steps, size, *rest))
        narrow(narrow(out, 0, first, steps), 1, 0, size).copy_(part)
        row += steps * size
    lengths = (np.array(sizes)[:, None] > np.arange(sizes[0])).sum(0)
    return Transpose.forward(out, 0, 1) if batch_first else out, plain(lengths)


def pad_all(sequences: Sequence[Tensor], batch_first: bool, value: float, side: str) -> Tensor:
    """Sequences as one tensor, each padded to the length of the longest."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {side}.")
    first = sequences[0].array
    if not first.ndim:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest, count = max([s.array.shape[0] for s in sequences]), len(sequences)
    shape = (count, longest) if batch_first else (longest, count)
    out = plain(np.full(shape + first.shape[1:], value, first.dtype, like=device_like(first)))
    for i, sequence in enumerate(sequences):
        length = sequence.array.shape[0]
        start = longest - length if side == "left" else 0
        own = out.select(0 if batch_first else 1, i)
        narrow(own, 0, start, length).copy_(sequence)
    return out
