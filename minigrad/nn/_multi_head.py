"""Multi-head attention, composed of other ops as in PyTorch's `multi_head_attention_forward`.

Queries, keys and values are projected and split into heads; each head attends separately; their outputs are joined and
projected once more. Sequences come first here: (time, batch, features).
"""

import math
from typing import cast

import numpy as np

from minigrad._base.dtype import dtype
from minigrad._base.warnings import warn
from minigrad.core import Tensor, plain
from minigrad.ops.linalg.matmul import linear
from minigrad.ops.nn.attention import scaled_dot_product_attention
from minigrad.ops.nn.dropout import dropout
from minigrad.ops.nn.pad import pad
from minigrad.ops.nn.softmax import softmax
from minigrad.ops.shape.join import cat

__all__ = ["multi_head_attention_forward"]

Mask = Tensor | None
Three = tuple[Tensor, Tensor, Tensor]


def check_dims(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Mask, attn_mask: Mask,
               num_heads: int) -> bool:
    """Return whether there is a batch; raise PyTorch's errors for dimensions that do not match."""
    n = query.dim()
    if n not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D and "
                             f"{value.dim()}-D tensors respectively")
    if key_padding_mask is not None and key_padding_mask.dim() != n - 1:
        raise AssertionError(f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
                             f"{key_padding_mask.dim()}-D tensor instead")
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                             f"{attn_mask.dim()}-D tensor instead")
    if n == 2 and attn_mask is not None and attn_mask.dim() == 3:
        expected = num_heads, query.shape[0], key.shape[0]
        if attn_mask.shape != expected:
            raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return n == 3


def canonical_mask(mask: Mask, mask_name: str, other_type: dtype | None, other_name: str, target: dtype,
                   check_other: bool = True) -> Mask:
    """Return a mask as numbers to add to the scores: -inf where a mask of bools is True. Raises AssertionError for a
    mask of integers."""
    if mask is None:
        return None
    kind = mask.array.dtype.kind
    if kind not in "bf":
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warn(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if kind == "f":
        return mask
    number = np.dtype(target.name).type
    return plain(np.where(mask.array, number(-math.inf), number(0)))


def dtype_of(mask: Mask) -> dtype | None:
    return None if mask is None else mask.dtype


def split_projections(projected: Tensor, count: int) -> Tensor:
    """Split projections that one product computed side by side, along a new first dimension."""
    size = projected.shape[-1] // count
    return projected.unflatten(-1, (count, size)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()


def in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None) -> Three:
    """Return the three projections by one weight: in one product if their inputs are the same."""
    size = q.shape[-1]
    if k is v and q is k:
        projections = split_projections(linear(q, w, b), 3)
        return projections[0], projections[1], projections[2]
    if k is v:
        w_q, w_kv = w.split([size, size * 2])
        b_q, b_kv = (None, None) if b is None else b.split([size, size * 2])
        first = linear(q, w_q, b_q)
        projections = split_projections(linear(k, w_kv, b_kv), 2)
        return first, projections[0], projections[1]
    w_q, w_k, w_v = w.chunk(3)
    b_q, b_k, b_v = (None, None, None) if b is None else b.chunk(3)
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def in_projection(q: Tensor, k: Tensor, v: Tensor, weights: Three, b: Tensor | None) -> Three:
    """Return the three projections, each by its own weight."""
    size = q.shape[-1]
    biases = (None, None, None) if b is None else b.chunk(3)
    for name, weight, x in zip(("query", "key", "value"), weights, (q, k, v), strict=True):
        expected = size, x.shape[-1]
        if weight.shape != expected:
            raise AssertionError(f"expecting {name} weights shape of {expected}, but got {weight.shape}")
    for name, bias in zip(("query", "key", "value"), biases, strict=True):
        if bias is not None and bias.shape != (size,):
            raise AssertionError(f"expecting {name} bias shape of {(size,)}, but got {bias.shape}")
    projections = [linear(x, w, bias) for x, w, bias in zip((q, k, v), weights, biases, strict=True)]
    return projections[0], projections[1], projections[2]


def batched_mask(mask: Mask, rows: int, columns: int, batches: int) -> Mask:
    """Return a mask of scores with a dimension for batch and heads; raise PyTorch's errors for another shape."""
    if mask is None:
        return None
    expected = (rows, columns) if mask.dim() == 2 else (batches, rows, columns)
    if mask.shape != expected:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {expected}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def checked_static(static: Tensor, name: str, batches: int, size: int) -> Tensor:
    """Return keys or values that are given as heads; raise PyTorch's errors for another shape."""
    for dim, expected in ((0, batches), (2, size)):
        if static.size(dim) != expected:
            raise AssertionError(f"expecting {name}.size({dim}) of {expected}, but got {static.size(dim)}")
    return static


def with_open_column(*masks: Mask) -> tuple[Mask, ...]:
    """Return the masks with one more column, which masks nothing."""
    return tuple([None if mask is None else pad(mask, (0, 1)) for mask in masks])


def check_sizes(query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_heads: int, separate: bool) -> None:
    """Raise PyTorch's errors for sizes that do not match."""
    size = query.shape[-1]
    if size != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {size}")
    if size // num_heads * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if separate and key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    if not separate and key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def with_bias(k: Tensor, v: Tensor, bias_k: Tensor | None, bias_v: Tensor | None,
              static: tuple[Tensor | None, Tensor | None]) -> tuple[Tensor, Tensor] | None:
    """Return keys and values with a learned one added to each; None if there is none."""
    if bias_k is None or bias_v is None:
        if bias_k is not None:
            raise AssertionError("bias_k is set but bias_v is None")
        if bias_v is not None:
            raise AssertionError("bias_v is set but bias_k is None")
        return None
    for name, tensor in zip(("key", "value"), static, strict=True):
        if tensor is not None:
            raise AssertionError(f"bias cannot be added to static {name}.")
    batch = k.shape[1]
    return cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])


def split_heads(x: Tensor, count: int, size: int) -> Tensor:
    """(time, batch, features) as (batch * heads, time, size)."""
    return x.view(x.shape[0], count, size).transpose(0, 1)


def with_zeros(x: Tensor) -> Tensor:
    """Return heads of keys or values with a row of zeros added."""
    return cat([x, plain(np.zeros((x.shape[0], 1, x.shape[2]), x.array.dtype, like=x.array))], 1)


def merged_mask(attn_mask: Mask, key_padding_mask: Mask, batch: int, heads: int, columns: int) -> Mask:
    """Return both masks as one, of shape (batch * heads or 1, rows or 1, columns)."""
    if key_padding_mask is None:
        return attn_mask
    for dim, expected in enumerate((batch, columns)):
        if key_padding_mask.shape[dim] != expected:
            raise AssertionError(f"Expected key_padded_mask.shape[{dim}] to be {expected}, but got "
                                 f"{key_padding_mask.shape[dim]}")
    padding: Tensor = key_padding_mask.view(batch, 1, 1, columns).expand(-1, heads, -1, -1)
    padding = padding.reshape(batch * heads, 1, columns)
    return padding if attn_mask is None else attn_mask + padding


def attention_with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Mask, dropout_p: float) -> tuple[Tensor, Tensor]:
    """Compute attention step by step; return its output and its weights."""
    scaled = q * math.sqrt(1.0 / q.shape[-1])
    transposed = k.transpose(-2, -1)
    weights = softmax(scaled.bmm(transposed) if mask is None else mask.baddbmm(scaled, transposed), -1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p, True)
    return weights.bmm(v), weights


def fused_attention(q: Tensor, k: Tensor, v: Tensor, mask: Mask, dropout_p: float, is_causal: bool,
                    batch: int) -> Tensor:
    """Compute attention of all heads at once: (rows * batch, features)."""
    heads, (rows, size) = q.shape[0] // batch, q.shape[1:]
    if mask is not None:
        mask = (mask.unsqueeze(0) if mask.size(0) == 1 and mask.dim() == 3 else
                mask.view(batch, heads, -1, k.shape[1]))
    q, k, v = [x.view(batch, heads, x.shape[1], size) for x in (q, k, v)]
    output = scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)
    return output.permute(2, 0, 1, 3).contiguous().view(batch * rows, heads * size)


def to_float(attn_mask: Mask, key_padding_mask: Mask, kind: dtype, need_weights: bool,
             is_causal: bool) -> tuple[Mask, Mask, bool]:
    """Return both masks as numbers, and whether attention is causal without a mask."""
    padding = canonical_mask(key_padding_mask, "key_padding_mask", dtype_of(attn_mask), "attn_mask", kind)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and padding is None and not need_weights:
        return None, None, True
    return canonical_mask(attn_mask, "attn_mask", None, "", kind, False), padding, is_causal and padding is None


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Mask = None,
    need_weights: bool = True, attn_mask: Mask = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Compute what `nn.MultiheadAttention` returns: (output, weights), the latter None unless `need_weights`. Raises
    AssertionError for sizes that do not match; RuntimeError for masks that do not."""
    batched = check_dims(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    rows, batch, size = query.shape
    attn_mask, key_padding_mask, is_causal = to_float(attn_mask, key_padding_mask, query.dtype, need_weights, is_causal)
    check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    q, k, v = project_inputs(query, key, value, in_proj_weight, in_proj_bias, use_separate_proj_weight,
                             (q_proj_weight, k_proj_weight, v_proj_weight))
    attn_mask = batched_mask(attn_mask, rows, key.shape[0], batch * num_heads)
    if (more := with_bias(k, v, bias_k, bias_v, (static_k, static_v))) is not None:
        (k, v), (attn_mask, key_padding_mask) = more, with_open_column(attn_mask, key_padding_mask)
    count, head_size = batch * num_heads, size // num_heads
    q = split_heads(q, count, head_size)
    k = split_heads(k, count, head_size) if static_k is None else checked_static(static_k, "static_k", count, head_size)
    v = split_heads(v, count, head_size) if static_v is None else checked_static(static_v, "static_v", count, head_size)
    if add_zero_attn:
        k, v = with_zeros(k), with_zeros(v)
        attn_mask, key_padding_mask = with_open_column(attn_mask, key_padding_mask)
    mask, dropout_p = merged_mask(attn_mask, key_padding_mask, batch, num_heads, k.shape[1]), dropout_p * training
    if not need_weights:
        flat, weights = fused_attention(q, k, v, mask, dropout_p, is_causal, batch), None
    else:
        attended, weights = attention_with_weights(q, k, v, mask, dropout_p)
        flat = attended.transpose(0, 1).reshape(rows * batch, size)
        weights = weights.view(batch, num_heads, *weights.shape[1:])
        weights = weights.mean(dim=1) if average_attn_weights else weights
    output = linear(flat, out_proj_weight, out_proj_bias).view(rows, batch, out_proj_weight.shape[0])
    if not batched:
        output, weights = output.squeeze(1), None if weights is None else weights.squeeze(0)
    return output, weights


def project_inputs(query: Tensor, key: Tensor, value: Tensor, packed: Tensor | None, bias: Tensor | None,
                   separate: bool, weights: tuple[Tensor | None, Tensor | None, Tensor | None]) -> Three:
    """Return the projections of queries, keys and values; raise PyTorch's errors for missing weights."""
    if not separate:
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return in_projection_packed(query, key, value, packed, bias)
    for letter, weight in zip("qkv", weights, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    return in_projection(query, key, value, cast(Three, weights), bias)
