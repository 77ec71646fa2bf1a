"""Activations, and attention with several heads: mirrors `torch/nn/modules/activation.py`.

What MultiheadAttention computes is in minigrad/nn/_multi_head.py.
"""

import warnings
from functools import partial
from typing import Any

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn._multi_head import canonical_mask, dtype_of, multi_head_attention_forward
from minigrad.nn.init import constant_, xavier_normal_, xavier_uniform_
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.utils import Layer, attributes, empty_parameter
from minigrad.nn.parameter import Parameter

__all__ = ["CELU", "ELU", "GELU", "GLU", "SELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU",
           "LogSigmoid", "LogSoftmax", "Mish", "MultiheadAttention", "PReLU", "RReLU", "ReLU", "ReLU6", "SiLU",
           "Sigmoid", "Softmax", "Softmax2d", "Softmin", "Softplus", "Softshrink", "Softsign", "Tanh", "Tanhshrink",
           "Threshold"]

class _Activation(Layer):
    """An activation, which prints `inplace` only if it is set."""

    def extra_repr(self) -> str:
        printed = self._arguments if self._printed is None else self._printed
        return attributes(self, *[name for name in printed if name != "inplace" or self.inplace])


class _InPlace(_Activation, arguments=("inplace",)):
    inplace: bool = False


class ReLU(_InPlace, function=F.relu):
    """max(x, 0)."""


class SELU(_InPlace, function=F.selu):
    """scale · (max(x, 0) + min(α (exp(x) - 1), 0)), α ≈ 1.673, scale ≈ 1.051."""


class SiLU(_InPlace, function=F.silu):
    """x · sigmoid(x)."""


class Mish(_InPlace, function=F.mish):
    """x · tanh(softplus(x))."""


class Hardsigmoid(_InPlace, function=F.hardsigmoid, printed=()):
    """min(max(x + 3, 0), 6) / 6."""


class Hardswish(_InPlace, function=F.hardswish, printed=()):
    """x · min(max(x + 3, 0), 6) / 6."""


class Sigmoid(_Activation, function=F.sigmoid):
    """1 / (1 + exp(-x))."""


class Tanh(_Activation, function=F.tanh):
    """The hyperbolic tangent."""


class LogSigmoid(_Activation, function=F.logsigmoid):
    """log(1 / (1 + exp(-x)))."""


class Softsign(_Activation, function=F.softsign):
    """x / (1 + |x|)."""


class Tanhshrink(_Activation, function=F.tanhshrink):
    """x - tanh(x)."""


class Threshold(_Activation, function=F.threshold):
    """x where x > threshold, else `value`."""

    threshold: float
    value: float
    inplace: bool = False


class RReLU(_Activation, function=F.rrelu, arguments=("lower", "upper", "training", "inplace"),
            printed=("lower", "upper", "inplace")):
    """x where x ≥ 0, else x times a slope: drawn from [lower, upper] in training, their middle in evaluation."""

    lower: float = 1 / 8
    upper: float = 1 / 3
    inplace: bool = False


class Hardtanh(_Activation, function=F.hardtanh, arguments=("min_val", "max_val", "inplace")):
    """min(max(x, min_val), max_val)."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:
        super().__init__()
        for old, value in (("min_value", min_value), ("max_value", max_value)):
            if value is not None:
                warnings.warn(f"keyword argument `{old}` is deprecated and renamed to `{old[:-2]}`", FutureWarning,
                              stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")


class ReLU6(Hardtanh, printed=("inplace",)):
    """min(max(x, 0), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class ELU(_Activation, function=F.elu):
    """x where x > 0, else α (exp(x) - 1)."""

    alpha: float = 1.0
    inplace: bool = False


class CELU(_Activation, function=F.celu):
    """max(x, 0) + min(0, α (exp(x / α) - 1))."""

    alpha: float = 1.0
    inplace: bool = False


class LeakyReLU(_Activation, function=F.leaky_relu):
    """max(x, 0) + negative_slope · min(x, 0)."""

    negative_slope: float = 1e-2
    inplace: bool = False


class GELU(Layer, printed=("approximate",)):
    """x · Φ(x), with the Φ of the normal distribution; `approximate` is 'none' or 'tanh'."""

    approximate: str = "none"

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softplus(_Activation, function=F.softplus):
    """log(1 + exp(β x)) / β, or x itself where β x > threshold."""

    beta: float = 1.0
    threshold: float = 20.0


class _Shrink(Layer, arguments=("lambd",)):
    lambd: float = 0.5

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink, function=F.hardshrink):
    """x where |x| > λ, else 0."""


class Softshrink(_Shrink, function=F.softshrink):
    """x shrunk towards 0 by λ: sign(x) · max(|x| - λ, 0)."""


class PReLU(Module):
    """max(x, 0) + weight · min(x, 0), with a learned slope: one for all, or one per channel."""

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = empty_parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set all slopes to `init`."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return attributes(self, "num_parameters")


class GLU(_Activation, function=F.glu):
    """a · sigmoid(b), where a and b are the halves of the input along `dim`."""

    dim: int = -1


class _AlongDim(_Activation, arguments=("dim",)):
    dim: int | None = None


class Softmin(_AlongDim, function=partial(F.softmin, _stacklevel=5)):
    """softmax(-x) along `dim`."""


class Softmax(_AlongDim, function=partial(F.softmax, _stacklevel=5)):
    """exp(x) / Σ exp(x) along `dim`."""


class LogSoftmax(_AlongDim, function=partial(F.log_softmax, _stacklevel=5)):
    """log(softmax(x)) along `dim`."""


class Softmax2d(Module):
    """Softmax over the channels, at each pixel of an image: (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3, _stacklevel=5)


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
                xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                constant_(bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                xavier_normal_(bias)

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
