"""Cells of recurrent networks: one step in time, put together of other ops as in PyTorch's `RNN.cpp`.

A cell is a function of the input's part of the gates (`x @ w_ih.T + b_ih`), of the state and of the weights; it gives
the next state, of which the hidden one comes first. `layer` runs one over a whole sequence, with those parts of all
steps computed at once; a single step computes its own (`part=gates_of`) where PyTorch does, after the hidden state's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minigrad.core.tensor import Tensor
from minigrad.ops._dispatch.registration import op
from minigrad.ops.activation.basic import Relu, Sigmoid, Tanh
from minigrad.ops.linalg.matmul import linear
from minigrad.ops.pointwise.arithmetic import Add, Mul, Sub
from minigrad.ops.shape.join import Cat, Stack
from minigrad.ops.shape.slices import Slice
from minigrad.ops.shape.split import Unbind, UnsafeSplit
from minigrad.ops.shape.views import dim_of

__all__ = ["gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell"]

State = tuple[Tensor, ...]  # the hidden state, and in an LSTM the cell's; each of shape (batch, size)
Part = Callable[[Tensor, "Weights"], Tensor]  # from what a cell is given to the input's part of its gates
Cell = Callable[..., State]  # (input, state, weights, part) -> state


class Weights(NamedTuple):
    """What one layer learns in one direction: from the input, from the hidden state, and a projection of the latter."""

    ih: Tensor
    hh: Tensor
    b_ih: Tensor | None = None
    b_hh: Tensor | None = None
    hr: Tensor | None = None


def gates_of(x: Tensor, w: Weights) -> Tensor:
    """The input's part of the gates, of one step or of all steps at once."""
    return linear(x, w.ih, w.b_ih)


def as_given(gates: Tensor, w: Weights) -> Tensor:
    """The same where it is the gates that a cell is given."""
    return gates


def chunks(gates: Tensor, count: int) -> tuple[Tensor, ...]:
    """The gates apart."""
    return UnsafeSplit.forward(gates, gates.array.shape[-1] // count, gates.array.ndim - 1)


def plain_step(activation: Any) -> Cell:
    """h' = activation(gates + w_hh @ h), for a class of nodes such as `Tanh`."""
    def step(x: Tensor, state: State, w: Weights, part: Part = as_given) -> State:
        return (activation.forward(Add.forward(linear(state[0], w.hh, w.b_hh), part(x, w))),)
    return step


tanh_step, relu_step = plain_step(Tanh), plain_step(Relu)


def lstm_step(x: Tensor, state: State, w: Weights, part: Part = as_given) -> State:
    """c' = f * c + i * g and h' = o * tanh(c'), where i, f, o are sigmoids and g is a tanh of their gates."""
    i, f, g, o = chunks(Add.forward(linear(state[0], w.hh, w.b_hh), part(x, w)), 4)
    i, f, g, o = Sigmoid.forward(i), Sigmoid.forward(f), Tanh.forward(g), Sigmoid.forward(o)
    c = Add.forward(Mul.forward(f, state[1]), Mul.forward(i, g))
    h = Mul.forward(o, Tanh.forward(c))
    return (h if w.hr is None else linear(h, w.hr)), c


def gru_step(x: Tensor, state: State, w: Weights, part: Part = as_given) -> State:
    """h' = (1 - z) * n + z * h, where r and z are sigmoids of their gates and n a tanh, in which r weighs h's part."""
    (h,) = state
    r, z, n = chunks(part(x, w), 3)
    hr, hz, hn = chunks(linear(h, w.hh, w.b_hh), 3)
    r, z = Sigmoid.forward(Add.forward(hr, r)), Sigmoid.forward(Add.forward(hz, z))
    n = Tanh.forward(Add.forward(n, Mul.forward(hn, r)))
    return (Add.forward(Mul.forward(Sub.forward(h, n), z), n),)


def layer(step: Cell, x: Tensor, state: State, w: Weights, reverse: bool,
          sizes: Sequence[int] | None = None) -> tuple[Tensor, State]:
    """A cell over a sequence, from its end if `reverse`: the outputs of all steps, and the last state.

    `x`: (time, batch, features); or packed, (rows, features), where step t has the next `sizes[t]` rows.
    """
    if sizes is not None:
        return packed_layer(step, gates_of(x, w), state, w, reverse, sizes)
    outputs = []
    steps = Unbind.forward(gates_of(x, w), 0)
    for gates in reversed(steps) if reverse else steps:
        state = step(gates, state, w)
        outputs.append(state[0])
    return Stack.forward(outputs[::-1] if reverse else outputs, 0), state


def packed_layer(step: Cell, gates: Tensor, first: State, w: Weights, reverse: bool,
                 sizes: Sequence[int]) -> tuple[Tensor, State]:
    """The same where the sequences, longest first, are of different lengths.

    Forwards the states of those that have ended are put aside; backwards they come in one after the other.
    """
    steps, start = [], 0
    for size in sizes:
        steps.append(rows(gates, start, start + size))
        start += size
    outputs, aside, have = [], [], sizes[-1 if reverse else 0]
    state = tuple([rows(s, 0, have) for s in first]) if reverse else first
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        if sizes[t] < have:
            aside.append(tuple([rows(s, sizes[t], have) for s in state]))
            state = tuple([rows(s, 0, sizes[t]) for s in state])
        elif sizes[t] > have:
            state = tuple([Cat.forward([s, rows(f, have, sizes[t])], 0) for s, f in zip(state, first, strict=True)])
        have = sizes[t]
        state = step(steps[t], state, w)
        outputs.append(state[0])
    if not reverse:
        state = tuple([Cat.forward(parts, 0) for parts in zip(state, *reversed(aside), strict=True)])
    return Cat.forward(outputs[::-1] if reverse else outputs, 0), state


def rows(a: Tensor, start: int, end: int) -> Tensor:
    """Some rows, as a view."""
    return Slice.forward(a, 0, slice(start, end))


def check_cell(input: Tensor, hx: Tensor, w: Weights, count: int) -> None:
    """PyTorch's errors for shapes that do not fit; `count`: how many gates a cell has."""
    features, wanted = input.array.shape[dim_of(1, input.array.ndim)], w.hh.array.shape[1]
    if features != w.ih.array.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {features} expected {w.ih.array.shape[1]}")
    batch, have = input.array.shape[0], hx.array.shape[dim_of(0, hx.array.ndim)]
    if batch != have:
        raise RuntimeError(f"Input batch size {batch} doesn't match hidden0 batch size {have}")
    size = hx.array.shape[dim_of(1, hx.array.ndim)]
    if size != wanted:
        raise RuntimeError(f"hidden0 has inconsistent hidden_size: got {size}, expected {wanted}")
    for name, weight in (("weight_ih", w.ih), ("weight_hh", w.hh)):
        if weight.array.shape[0] != count * size:
            raise RuntimeError(f"{name} first dim must be {count} * hidden_size = {count * size}, but got "
                               f"{weight.array.shape[0]}")


@op
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """One step of an LSTM; `hx` is (h, c), each of shape (batch, size), and so is what is given.

    Raises:
        RuntimeError: if `hx` is no pair, or the shapes do not fit.
    """
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    w = Weights(w_ih, w_hh, b_ih, b_hh)
    check_cell(input, hx[0], w, 4)
    h, c = lstm_step(input, tuple(hx), w, gates_of)
    return h, c


def cell(name: str, step: Cell, count: int, doc: str) -> Callable[..., Tensor]:
    """The function of one step of a cell whose state is the hidden one alone; `count`: how many gates it has."""
    def call(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
             b_hh: Tensor | None = None) -> Tensor:
        w = Weights(w_ih, w_hh, b_ih, b_hh)
        check_cell(input, hx, w, count)
        return step(input, (hx,), w, gates_of)[0]
    call.__name__, call.__qualname__, call.__doc__ = name, name, doc
    return op(call)


gru_cell = cell("gru_cell", gru_step, 3, "One step of a GRU, from the hidden state `hx` to the next.")
rnn_tanh_cell = cell("rnn_tanh_cell", tanh_step, 1, "`tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.")
rnn_relu_cell = cell("rnn_relu_cell", relu_step, 1, "`relu(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.")
