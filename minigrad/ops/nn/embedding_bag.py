"""Sums, means or maxima of the rows of a table, bag by bag: `embedding_bag`.

You need it for texts as bags of words: it combines `embedding` and a reduction, without storing the rows.
"""

from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad.backends.numpy import add_at
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, attributes, plain, record_n
from minigrad.core.record import SCALAR_OPERAND
from minigrad.ops._dispatch import same_device, underived
from minigrad.ops.nn.embedding import counts_of, shorten
from minigrad.ops.shape.views import reshape
from minigrad.ops.tensor.copy import contiguous

MODES = {"sum": 0, "mean": 1, "max": 2}


class EmbeddingBag(Node):
    """One row for each bag of rows; an empty bag is zeros, and rows with the number `padding_idx` do not count."""

    saves = ("indices", "offsets", "per_sample_weights", "weight")
    constants = ("mode", "padding_idx", "scale_grad_by_freq", "")
    shows = attributes(weight_sym_argsize_0=lambda node: node.const[3][-1][0], sparse=lambda node: False)

    @staticmethod
    def forward(table: Tensor, weights: Tensor | None, rows_of: tuple[Tensor, Tensor], bags: Any, count: int, mode: int,
                padding_idx: int, by_frequency: bool) -> Tensor:
        w, factors, indices = table.array, None if weights is None else weights.array, rows_of[0].array
        kept = indices != padding_idx
        rows, into = w[indices[kept]], bags[kept]
        out = np.zeros((count, w.shape[1]), w.dtype, like=device_like(w))
        chosen = None
        if mode == MODES["max"]:
            chosen = np.full(out.shape, -1, np.int64, like=device_like(w))
            for bag in range(count):
                members = np.flatnonzero(into == bag)
                if members.size:
                    best = members[rows[members].argmax(0)]
                    out[bag], chosen[bag] = rows[best, np.arange(w.shape[1])], indices[kept][best]
        else:
            add_at(out, into, rows if factors is None else rows * factors[kept][:, None])
        share = np.ones(count, w.dtype, like=device_like(w))
        if mode == MODES["mean"]:
            share = as_dtype(1 / np.maximum(counts_of(into, count), 1), w.dtype)
            out = out * share[:, None]
        layout = (indices, bags, kept, share, chosen, w.shape)
        saved = (*rows_of, weights, table if weights is not None and weights._requires_grad else None)
        inputs = table, SCALAR_OPERAND if weights is None else weights
        return record_n(EmbeddingBag, out, inputs, saved, (mode, padding_idx, by_frequency, layout))

    def backward(self, xp: Any, g: Any, indices: Any, offsets: Any, weights: Any, table: Any, mode: int,
                 padding_idx: int, by_frequency: bool, layout: Any) -> Any:
        return (None if self.next[0] is None else xp.apply(OfTable, g, weights, by_frequency, layout),
                None if self.next[1] is None else xp.apply(OfWeights, g, table, layout))


class OfTable(Node, name="EmbeddingBagBackward"):
    """The gradient of the table: for each row, the gradient of its bag times the weight of the row."""

    @staticmethod
    def values(g: Any, weights: Any, by_frequency: bool, layout: Any) -> Any:
        indices, bags, kept, share, chosen, shape = layout
        out = np.zeros(shape, g.dtype, like=device_like(g))
        if chosen is not None:
            rows, columns = np.nonzero(chosen >= 0)
            add_at(out, (chosen[rows, columns], columns), g[rows, columns])
            return out
        part = (g * share[:, None])[bags[kept]]
        if weights is not None:
            part = part * weights[kept][:, None]
        named = indices[kept]
        if by_frequency:
            part = part / as_dtype(counts_of(indices, shape[0])[named, None], g.dtype)
        add_at(out, named, part)
        return out

    @staticmethod
    def forward(g: Tensor, weights: Tensor | None, *const: Any) -> Tensor:
        values = OfTable.values(g.array, None if weights is None else weights.array, *const)
        return record_n(OfTable, values, (g, SCALAR_OPERAND if weights is None else weights))

    def backward(self, xp: Any, g: Any) -> Any:
        raise NotImplementedError("the derivative for '_embedding_bag_backward' is not implemented.")


class OfWeights:
    """The gradient of each row's weight: the product of the row with the gradient of its bag."""

    @staticmethod
    def values(g: Any, table: Any, layout: Any) -> Any:
        indices, bags, kept = layout[:3]
        return (g[bags] * table[indices]).sum(1) * kept

    @staticmethod
    def forward(g: Tensor, table: Tensor, layout: Any) -> Tensor:
        values = OfWeights.values(g.array, table.array, layout)
        return underived("_embedding_bag_per_sample_weights_backward", values, g, table)


def check_input(input: Tensor, weight: Tensor, offsets: Tensor | None, mode: str, weights: Tensor | None) -> None:
    """Raise PyTorch's errors for inconsistent arguments."""
    if weights is not None and input.shape != weights.shape:
        raise ValueError(f"embedding_bag: If per_sample_weights ({weights.shape}) is not None, then it must have the "
                         f"same shape as the input ({input.shape})")
    if weight.array.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.array.ndim}")
    ndim = input.array.ndim
    if ndim not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {ndim}")
    if ndim == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed "
                         "length sequences. However, found offsets of type <class 'torch.Tensor'>")
    if ndim == 1 and offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets is not None and offsets.array.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")


def check_indices(indices: Any, offsets: Any, table: Any) -> None:
    """Raise PyTorch's errors for indices and offsets of another dtype or out of range."""
    for each in (indices, offsets):
        if each.dtype.name not in ("int64", "int32"):
            raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: "
                               f"Long, Int; but got torch.{plain(each).dtype.type_name}Tensor instead (while checking "
                               "arguments for embedding_bag)")
    if backend_of(indices) is not None:
        return  # checking a device would block
    if offsets.size and offsets[0]:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                           f"position 0. However, got {offsets[0]}")
    if offsets.size and offsets[-1] > indices.size:
        raise RuntimeError(f"offsets[-1] can not be greater than input's length {indices.size} but got offsets[-1] of "
                           f"{offsets[-1]}")
    rows = len(table)
    wrong = np.flatnonzero((indices < 0) | (indices >= rows))
    if wrong.size and table.dtype.itemsize == 8:
        raise RuntimeError("embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
                           f"{indices[wrong[0]]}")
    if wrong.size:
        raise RuntimeError(f"Index {wrong[0]} of input takes value {indices[wrong[0]]} which is not in the valid range "
                           f"[0, {rows})")


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of the rows of `weight` that each bag names: (bags, columns of `weight`).

    Args:
        input: row numbers: one bag per row of a matrix, or a vector in which bags begin at `offsets`.
        offsets: where each bag begins in a vector; with `include_last_offset`, the last offset is the end.
        per_sample_weights: a factor for each row, in the shape of `input`; for mode "sum" only.
        max_norm, norm_type, scale_grad_by_freq: as in `nn.functional.embedding`.
        padding_idx: rows with this number do not count.

    Raises:
        ValueError: if the shapes do not fit, or for another mode.
        RuntimeError: for indices or offsets of another dtype, or out of range.
        NotImplementedError: for `sparse=True`.
    """
    check_input(input, weight, offsets, mode, per_sample_weights)
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if sparse:
        raise ValueError("max mode does not support sparse weights") if mode == "max" else NotImplementedError(
            "minigrad has no sparse gradients")
    table, rows = weight.array, contiguous(input if input.array.ndim == 1 else reshape(input, -1))
    indices = rows.array
    offsets = contiguous(offsets) if offsets is not None else plain(
        np.arange(0, indices.size, input.array.shape[1], dtype=indices.dtype, like=device_like(indices)))
    starts = offsets.array
    same_device(table, indices, starts)
    if max_norm is not None:
        shorten(weight, np.unique(indices), max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on "
                                  "GitHub.")
    check_indices(indices, starts, table)
    if table.dtype.kind != "f":
        raise RuntimeError("Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, "
                           f"BFloat16, Float, Double; but got torch.{weight.dtype.type_name}Tensor instead (while "
                           "checking arguments for embedding_bag)")
    count = len(starts) - bool(include_last_offset and len(starts))
    bags = np.searchsorted(starts[:count], np.arange(indices.size, like=device_like(indices)), side="right") - 1
    padding = -1 if padding_idx is None else padding_idx % len(table)
    factors = per_sample_weights
    if factors is not None and factors.array.ndim == 2:
        factors = reshape(factors, -1)
    return EmbeddingBag.forward(weight, factors, (rows, offsets), bags, count, MODES[mode], padding, scale_grad_by_freq)
