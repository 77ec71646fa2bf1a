"""Attention with several heads: MultiheadAttention, which PyTorch has in `torch/nn/modules/activation.py`.

What it computes is in minigrad/nn/_multi_head.py.
"""

from typing import Any

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.nn import init
from minigrad.nn._multi_head import canonical_mask, dtype_of, multi_head_attention_forward
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.utils import empty_parameter
from minigrad.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """Linear, under the name that PyTorch prints here."""


class MultiheadAttention(Module):
    """softmax(q @ k.T / sqrt(head size)) @ v in `num_heads` heads, between projections of inputs and outputs.

    `kdim`, `vdim`: the features of keys and values, if they differ from `embed_dim`. `add_bias_kv`: add a learned key
    and value; `add_zero_attn`: add one of zeros. `batch_first`: (batch, time, features) in and out.
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError("embed_dim and num_heads must be greater than 0, got "
                             f"embed_dim={embed_dim} and num_heads={num_heads} instead")
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = kdim if kdim is not None else embed_dim, vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def param(*shape: int) -> Parameter:
            return empty_parameter(shape, device, dtype)

        in_one = self._qkv_same_embed_dim
        self.register_parameter("in_proj_weight", param(3 * embed_dim, embed_dim) if in_one else None)
        for name, features in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", None if in_one else param(embed_dim, features))
        self.register_parameter("in_proj_bias", param(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.bias_k, self.bias_v = (param(1, 1, embed_dim), param(1, 1, embed_dim)) if add_bias_kv else (None, None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw the projections of the inputs, and what `add_bias_kv` adds; biases are 0."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.constant_(bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        """Return what queries find, (time, batch, embed_dim), and, if `need_weights`, the weights, (batch, time, keys).

        `key_padding_mask`: (batch, keys), True where a key is only padding. `attn_mask`: (time, keys), or one for each
        of batch * heads: True where a query must not look, or numbers to add. `is_causal`: states that `attn_mask` is
        the one of `Transformer.generate_square_subsequent_mask`.
        """
        batched = query.dim() == 3
        key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", dtype_of(attn_mask), "attn_mask",
                                          query.dtype)
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if self.batch_first and batched:
            query, key, value = time_first(query, key, value)
        output, weights = multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
            key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight,
            self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal)
        return output.transpose(1, 0) if self.batch_first and batched else output, weights


def time_first(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the three with time first; what was one tensor stays one, so that one product projects it."""
    if key is not value:
        return query.transpose(1, 0), key.transpose(1, 0), value.transpose(1, 0)
    memory = key.transpose(1, 0)
    return memory if query is key else query.transpose(1, 0), memory, memory
