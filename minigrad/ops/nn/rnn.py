"""Recurrent networks over whole sequences: mirrors PyTorch's `RNN.cpp`. Cells are in rnn_cell.py.

A network is a stack of layers; each runs its cell over time, a bidirectional one twice and joins what it gets. As in
PyTorch every step is made of small ops that a reader can walk through; only an LSTM of float32 is one op per layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad.backends.numpy import FLOAT32
from minigrad.core.tensor import Tensor, plain
from minigrad.ops._dispatch.registration import op
from minigrad.ops.nn.dropout import dropout
from minigrad.ops.nn.lstm_layer import MkldnnRnnLayer
from minigrad.ops.nn.rnn_cell import Cell, State, Weights, gru_step, layer, lstm_step, relu_step, tanh_step
from minigrad.ops.shape.join import Cat, Stack
from minigrad.ops.shape.slices import Select
from minigrad.ops.shape.split import Unbind
from minigrad.ops.shape.views import Transpose
from minigrad.ops.tensor.copy import contiguous

__all__ = ["gru", "lstm", "rnn_relu", "rnn_tanh"]

Layer = Callable[[Tensor, State, Weights, bool], tuple[Tensor, State]]


class Plan(NamedTuple):
    """How a network is built, in PyTorch's words."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool

    def weights(self, params: Sequence[Tensor]) -> list[Weights]:
        """The parameters, layer by layer and in each direction by direction."""
        count = len(params) // (self.num_layers * (1 + self.bidirectional))
        own = [params[i:i + count] for i in range(0, len(params), count)]
        return [Weights(*p) if self.has_biases else Weights(p[0], p[1], None, None, *p[2:]) for p in own]


def stacked(run: Layer, x: Tensor, states: Sequence[State], params: Sequence[Tensor], plan: Plan,
            ) -> tuple[Tensor, list[Tensor]]:
    """The layers, one on the other, with dropout between them: the outputs of the last, and all last states."""
    directions = 1 + plan.bidirectional
    own, finals = plan.weights(params), []
    for k in range(plan.num_layers):
        if k and plan.train and plan.dropout:
            x = dropout(x, plan.dropout, True)
        result = [run(x, states[n], own[n], bool(n % 2) and plan.bidirectional)
                  for n in range(k * directions, (k + 1) * directions)]
        finals += [state for _, state in result]
        x = Cat.forward([y for y, _ in result], result[0][0].array.ndim - 1) if plan.bidirectional else result[0][0]
    return x, [Stack.forward(parts, 0) for parts in zip(*finals, strict=True)]


def network(step: Cell, *given: Any) -> tuple[Tensor, ...]:
    """A network, called as PyTorch's functions are, with a batch or with packed data: the outputs, and last states."""
    if isinstance(given[3], (list, tuple)):
        x, sizes, batch_first = given[0], given[1].tolist(), False
        hx, params, *rest = given[2:]
    else:
        x, sizes, batch_first = Transpose.forward(given[0], 0, 1) if given[8] else given[0], None, given[8]
        hx, params, *rest = given[1:8]
        if not x.array.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    plan, hidden = Plan(*rest), (hx,) if isinstance(hx, Tensor) else tuple(hx)

    def composite(x: Tensor, state: State, w: Weights, reverse: bool) -> tuple[Tensor, State]:
        return layer(step, x, state, w, reverse, sizes)

    if (step is lstm_step and sizes is None and x.array.dtype is FLOAT32 and x.array.size
            and plan.weights(params)[0].hr is None):
        states = [tuple([Select.forward(v, 0, n) for v in hidden]) for n in range(len(hidden[0].array))]
        y, finals = stacked(fused_lstm, contiguous(x), states, params, plan)
    else:
        y, finals = stacked(composite, x, list(zip(*[Unbind.forward(v, 0) for v in hidden], strict=True)), params, plan)
    if batch_first:  # in place, as PyTorch does it but in an LSTM
        y = Transpose.forward(y, 0, 1) if step is lstm_step else y.transpose_(0, 1)
    return y, *finals


def fused_lstm(x: Tensor, state: State, w: Weights, reverse: bool) -> tuple[Tensor, State]:
    """A layer of an LSTM as one op."""
    none = plain(np.zeros(w.ih.array.shape[0], x.array.dtype, like=x.array))
    h, c = state
    y, *last = MkldnnRnnLayer.forward(x, w.ih, w.hh, none if w.b_ih is None else w.b_ih,
                                      none if w.b_hh is None else w.b_hh, h, c, reverse)
    return y, tuple(last)


def recurrent(name: str, step: Cell, doc: str) -> Callable[..., Any]:
    """The function of the networks of one kind of cell, with PyTorch's parameters."""
    def call(input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any,
             bidirectional: Any, batch_first: Any = False) -> tuple[Tensor, ...]:
        return network(step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    call.__name__, call.__qualname__, call.__doc__ = name, name, doc
    return op(call)


lstm = recurrent("lstm", lstm_step, """An LSTM over (time, batch, features): (output, h, c).

    `hx` is (h, c), each (layers * directions, batch, size). `params`: by layer and direction w_ih, w_hh, and where they
    are wanted b_ih, b_hh, and a projection. Packed data is given as (data, batch_sizes, hx, params, has_biases,
    num_layers, dropout, train, bidirectional).

    Raises:
        RuntimeError: if there is no step to make.
    """)
gru = recurrent("gru", gru_step, "A GRU, called as `lstm` with one state: (output, h).")
rnn_tanh = recurrent("rnn_tanh", tanh_step, "A recurrent network with tanh, called as `gru`.")
rnn_relu = recurrent("rnn_relu", relu_step, "A recurrent network with relu, called as `gru`.")
