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
from minigrad.backends.registry import beside
from minigrad.ops._devices import same_device
from minigrad.ops.rnn_cell import Weights, layer, lstm_step
from minigrad.ops.slices import Alias

__all__: list[str] = []


class MkldnnRnnLayer(ManyOutputs):
    """The outputs of all steps, and the last h and c.

    x: (time, batch, features); w_ih, w_hh: (4 * size, …); b_ih, b_hh: (4 * size); h, c: (batch, size). The constants
    that end it are what the loop left (see `values`), in the order in which steps were made.
    """

    __slots__ = ()
    saves = ("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_", "result0")
    constants = ("reverse",)

    @staticmethod
    def forward(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, h: Tensor, c: Tensor,
                reverse: bool) -> tuple[Tensor, ...]:
        inputs = x, w_ih, w_hh, b_ih, b_hh, h, c
        same_device(*[v.array for v in inputs])
        bias = b_ih.array + b_hh.array
        ys, *loop = MkldnnRnnLayer.values(turned(x.array, reverse), w_ih.array, w_hh.array, bias, h.array.T, c.array.T)
        out = in_a_row(turned(ys, reverse).swapaxes(1, 2))
        made = out, in_a_row(ys[-1].T), in_a_row(loop[1][-1].T)
        return record_many(MkldnnRnnLayer, made, inputs, (reverse, x._requires_grad, *loop), saved=(*inputs, out))

    @staticmethod
    def values(x: Any, w_ih: Any, w_hh: Any, bias: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        """On arrays, the batch last, so that each gate lies in one piece: h and c are (size, batch), and so are at each
        step the outputs; the gates i, f, g, o, (time, 4, size, batch); c; and tanh(c).

        sigmoid(z) = (tanh(z / 2) + 1) / 2, so that one tanh makes all four gates.
        """
        (time, batch, features), size = x.shape, len(h)
        half, one = x.dtype.type(0.5), x.dtype.type(1)
        scale = np.full((4 * size, 1), half, x.dtype, like=beside(x))
        scale[2 * size:3 * size] = one
        weights, rows = w_hh * scale, x.reshape(-1, features) @ (w_ih * scale).T + bias * scale[:, 0]
        scales = scale.repeat(batch, 1)  # in full: NumPy is slow to broadcast a column
        shifts = one - scales
        gates = in_a_row(rows.reshape(time, batch, 4 * size).swapaxes(1, 2))
        apart = gates.reshape(time, 4, size, batch)
        cells, curved, out = (np.empty((time, size, batch), x.dtype, like=x) for _ in range(3))
        for t in range(time):
            z = gates[t]
            z += weights.dot(h)
            np.tanh(z, z)
            z *= scales
            z += shifts
            i, f, g, o = apart[t]
            c = np.multiply(f, c, cells[t])
            c += i * g
            h = np.multiply(o, np.tanh(c, curved[t]), out[t])
        return out, apart, cells, curved

    def backward(self, xp: Any, gs: list[Any], *given: Any) -> tuple[Any, ...]:
        found: tuple[Any, ...] = xp.apply(MkldnnRnnLayerBackward, *gs, *given)
        return found


class MkldnnRnnLayerBackward:
    """The derivative of the layer. No node: on Tensors it is that of the same layer made of other ops."""

    @staticmethod
    def values(g_out: Any, g_h: Any, g_c: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h: Any, c: Any,
               out: Any, reverse: bool, wants_x: bool, gates: Any, cells: Any, curved: Any) -> tuple[Any, ...]:
        """On arrays: the gradients of x, w_ih, w_hh, both biases, h and c."""
        time, _, size, batch = gates.shape
        g_out, hs = (in_a_row(turned(v, reverse).swapaxes(1, 2)) for v in (g_out, out))
        i, f, g, o = gates.swapaxes(0, 1)
        through = o * (1 - curved * curved)  # how c moves h
        slopes = gates * (1 - gates)  # of the four gates, by what each moves: i, f and g move c, o moves h
        slopes[:, 2] = 1 - g * g
        for k, partner in enumerate((g, np.concatenate([c.T[None], cells[:-1]]), i, curved)):
            slopes[:, k] *= partner
        flat, back, dh, dc = slopes.reshape(time, 4 * size, batch), in_a_row(w_hh.T), g_h.T, g_c.T
        for t in range(time - 1, -1, -1):
            dh = dh + g_out[t]
            dc = dc + dh * through[t]
            slopes[t, :3] *= dc
            slopes[t, 3] *= dh
            dc = dc * f[t]
            dh = back.dot(flat[t])
        rows = flat.swapaxes(1, 2).reshape(time * batch, 4 * size)
        before = np.concatenate([h.T[None], hs[:-1]]).swapaxes(1, 2).reshape(time * batch, size)
        dx = turned((rows @ w_ih).reshape(x.shape), reverse) if wants_x else None
        d_bias, inputs = rows.sum(0), turned(x, reverse).reshape(time * batch, -1)
        return dx, rows.T @ inputs, rows.T @ before, d_bias, d_bias.copy(), dh.T, dc.T

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
