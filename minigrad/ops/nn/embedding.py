"""`embedding`, which looks up rows of a table, and `bilinear`."""

from typing import Any

import numpy as np

from minigrad._base.dtype import as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad.backends.numpy import FLOAT32, add_at
from minigrad.backends.registry import backend_of, device_like
from minigrad.core import Node, Tensor, attributes, counter_of, materialized, record1, record_n
from minigrad.ops._dispatch import Scaled, check_kind, op, same_device
from minigrad.ops.index.index_select import check_rows
from minigrad.ops.pointwise.arithmetic import Add
from minigrad.ops.shape.views import View, reshape
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
        return record_n(Embedding, w[i], (table,), (indices,), (padding_idx, by_frequency, i.copy(), w.shape))

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
        return np.bincount(flat, minlength=count)
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
            result = np.einsum("ni,oij,nj->no", x, weights, y, optimize=True)
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

    This is `torch.embedding`, whose order of arguments differs from `nn.functional.embedding`.

    Raises:
        RuntimeError: if `weight` is not a matrix, or the indices are neither int64 nor int32.
        IndexError: if an index is out of range.
        NotImplementedError: for `sparse=True`.
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
    """input1 @ weight[o] @ input2 for each o, plus a bias; shapes (…, i), (…, j), (o, i, j), (o) give (…, o).

    Raises:
        RuntimeError: if the shapes do not fit.
    """
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
