"""Looks up rows of a table: `embedding`; and `embedding_bag`, for texts as bags of words, which reduces the rows of
each bag without storing them. Also `bilinear`.
"""

from typing import Any

import numpy as np

from minigrad._base.contexts import quiet
from minigrad._base.dtype import as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad.backends import intp
from minigrad.backends.batched import beside
from minigrad.backends.numpy import FLOAT32, add_at
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import SCALAR_OPERAND, Node, Tensor, attributes, counter_of, materialized, plain, record1, record_n
from minigrad.ops._dispatch import Scaled, check_kind, op, same_device, underived
from minigrad.ops.index.scatter_gather import check_rows
from minigrad.ops.pointwise.add import Add
from minigrad.ops.shape.views import View, reshape
from minigrad.ops.tensor.copy import contiguous
from minigrad.ops.tensor.storage import size

__all__ = ["bilinear", "embedding"]

class Embedding(Node):
    """The rows of a table at the indices; the row `padding_idx` gets no gradient."""

    saves = ("indices",)
    constants = ("padding_idx", "scale_grad_by_freq")
    shows = attributes(weight_sym_argsize_0=lambda node: node.const[3][0], sparse=lambda node: False)

    @staticmethod
    def forward(table: Tensor, indices: Tensor, padding_idx: int, by_frequency: bool) -> Tensor:
        w, i = table.array, materialized(indices)
        rows = beside(w, (i,))[i]
        return record_n(Embedding, rows, (table,), (indices,), (padding_idx, by_frequency, i.copy(), w.shape))

    def backward(self, xp: Any, g: Any, saved: Any, padding_idx: int, by_frequency: bool, indices: Any,
                 shape: tuple[int, ...]) -> Any:
        return xp.apply(EmbeddingBackward, g, indices, shape, padding_idx, by_frequency)


class EmbeddingBackward(Node, name="EmbeddingDenseBackward"):
    """The gradient of the table: the gradients of each row's copies, summed (or averaged)."""

    @staticmethod
    def values(g: Any, indices: Any, shape: tuple[int, ...], padding_idx: int, by_frequency: bool) -> Any:
        rows, flat = g.reshape(-1, shape[1]), indices.reshape(-1)
        if by_frequency:
            counts = counts_of(flat, shape[0])
            rows = rows / as_dtype(counts[flat, None], g.dtype)
        out = np.zeros(shape, g.dtype, like=g)
        if backend_of(g) is not None:  # by atomic additions: determining the distinct rows would block
            added = out if g.itemsize > 2 else out.astype(FLOAT32)
            add_at(added, flat, rows)
            out = as_dtype(added, g.dtype, copy=False)
        elif flat.size:
            order = np.argsort(flat, kind="stable")
            named, starts = np.unique(flat[order], return_index=True)
            out[named] = np.add.reduceat(rows[order], starts, axis=0, dtype=FLOAT32 if g.itemsize == 2 else None)
        if padding_idx >= 0:
            out[padding_idx] = 0
        return out

    @staticmethod
    def forward(g: Tensor, indices: Any, shape: tuple[int, ...], padding_idx: int, by_frequency: bool) -> Tensor:
        result = EmbeddingBackward.values(g.array, indices, shape, padding_idx, by_frequency)
        return record1(EmbeddingBackward, result, g, (), (indices, padding_idx, by_frequency, shape[0]))

    def backward(self, xp: Any, h: Any, indices: Any, padding_idx: int, by_frequency: bool, count: int) -> Any:
        weights = as_dtype(indices != padding_idx, xp.dtype(h))
        if by_frequency:
            weights = weights / as_dtype(counts_of(indices.reshape(-1), count)[indices], xp.dtype(h))
        return xp.apply(Scaled, xp.getitem(h, indices), weights[..., None])


def counts_of(flat: Any, count: int) -> Any:
    """How often each of 0, …, `count` - 1 occurs in a vector."""
    if backend_of(flat) is None:
        return intp.bincount(flat, minlength=count)
    counts = np.zeros(count, np.int32, like=flat)
    add_at(counts, flat, np.ones(flat.shape, np.int32, like=device_like(flat)))
    return counts


class Trilinear(Node):
    """The sum over i and j of x[n, i] * w[o, i, j] * y[n, j]: of shape (n, o)."""

    saves = ("i1", "i2", "i3")
    shows = attributes(expand1=lambda node: (1, 3), expand2=lambda node: (0,), expand3=lambda node: (1, 2),
             sumdim=lambda node: (2, 3))  # of PyTorch's op, of which this is one case

    @staticmethod
    def forward(a: Tensor, w: Tensor, b: Tensor) -> Tensor:
        x, weights, y = a.array, w.array, b.array
        check_kind(x, "b", "bmm")
        same_device(x, weights, y)
        if backend_of(x) is None:
            result = quiet(np.einsum)("ni,oij,nj->no", x, weights, y, optimize=True)
        else:
            (n, i), (o, _, j) = x.shape, weights.shape
            result = ((x @ weights.swapaxes(0, 1).reshape(i, o * j)).reshape(n, o, j) @ y[:, :, None])[:, :, 0]
        return record_n(Trilinear, result, (a, w, b), (a, w, b))

    def backward(self, xp: Any, g: Any, x: Any, w: Any, y: Any) -> tuple[Any, Any, Any]:
        (n, i), (o, _, j) = x.shape, w.shape
        # z[n, o, i, j] = x[n, i] * y[n, j], and its gradient g[n, o] * w[o, i, j] summed over o
        flat = xp.reshape(w, (o, i * j))
        both = xp.reshape(xp.matmul(g, flat), (n, i, j))
        pairs = xp.reshape(xp.reshape(x, (n, i, 1)) * xp.reshape(y, (n, 1, j)), (n, i * j))
        return (xp.reshape(xp.matmul(both, xp.reshape(y, (n, j, 1))), (n, i)),
                xp.reshape(xp.matmul(xp.swapaxes(g, 0, 1), pairs), (o, i, j)),
                xp.reshape(xp.matmul(xp.reshape(x, (n, 1, i)), both), (n, j)))


@op
def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Tensor:
    """The rows of `weight` at the indices: the shape of `indices`, then the row length.

    This is `torch.embedding`, whose order of arguments differs from `nn.functional.embedding`. Raises RuntimeError if
    `weight` is not a matrix, or the indices are neither int64 nor int32, IndexError if an index is out of range, and
    NotImplementedError for `sparse=True`.
    """
    if weight.array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if indices.array.dtype.name not in ("int64", "int32"):
        raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
                           f"Int; but got torch.{indices.dtype.type_name}Tensor instead (while checking arguments for "
                           "embedding)")
    if sparse:
        raise NotImplementedError("minigrad has no sparse gradients")
    same_device(weight.array, indices.array)
    check_rows(weight.array, indices.array)
    return Embedding.forward(weight, indices, padding_idx, scale_grad_by_freq)


def embedding_of(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of `weight` at the indices `input`, integers of any shape.

    `padding_idx`: a row that gets no gradient. `max_norm`: longer rows are scaled down to it, in place.
    `scale_grad_by_freq`: a row's gradient is divided by the number of its occurrences.

    Raises:
        AssertionError: if `padding_idx` is out of range.
        RuntimeError, IndexError, NotImplementedError: as in `torch.embedding`.
    """
    padding = -1
    if padding_idx is not None and weight.array.ndim:
        count = len(weight.array)
        if not -count <= padding_idx < count:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding = padding_idx % count
    if max_norm is not None:
        shorten(weight, np.unique(input.array), max_norm, norm_type)
    return embedding(weight, input, padding, scale_grad_by_freq, sparse)


def shorten(weight: Tensor, rows: Any, most: float, p: float) -> None:
    """Scale down rows of a table to at most this norm, in place."""
    table = weight.array
    size = (abs(table[rows]) ** p).sum(1) ** (1 / p)
    long = size > most
    table[rows[long]] *= as_dtype((most / (size[long] + 1e-7))[:, None], table.dtype)
    counter_of(weight).value += 1


@op
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[o] @ input2 for each o, plus a bias; shapes (…, i), (…, j), (o, i, j), (o) give (…, o). Raises
    RuntimeError if the shapes do not fit."""
    x, y, w = input1.array, input2.array, weight.array
    operands = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    if len({v.array.dtype for v in operands.values()}) > 1:
        kinds = [f"{name}: {IN_C[v.array.dtype.name]}" for name, v in operands.items()]
        raise RuntimeError(f"All tensors must have the same dtype, got {', '.join(kinds)}")
    if x.ndim != y.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {x.ndim} and {y.ndim}")
    for dim, (m, n) in enumerate(zip(x.shape[:-1], y.shape[:-1], strict=True)):
        if m != n:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {dim}: got {m} and {n}")
    for name, v, dim in (("input1", input1, 1), ("input2", input2, 2)):
        if size(v, -1) != size(weight, dim):
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {size(v, -1)} but expected "
                               f"{w.shape[dim]}")
    if bias is not None and size(bias, 0) != w.shape[0]:
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {bias.array.shape[0]} but expected "
                           f"{w.shape[0]}")
    rows1, rows2 = [reshape(v, (-1, size(v, -1))) for v in (input1, input2)]
    if w.ndim != 3:
        raise RuntimeError("number of dimensions must match")
    result = View.forward(Trilinear.forward(rows1, weight, rows2), (*x.shape[:-1], w.shape[0]))
    return result if bias is None else Add.forward(result, bias)


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


def check_indices(indices: Any, offsets: Any, table: Any, by_rows: bool) -> None:
    """Raise PyTorch's errors for indices and offsets of another dtype or out of range; `by_rows`: bag after bag is
    read, so that none may begin before another one."""
    for each in (indices, offsets):
        if each.dtype.name not in ("int64", "int32"):
            raise RuntimeError("Expected tensor for argument #1 'indices' to have one of the following scalar types: "
                               f"Long, Int; but got torch.{plain(each).dtype.type_name}Tensor instead (while checking "
                               "arguments for embedding_bag)")
    if backend_of(indices) is not None:
        return  # checking a device would block
    if offsets.size and offsets[0]:
        raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                           f"position 0. However, got {offsets[0]}\n[ {plain(offsets).dtype.type_name}Tensor{{}} ]")
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
    if (offsets < 0).any():
        raise IndexError("index out of range in self")
    if by_rows and (np.diff(offsets) < 0).any():
        raise RuntimeError("Expected i < index_size to be true, but got false.  (Could this error message be improved?"
                           "  If so, please report an enhancement request to PyTorch.)")


def check_table(weight: Tensor, factors: Tensor | None, padding_idx: int | None) -> None:
    """Raise PyTorch's errors for a table of another dtype than its factors', or too short for the padding."""
    table = weight.array
    if table.dtype.kind != "f":
        raise RuntimeError("Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, "
                           f"BFloat16, Float, Double; but got torch.{weight.dtype.type_name}Tensor instead (while "
                           "checking arguments for embedding_bag)")
    if factors is not None and factors.array.dtype != table.dtype:
        raise RuntimeError("Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                           f"'per_sample_weights'; but type torch.{weight.dtype.type_name}Tensor does not equal torch."
                           f"{factors.dtype.type_name}Tensor (while checking arguments for embedding_bag)")
    if padding_idx is not None and not -len(table) <= padding_idx < len(table):
        raise RuntimeError(f"padding_idx must be within the number of embeddings, -{len(table)} through "
                           f"{len(table) - 1}, but got {padding_idx}")


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

    Raises ValueError if the shapes do not fit, or for another mode, RuntimeError for indices or offsets of another
    dtype, or out of range, and NotImplementedError for `sparse=True`.
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
    factors = per_sample_weights
    if factors is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                  f"supported for mode='sum' (got mode='{mode}'). Please open a feature request on "
                                  "GitHub.")
    check_indices(indices, starts, table, mode != "max" and table.dtype.itemsize < 8)
    check_table(weight, factors, padding_idx)
    if include_last_offset and not len(starts):
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    count = len(starts) - bool(include_last_offset and input.array.ndim == 1)
    if not count:
        rows, indices = rows[:0], indices[:0]
    bags = counts_of(starts[1:count], indices.size + 1)[:indices.size].cumsum()  # how many have begun after the first
    padding = -1 if padding_idx is None else padding_idx % len(table)
    if factors is not None and factors.array.ndim == 2:
        factors = reshape(factors, -1)
    return EmbeddingBag.forward(weight, factors, (rows, offsets), bags, count, MODES[mode], padding, scale_grad_by_freq)
