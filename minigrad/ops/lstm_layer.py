"""One layer of an LSTM as one op: mirrors `mkldnn_rnn_layer`, which PyTorch takes on the CPU for float32.

The loop over time does only what needs the step before; all else is one product, or one pass over all steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad._tensor import Tensor
from minigrad.autograd._api import grad
from minigrad.autograd.grad_mode import enable_grad
from minigrad.autograd.graph import ManyOutputs
from minigrad.autograd.record import record_many
from minigrad.ops.rnn_cell import Weights, layer, lstm_step
from minigrad.ops.slices import Alias

__all__: list[str] = []


class MkldnnRnnLayer(ManyOutputs):
    """The outputs of all steps, and the last h and c.

    x: (time, batch, features); w_ih, w_hh: (4 * size, …); b_ih, b_hh: (4 * size); h, c: (batch, size). The constants
    that end it are what the loop left: all gates, cells, and their tanh, in the order in which steps were made.
    """

    __slots__ = ()
    saves = ("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_", "result0")
    constants = ("reverse",)

    @staticmethod
    def forward(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, h: Tensor, c: Tensor,
                reverse: bool) -> tuple[Tensor, ...]:
        inputs = x, w_ih, w_hh, b_ih, b_hh, h, c
        bias = b_ih.array + b_hh.array
        ys, *loop = MkldnnRnnLayer.values(turned(x.array, reverse), w_ih.array, w_hh.array, bias, h.array, c.array)
        out = np.ascontiguousarray(turned(ys, reverse))
        return record_many(MkldnnRnnLayer, (out, ys[-1].copy(), loop[1][-1].copy()), inputs,
                           (reverse, x._requires_grad, *loop), saved=(*inputs, out))

    @staticmethod
    def values(x: Any, w_ih: Any, w_hh: Any, bias: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        """On arrays: the outputs, (time, batch, size); the gates i, f, g, o, (time, batch, 4, size); c and tanh(c).

        sigmoid(z) = (tanh(z / 2) + 1) / 2, so that one tanh makes all four gates.
        """
        (time, batch, features), size = x.shape, h.shape[1]
        half, one = x.dtype.type(0.5), x.dtype.type(1)
        scale = np.repeat(np.array([half, half, one, half]), size)
        gates = (x.reshape(-1, features) @ (w_ih * scale[:, None]).T).reshape(time, batch, 4 * size)
        gates += bias * scale
        weights, shift = (w_hh * scale[:, None]).T, one - scale
        cells, curved, out = (np.empty((time, batch, size), x.dtype) for _ in range(3))
        for t in range(time):
            z = gates[t]
            z += h @ weights
            np.tanh(z, z)
            z *= scale
            z += shift
            i, f, g, o = z[:, :size], z[:, size:2 * size], z[:, 2 * size:3 * size], z[:, 3 * size:]
            c = np.multiply(f, c, cells[t])
            c += i * g
            h = np.multiply(o, np.tanh(c, curved[t]), out[t])
        return out, gates.reshape(time, batch, 4, size), cells, curved

    def backward(self, xp: Any, gs: list[Any], *given: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = xp.apply(MkldnnRnnLayerBackward, *gs, *given)
        return found


class MkldnnRnnLayerBackward:
    """The derivative of the layer. No node: on Tensors it is that of the same layer made of other ops."""

    @staticmethod
    def values(g_out: Any, g_h: Any, g_c: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h: Any, c: Any,
               out: Any, reverse: bool, wants_x: bool, gates: Any, cells: Any, curved: Any) -> tuple[Any, ...]:
        """On arrays: the gradients of x, w_ih, w_hh, both biases, h and c."""
        (time, batch, _, size), g_out = gates.shape, turned(g_out, reverse)
        i, f, g, o = (gates[:, :, k] for k in range(4))
        past = np.concatenate([c[None], cells[:-1]])
        through = o * (1 - curved * curved)  # how c moves h
        slopes = gates * (1 - gates)  # of the four gates, by what each moves: i, f and g move c, o moves h
        slopes[:, :, 2] = 1 - g * g
        for k, partner in enumerate((g, past, i, curved)):
            slopes[:, :, k] *= partner
        flat, (dh, dc) = slopes.reshape(time, batch, 4 * size), (g_h, g_c)
        for t in range(time - 1, -1, -1):
            dh = dh + g_out[t]
            dc = dc + dh * through[t]
            slopes[t, :, :3] *= dc[:, None]
            slopes[t, :, 3] *= dh
            dc = dc * f[t]
            dh = flat[t] @ w_hh
        before = np.concatenate([h[None], turned(out, reverse)[:-1]]).reshape(-1, size)
        rows, inputs = flat.reshape(-1, 4 * size), turned(x, reverse)
        d_bias = rows.sum(0)
        dx = turned((rows @ w_ih).reshape(x.shape), reverse) if wants_x else None
        return dx, rows.T @ inputs.reshape(-1, x.shape[2]), rows.T @ before, d_bias, d_bias.copy(), dh, dc

    @staticmethod
    def forward(g_out: Tensor, g_h: Tensor, g_c: Tensor, *given: Any) -> tuple[Any, ...]:
        """On Tensors: the layer is run again. Aliases of its inputs are differentiated by, not what they came from."""
        with enable_grad():
            fresh = [Alias.forward(v) for v in given[:7]]
            x, w_ih, w_hh, b_ih, b_hh, h, c = fresh
            out, state = layer(lstm_step, x, (h, c), Weights(w_ih, w_hh, b_ih, b_hh), given[8])
        wanted = [v for v in fresh if v._requires_grad]
        found = iter(grad([out, *state], wanted, [g_out, g_h, g_c], create_graph=True))
        return tuple([next(found) if v._requires_grad else None for v in fresh])


def turned(x: Any, reverse: bool) -> Any:
    """Steps in the order in which they are made."""
    return x[::-1] if reverse else x
