"""Packs and pads sequences of different lengths: mirrors `torch/nn/utils/rnn.py`.

A batch of them is one padded tensor, or a PackedSequence, for which a recurrent layer makes no steps over padding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from minigrad._base.dtype import int64
from minigrad.backends import intp
from minigrad.core import Tensor, plain
from minigrad.ops.factory import as_tensor
from minigrad.ops.index.scatter_gather import index_select
from minigrad.ops.nn.rnn import pack, pad, pad_all
from minigrad.ops.reduce.sort import sort

__all__ = ["PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
           "pad_sequence", "unpack_sequence", "unpad_sequence"]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


def converting(method: str, dtype: str) -> Callable[[Any], Any]:
    """Make a method of PackedSequence that converts its data by the method of Tensor with the same name."""

    def convert(self: PackedSequence) -> PackedSequence:
        return self.to(getattr(self.data, method)().dtype)

    convert.__name__, convert.__qualname__ = method, f"PackedSequence.{method}"
    convert.__doc__ = f"With data of {dtype}."
    return convert


class PackedSequence(_Packed):
    """Packed data, the number of rows of each step, and if sequences were sorted by length, the order and its inverse.

    `pack_sequence` and `pack_padded_sequence` make them.
    """

    def __new__(cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is not None:
            return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)
        if not isinstance(data, (list, tuple)) or len(data) != 2:
            raise AssertionError("Expected data to be a list or tuple of length 2")
        return super().__new__(cls, data[0], data[1], sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequence with its data converted as by `Tensor.to`; itself if nothing changes. The batch sizes
        stay on the CPU, the indices move along."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = [None if index is None else index.to(data.device) for index in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequence on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Return the sequence on a GPU."""
        return self.to(self.data.cuda(*args, **kwargs).device)

    double = converting("double", "float64")
    float = converting("float", "float32")
    half = converting("half", "float16")
    long = converting("long", "int64")
    int = converting("int", "int32")
    short = converting("short", "int16")
    char = converting("char", "int8")
    byte = converting("byte", "uint8")

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return bool(self.data.is_cuda)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Return the permutation that undoes another; None for None."""
    return None if permutation is None else plain(intp.argsort(permutation.array))


def pack_padded_sequence(input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences of these lengths; `input` is (time, batch, …), with `batch_first` (batch, time, …).

    `enforce_sorted`: the sequences are in descending order of length; else they are sorted first. Raises RuntimeError
    if there is nothing to pack, or the lengths do not match or do not descend.
    """
    long = lengths.long() if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64, device="cpu")
    if enforce_sorted:
        return PackedSequence(*pack(input, long, batch_first), None)
    long, order = sort(long, descending=True)
    order = order.to(input.device)
    data, sizes = pack(index_select(input, 0 if batch_first else 1, order), long, batch_first)
    return PackedSequence(data, sizes, order)


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:
    """Return the padded tensor, (time, batch, …) or with `batch_first` (batch, time, …), and its sequences' lengths.
    Raises ValueError if `total_length`, to which they are padded, is less than the longest length."""
    sizes = sequence.batch_sizes.tolist()
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                         f"total_length={total_length} and max sequence length being {longest}")
    padded, lengths = pad(sequence.data, sizes, batch_first, padding_value,
                          longest if total_length is None else total_length)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return index_select(padded, 0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(sequences: Tensor | Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Tensor:
    """Pad sequences of shape (length, …) to one tensor, (longest, count, …) or with `batch_first` (count, longest, …).
    Raises RuntimeError if there are none, or their other dimensions differ."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of type: "
                           f"{type(sequences)}")
    tensors = sequences.unbind(0) if isinstance(sequences, Tensor) else tuple(sequences)
    return pad_all(tensors, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """Return the sequences in a padded tensor, each as long as `lengths` says."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    masks = np.arange(rows.shape[1], like=lengths.array) < lengths.array[:, None]
    return [row[plain(mask)] for row, mask in zip(rows.unbind(0), masks, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of shape (length, …). See `pack_padded_sequence`."""
    lengths = [v.array.shape[0] for v in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """Return the sequences in packed data."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
