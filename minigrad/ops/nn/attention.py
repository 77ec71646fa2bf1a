"""Attention: softmax(q @ k.T / sqrt(E)) @ v.

As in PyTorch, attention over batches of heads (4-D) without dropout is one op; every other case is composed of ops.
"""

import math
from typing import Any

import numpy as np

from minigrad._base.dtype import HALVES, as_dtype
from minigrad._base.tensor_errors import IN_C
from minigrad.backends.numpy import FLOAT32, product
from minigrad.backends.registry import backend_of
from minigrad.core import Node, Tensor, plain, record_n
from minigrad.ops._dispatch import OfResult, same_device, underived, widely
from minigrad.ops.linalg.checks import autocast, autocast_is_on
from minigrad.ops.linalg.matmul import matmul
from minigrad.ops.nn.dropout import dropout
from minigrad.ops.nn.softmax import Softmax, SoftmaxBackward
from minigrad.ops.pointwise.mul import MulScalar
from minigrad.ops.reduce.sums import sum
from minigrad.ops.shape.join import repeat_interleave
from minigrad.ops.shape.views import Transpose
from minigrad.ops.tensor.copy import cast


class SafeSoftmax(OfResult):
    """softmax, but 0 where a whole row is -inf."""

    kernel = Softmax.kernel
    constants = ("dim",)

    @staticmethod
    def values(x: Any, dim: int) -> Any:
        y = Softmax.values(x, dim)
        if backend_of(x) is not None:  # checking for such rows would block
            np.copyto(y, 0, where=x.max(dim, keepdims=True) == -math.inf)
            return y
        if not np.isnan(y).any():
            return y
        return np.where((x == -math.inf).all(dim, keepdims=True), y.dtype.type(0), y)

    backward = Softmax.backward


class ScaledDotProductFlashAttentionForCpu(Node):
    """The one op: q of shape (B, H, L, E), k and v (B, heads, S, E), where `heads` divides H.

    Only q, k and v are saved: the formula recomputes the weights, as PyTorch's does. On a GPU without a mask the
    softmax is the plain one, as in PyTorch.
    """

    saves = ("query", "key", "value")
    constants = ("scale",)

    @staticmethod
    def forward(q: Tensor, k: Tensor, v: Tensor, scale: float, bias: Any) -> Tensor:
        values = ScaledDotProductFlashAttentionForCpu.values
        result = widely(values, "flash_attention", q.array, k.array, v.array, scale, bias)
        if not q.array.flags.c_contiguous:  # the result lies in memory as the queries do
            laid_out = np.empty_like(q.array)
            laid_out[...] = result
            result = laid_out
        return record_n(ScaledDotProductFlashAttentionForCpu, result, (q, k, v), (q, k, v), (scale, bias))

    @staticmethod
    def values(q: Any, k: Any, v: Any, scale: float, bias: Any) -> Any:
        heads = k.shape[1]
        q5 = (q * q.dtype.type(scale)).reshape(q.shape[0], heads, q.shape[1] // heads, *q.shape[2:])
        return product(attention_weights(q5, k[:, :, None], bias), v[:, :, None]).reshape(*q.shape[:3], v.shape[3])

    def backward(self, xp: Any, g: Any, q: Any, k: Any, v: Any, scale: float, bias: Any) -> Any:
        return xp.apply(FlashAttentionBackward, g, q, k, v, scale, bias)


class FlashAttentionBackward:
    """The derivative of the one op; it has no derivative itself, as in PyTorch."""

    @staticmethod
    def values(g: Any, q: Any, k: Any, v: Any, scale: float, bias: Any) -> tuple[Any, Any, Any]:
        """On arrays: the gradients of q, k and v."""
        (b, h, rows, e), heads = q.shape, k.shape[1]
        q5 = (q * q.dtype.type(scale)).reshape(b, heads, h // heads, rows, e)
        g5, k5, v5 = g.reshape(*q5.shape[:4], v.shape[3]), k[:, :, None], v[:, :, None]
        weights = attention_weights(q5, k5, bias)
        slopes = product(g5, v5.swapaxes(-1, -2))
        if backend_of(slopes) is None:
            slopes *= weights
            slopes -= weights * slopes.sum(4, keepdims=True)
        else:  # by a kernel, without the last line's product
            slopes = SoftmaxBackward.values(slopes, weights, 4)
        return (product(slopes, k5).reshape(q.shape) * q.dtype.type(scale),
                product(slopes.swapaxes(-1, -2), q5).sum(2), product(weights.swapaxes(-1, -2), g5).sum(2))

    @staticmethod
    def forward(g: Tensor, q: Tensor, k: Tensor, v: Tensor, scale: float, bias: Any) -> tuple[Tensor, ...]:
        grads = FlashAttentionBackward.values(g.array, q.array, k.array, v.array, scale, bias)
        return tuple([underived("_scaled_dot_product_flash_attention_for_cpu_backward", x, g, q, k, v) for x in grads])


def attention_weights(q: Any, k: Any, bias: Any) -> Any:
    """The weight of each row of k for each row of q, which is already scaled: shape (B, heads, H / heads, L, S)."""
    scores = product(q, k.swapaxes(-1, -2))
    if bias is None and backend_of(scores) is not None:
        return Softmax.values(scores, 4)
    if bias is not None:
        batch, heads, *rest = (1,) * (4 - bias.ndim) + bias.shape
        scores = scores + bias.reshape(batch, *((1, 1) if heads == 1 else (q.shape[1], heads // q.shape[1])), *rest)
    return SafeSoftmax.values(scores, 4)


def bias_of(mask: Tensor | None, is_causal: bool, q: Any, k: Any) -> Any:
    """What is added to the scores: -inf where the mask is False; None for nothing."""
    none, ignored = q.dtype.type(0), q.dtype.type(-math.inf)
    bias = None
    if mask is not None:
        m = mask.array
        bias = np.where(m, none, ignored) if m.dtype.kind == "b" else as_dtype(m, q.dtype)
    if is_causal:
        allowed = np.tri(q.shape[-2], k.shape[-2], dtype=bool, like=q)
        bias = np.where(allowed, none if bias is None else bias, ignored)
    return bias


def check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """Raise PyTorch's errors for inconsistent arguments."""
    kinds = [IN_C[v.dtype.name] for v in (query, key, value)]
    if len(set(kinds)) > 1:
        raise RuntimeError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                           f"{kinds[0]} key.dtype: {kinds[1]} and value.dtype: {kinds[2]} instead.")
    dims = [v.array.ndim for v in (query, key, value)]
    if min(dims) < 2:
        raise RuntimeError("Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
                           f"{dims[0]} key.dim: {dims[1]} and value.dim: {dims[2]} instead.")
    if mask is not None:
        kind = mask.array.dtype
        if kind.kind != "b" and kind != query.array.dtype and kind.name != "float32":
            raise RuntimeError("Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                               f"attn_mask.dtype: {IN_C[mask.dtype.name]} and  query.dtype: {kinds[0]} instead.")


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value; shapes (…, L, E), (…, S, E), (…, S, Ev) give (…, L, Ev).

    `attn_mask`: positions where it is False are ignored, or numbers to add to the scores. `is_causal`: row i ignores
    the positions after i. `scale`: by default 1 / sqrt(E). `enable_gqa`: several heads of `query` share one of `key`.
    Raises RuntimeError if shapes or dtypes do not fit.
    """
    if autocast_is_on():
        return autocast(scaled_dot_product_attention, query, key, value, attn_mask, dropout_p, is_causal, scale,
                        enable_gqa)
    check(query, key, value, attn_mask)
    q, k, v = query.array, key.array, value.array
    if not q.shape[-2] or not v.size:
        zeros = plain(np.zeros((*q.shape[:-1], v.shape[-1]), q.dtype, like=q))
        return zeros + MulScalar.forward(sum(query) + sum(key) + sum(value), 0)  # in the graph of all three
    if q.dtype.kind != "f":
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.type_name}")
    same_device(q, k, v, *([] if attn_mask is None else [attn_mask.array]))
    factor = (1 / math.sqrt(q.shape[-1]) if q.shape[-1] else math.inf) if scale is None else scale
    bias = bias_of(attn_mask, is_causal, q, k)
    heads = q.shape[:-3] == k.shape[:-3] and (q.shape[-3:-2] == k.shape[-3:-2] or enable_gqa)
    if (q.ndim == k.ndim == v.ndim == 4 and not dropout_p and heads and k.shape[:3] == v.shape[:3]
            and q.shape[3] == k.shape[3] == v.shape[3] and q.size and k.size
            and all(x.strides[3] == x.itemsize or x.shape[3] == 1 for x in (q, k, v))
            and (attn_mask is None or not attn_mask._requires_grad and attn_mask.array.ndim in (2, 4))):
        return ScaledDotProductFlashAttentionForCpu.forward(query, key, value, factor, bias)
    if is_causal and attn_mask is not None:  # what PyTorch has no kernel for takes one of the two
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        times = q.shape[-3] // k.shape[-3]
        key, value = (repeat_interleave(t, times, -3) for t in (key, value))
    query, key, value = [wide(t) for t in (query, key, value)]
    root = math.sqrt(factor)
    scores = matmul(MulScalar.forward(query, root), MulScalar.forward(Transpose.forward(key, -2, -1), root))
    if bias is not None:
        mask = attn_mask if attn_mask is not None and attn_mask._requires_grad else plain(bias)
        scores = scores + mask
    weights = SafeSoftmax.forward(scores, scores.array.ndim - 1)
    return cast(matmul(dropout(weights, dropout_p, True) if dropout_p else weights, value), q.dtype)


def wide(x: Tensor) -> Tensor:
    """A tensor; float16 and bfloat16 are converted to float32."""
    return cast(x, FLOAT32) if x.array.dtype in HALVES else x
