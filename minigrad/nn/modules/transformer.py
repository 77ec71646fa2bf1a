"""Transformers: mirrors `torch/nn/modules/transformer.py`.

A layer is attention and two linear layers, each with dropout, added to its input, and normalised. An encoder and a
decoder are stacks of copies of one layer.
"""

import copy
import math
import warnings
from collections.abc import Callable
from inspect import unwrap
from typing import Any

import numpy as np

from minigrad._base.dtype import dtype as dtype_type
from minigrad.backends.registry import device_like
from minigrad.core import Tensor, is_grad_enabled
from minigrad.nn import functional as F
from minigrad.nn import init
from minigrad.nn._multi_head import canonical_mask, dtype_of
from minigrad.nn.modules.activation import GELU, MultiheadAttention, ReLU
from minigrad.nn.modules.container import ModuleList
from minigrad.nn.modules.dropout import Dropout
from minigrad.nn.modules.linear import Linear
from minigrad.nn.modules.module import Module
from minigrad.nn.modules.normalization import LayerNorm
from minigrad.nn.modules.utils import Family
from minigrad.ops.factory import full
from minigrad.ops.shape.diagonal import triu

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
           "TransformerEncoderLayer"]

Activation = str | Callable[[Tensor], Tensor]
Mask = Tensor | None


def is_subsequent(mask: Mask, is_causal: bool | None, x: Tensor, batch_first: bool) -> bool:
    """Return whether a mask is `generate_square_subsequent_mask`'s: as `is_causal` says, or else by comparison."""
    if is_causal is not None or mask is None:
        return is_causal is True
    size = x.shape[1 if batch_first and x.dim() == 3 else 0]
    expected = np.triu(np.full((size, size), -np.inf, like=device_like(mask.array)), 1)
    return mask.shape == (size, size) and bool(np.array_equal(mask.array, expected))


class _TransformerLayer(Family):
    """What layers of encoder and decoder share: steps of attention, one or two, and a step of two linear layers.

    What a step computes goes through dropout, is added to the step's input, and normalised.
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **options))
        self.linear1 = Linear(d_model, dim_feedforward, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **options)
        self.norm_first = norm_first
        steps = range(1, len(self._attentions) + 2)
        for step in steps:
            setattr(self, f"norm{step}", LayerNorm(d_model, layer_norm_eps, **options))
        for step in steps:
            setattr(self, f"dropout{step}", Dropout(dropout))
        if isinstance(activation, str):
            if activation not in ("relu", "gelu"):
                raise RuntimeError(f"activation should be relu/gelu, not {activation}")
            activation = F.relu if activation == "relu" else F.gelu
        self.activation = activation
        plain = unwrap(activation)  # any of them may be wrapped (`Overriding`)
        is_relu = plain is unwrap(F.relu) or isinstance(self.activation, ReLU)
        is_gelu = plain is unwrap(F.gelu) or isinstance(self.activation, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0

    def _run(self, x: Tensor, *steps: Callable[[Tensor], Any]) -> Tensor:
        """Add to `x` the result of each step, then of the linear layers."""
        for i, step in enumerate((*steps, self._ff_block), 1):
            norm = getattr(self, f"norm{i}")
            x = x + step(norm(x)) if self.norm_first else norm(x + step(x))
        return x

    def _sa_block(self, x: Tensor, attn_mask: Mask, key_padding_mask: Mask, is_causal: bool = False) -> Any:
        return self.dropout1(self.self_attn(x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                            is_causal=is_causal, need_weights=False)[0])

    def _ff_block(self, x: Tensor) -> Any:
        dropout = getattr(self, f"dropout{len(self._attentions) + 1}")
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoderLayer(_TransformerLayer, attentions=("self_attn",)):
    """Each position attends to its whole sequence, then two linear layers follow.

    `dim_feedforward`: the size between them; `activation`: what is between them ("relu", "gelu" or a function).
    `norm_first`: normalise the input of a step, not the sum. `batch_first`: (batch, time, d_model) in and out.
    """

    def forward(self, src: Tensor, src_mask: Mask = None, src_key_padding_mask: Mask = None,
                is_causal: bool = False) -> Tensor:
        """Return the sequences, each position changed by what it saw. Masks as in MultiheadAttention."""
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", dtype_of(src_mask), "src_mask",
                                 src.dtype)
        mask = canonical_mask(src_mask, "src_mask", None, "", src.dtype, False)
        return self._run(src, lambda x: self._sa_block(x, mask, padding, is_causal))


class TransformerDecoderLayer(_TransformerLayer, attentions=("self_attn", "multihead_attn")):
    """As a layer of the encoder; between its steps each position attends to `memory`, the encoder's output."""

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Mask = None, memory_mask: Mask = None,
                tgt_key_padding_mask: Mask = None, memory_key_padding_mask: Mask = None, tgt_is_causal: bool = False,
                memory_is_causal: bool = False) -> Tensor:
        """Return the sequences, each position changed by what it saw. Masks as in MultiheadAttention."""
        return self._run(
            tgt, lambda x: self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal),
            lambda x: self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Mask, key_padding_mask: Mask,
                   is_causal: bool = False) -> Any:
        return self.dropout2(self.multihead_attn(x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask,
                                                 is_causal=is_causal, need_weights=False)[0])


def copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def reason_against_nested(layer: Any) -> str:
    """Return why PyTorch would not skip padding in the layers of an encoder; empty if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention, norms = layer.self_attn, (layer.norm1, layer.norm2)
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    if not attention.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not attention._qkv_same_embed_dim:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if not layer.activation_relu_or_gelu:
        return "encoder_layer.activation_relu_or_gelu was not True"
    if norms[0].eps != norms[1].eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    return "encoder_layer.self_attn.num_heads is odd" if attention.num_heads % 2 == 1 else ""


class TransformerEncoder(Module):
    """`num_layers` copies of a layer, one after the other, with a norm at the end if given.

    As in PyTorch, an encoder with `enable_nested_tensor`, evaluated without gradients, returns zeros for padding.
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:
        super().__init__()
        self.layers = copies(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = reason_against_nested(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warnings.warn(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}",
                          stacklevel=2)

    def forward(self, src: Tensor, mask: Mask = None, src_key_padding_mask: Mask = None,
                is_causal: bool | None = None) -> Tensor:
        """Send the sequences through all layers. `is_causal`: `mask` is that of `generate_square_subsequent_mask`."""
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", dtype_of(mask), "mask", src.dtype)
        numbers = canonical_mask(mask, "mask", None, "", src.dtype, False)
        attention = getattr(self.layers[0], "self_attn", None)
        causal = is_subsequent(numbers, is_causal, src, getattr(attention, "batch_first", False))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=numbers, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and numbers is None and self.skips_padding(src, padding):
            output = output.masked_fill(padding.ne(0).unsqueeze(-1), 0)
        return output if self.norm is None else self.norm(output)

    def skips_padding(self, src: Tensor, padding: Tensor) -> bool:
        """Return whether PyTorch skips padding here: in evaluation, without gradients, with padding at the end."""
        if not self.use_nested_tensor or self.layers[0].training or src.dim() != 3:
            return False
        if is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())):
            return False
        is_token = padding.array == 0
        return not self.mask_check or bool((is_token[:, :-1] >= is_token[:, 1:]).all())


class TransformerDecoder(Module):
    """`num_layers` copies of a layer, one after the other, with a norm at the end if given."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = copies(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Mask = None, memory_mask: Mask = None,
                tgt_key_padding_mask: Mask = None, memory_key_padding_mask: Mask = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """Send the sequences through all layers, which attend to `memory`."""
        causal = is_subsequent(tgt_mask, tgt_is_causal, tgt, self.layers[0].self_attn.batch_first)
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                           tgt_key_padding_mask=tgt_key_padding_mask, memory_key_padding_mask=memory_key_padding_mask,
                           tgt_is_causal=causal, memory_is_causal=memory_is_causal)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """An encoder and a decoder that attends to the encoder's output. Matrices are drawn by `xavier_uniform_`."""

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
                 custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        arguments = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
                     bias, device, dtype)
        norm = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*arguments), num_encoder_layers, LayerNorm(d_model, **norm))
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*arguments), num_decoder_layers, LayerNorm(d_model, **norm))
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Mask = None, tgt_mask: Mask = None, memory_mask: Mask = None,
                src_key_padding_mask: Mask = None, tgt_key_padding_mask: Mask = None,
                memory_key_padding_mask: Mask = None, src_is_causal: bool | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:
        """Return the decoder's output for `tgt`, (time, batch, d_model), given the encoder's output for `src`."""
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                            tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
                            memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: dtype_type | None = None) -> Tensor:
        """Return a mask that lets no position attend to a later one: -inf above the diagonal, 0 elsewhere."""
        return triu(full((sz, sz), -math.inf, dtype=dtype, device=device), 1)

    def _reset_parameters(self) -> None:
        """Redraw all matrices."""
        for weight in self.parameters():
            if weight.dim() > 1:
                init.xavier_uniform_(weight)
