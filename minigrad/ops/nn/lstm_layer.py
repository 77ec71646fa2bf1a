"""One layer of an LSTM as one op: mirrors `mkldnn_rnn_layer`, which PyTorch takes on the CPU for float32.

The loop over time does only what needs the step before; all else is one product, or one pass over all steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minigrad.autograd._api import grad
from minigrad.autograd.grad_mode import enable_grad
from minigrad.backends.numpy import total
from minigrad.backends.registry import beside
from minigrad.core.graph import ManyOutputs
from minigrad.core.record import record_many
from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.same_device import same_device
from minigrad.ops.nn.rnn_cell import Weights, layer, lstm_step
from minigrad.ops.shape.slices import Alias

__all__: list[str] = []


class MkldnnRnnLayer(ManyOutputs):
    """The outputs of all steps, and the last h and c.

    x: (time, batch, features); w_ih, w_hh: (4 * size, …); b_ih, b_hh: (4 * size); h, c: (batch, size). The constants
    that end it are what the loop left (see `values`), in the order in which steps were made.
    """

    saves = ("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_", "result0")
    constants = ("reverse",)

    @staticmethod
    def forward(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, h: Tensor, c: Tensor,
                reverse: bool) -> tuple[Tensor, ...]:
        inputs = x, w_ih, w_hh, b_ih, b_hh, h, c
        same_device(*[v.array for v in inputs])
        bias = b_ih.array + b_hh.array
        ys, *loop = MkldnnRnnLayer.values(turned(x.array, reverse), w_ih.array, w_hh.array, bias, h.array, c.array)
        out = in_a_row(turned(ys, reverse))
        result = out, ys[-1].copy(), loop[1][-1].copy()
        return record_many(MkldnnRnnLayer, result, inputs, (reverse, x._requires_grad, *loop), saved=(*inputs, out))

    @staticmethod
    def values(x: Any, w_ih: Any, w_hh: Any, bias: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        """On arrays: at each step the outputs, (time, batch, size); the gates i, f, g, o, (time, 4, batch, size), so
        that each lies in one piece; c; and tanh(c).

        sigmoid(z) = (tanh(z / 2) + 1) / 2, so that one tanh makes all four gates.
        """
        (time, batch, _), size = x.shape, h.shape[1]
        scales = np.full((4, batch, size), 0.5, x.dtype, like=beside(x))  # in full: NumPy is slow to broadcast it
        scales[2] = 1
        scale, shifts = scales[:, :1], 1 - scales
        first, weights = (in_a_row(w.reshape(4, size, -1).swapaxes(1, 2)) * scale for w in (w_ih, w_hh))
        gates = np.matmul(x[:, None], first)
        gates += bias.reshape(4, 1, size) * scale
        cells, curved, out = (np.empty((time, batch, size), x.dtype, like=x) for _ in range(3))
        for z, cell, curve, y in zip(gates, cells, curved, out):
            z += np.matmul(h, weights)
            np.tanh(z, z)
            z *= scales
            z += shifts
            i, f, g, o = z
            c = np.multiply(f, c, cell)
            c += i * g
            h = np.multiply(o, np.tanh(c, curve), y)
        return out, gates, cells, curved

    def backward(self, xp: Any, gs: list[Any], *given: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = xp.apply(MkldnnRnnLayerBackward, *gs, *given)
        return found


class MkldnnRnnLayerBackward:
    """The derivative of the layer. No node: on Tensors it is that of the same layer made of other ops."""

    @staticmethod
    def values(g_out: Any, g_h: Any, g_c: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h: Any, c: Any,
               out: Any, reverse: bool, wants_x: bool, gates: Any, cells: Any, curved: Any) -> tuple[Any, ...]:
        """On arrays: the gradients of x, w_ih, w_hh, both biases, h and c."""
        time, _, batch, size = gates.shape
        g_out, hs = turned(g_out, reverse), turned(out, reverse)
        i, f, g, o = gates.swapaxes(0, 1)
        through = o * (1 - curved * curved)  # how c moves h
        slopes = gates * (1 - gates)  # of the four gates, by what each moves: i, f and g move c, o moves h
        slopes[:, 2] = 1 - g * g
        for k, partner in enumerate((g, np.concatenate([c[None], cells[:-1]]), i, curved)):
            slopes[:, k] *= partner
        found, dh, dc = np.empty((time, batch, 4, size), x.dtype, like=x), g_h, g_c
        difference, flat = found.swapaxes(1, 2), found.reshape(time, batch, 4 * size)
        for t in range(time - 1, -1, -1):
            dh = dh + g_out[t]
            dc = dc + dh * through[t]
            np.multiply(slopes[t, :3], dc, difference[t, :3])
            np.multiply(slopes[t, 3], dh, difference[t, 3])
            dc = dc * f[t]
            dh = flat[t].dot(w_hh)
        rows = flat.reshape(time * batch, 4 * size)
        before = np.concatenate([h[None], hs[:-1]]).reshape(time * batch, size)
        dx = turned((rows @ w_ih).reshape(x.shape), reverse) if wants_x else None
        d_bias, inputs = total(rows, (0,)), turned(x, reverse).reshape(time * batch, -1)
        return dx, rows.T @ inputs, rows.T @ before, d_bias, d_bias.copy(), dh, dc

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


def in_a_row(x: Any) -> Any:
    """An array whose memory is in row-major order."""
    return np.ascontiguousarray(x, like=x)


def turned(x: Any, reverse: bool) -> Any:
    """Steps in the order in which they are made."""
    return x[::-1] if reverse else x
