"""Recurrent networks, one step in time or whole sequences, composed of other ops as in PyTorch's `RNN.cpp`.

A cell is a function of the input's part of the gates (`x @ w_ih.T + b_ih`), the state and the weights; it returns the
next state, beginning with the hidden state. `layer` runs a cell over a whole sequence, with the input's part of all
steps computed at once; a single step computes its own, as PyTorch does, after the hidden state's (`part=input_gates`).

A network is a stack of layers; a bidirectional one runs each cell twice and joins the results. Every step consists of
small ops that a reader can follow; only a layer of an LSTM in float32 or bfloat16 is one op,
`MkldnnRnnLayer`, as in PyTorch.

Sequences of different lengths are packed into one tensor without padding, as in PyTorch's `PackedSequence.cpp`: the
first step of all sequences, longest first, then the second step of those that have one, and so on; `batch_sizes` is
the number of rows of each step.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from minigrad._base.dtype import BFLOAT16
from minigrad._base.warnings import warn_once
from minigrad.autograd._api import grad
from minigrad.autograd.grad_mode import enable_grad
from minigrad.backends.intp import as_intp
from minigrad.backends.numpy import FLOAT32, total
from minigrad.backends.registry import backend_of, device_like, moved
from minigrad.core import ManyOutputs, Node, Tensor, plain, record_many, record_n
from minigrad.ops._dispatch import op, same_device
from minigrad.ops.activation import Relu, Sigmoid, Tanh
from minigrad.ops.linalg.matmul import linear, matmul
from minigrad.ops.nn.dropout import dropout
from minigrad.ops.pointwise.add import Add, Sub
from minigrad.ops.pointwise.mul import Mul
from minigrad.ops.shape.join import Cat, Stack
from minigrad.ops.shape.slices import Select, Slice, Unbind, UnsafeSplit, narrow
from minigrad.ops.shape.views import Alias, T, Transpose, dim_of, reshape
from minigrad.ops.tensor.copy import contiguous

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]

UNSORTED = (
    "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
    "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not "
    "need ONNX exportability."
)


class PackPaddedSequence(Node):
    """The rows of a (time, batch, …) tensor that are not padding."""

    saves = ("result1",)
    constants = ("batch_first", "", "input_sym_sizes")

    @staticmethod
    def forward(a: Tensor, batch_sizes: Tensor, batch_first: bool) -> Tensor:
        sizes = batch_sizes.array
        indices = np.repeat(np.arange(len(sizes)), as_intp(sizes)), np.concatenate([np.arange(n) for n in sizes])
        like = device_like(a.array)  # the sizes are on the CPU, as in PyTorch
        indices = tuple([moved(index, like) for index in indices])
        constants = batch_first, indices, a.array.shape
        return record_n(PackPaddedSequence, a.array[indices], (a,), (batch_sizes,), constants)

    def backward(self, xp: Any, g: Any, sizes: Any, batch_first: bool, indices: Any, shape: tuple[int, ...]) -> Any:
        return xp.scatter(g, indices, shape)


def pack(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The packed data and batch sizes of sequences of these lengths, which descend."""
    long = lengths.array
    padded = Transpose.forward(input, 0, 1) if batch_first else input
    if not padded.array.size:
        raise RuntimeError("Cannot pack empty tensors.")
    if long.ndim != 1 or long.dtype.name != "int64" or backend_of(long) is not None:
        raise RuntimeError("'lengths' argument should be a 1D CPU int64 tensor, but got "
                           f"{long.ndim}D {lengths.device} {lengths.dtype.type_name} tensor")
    batch = padded.array.shape[dim_of(1, padded.array.ndim)]
    if len(long) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(long)} "
                           f"(batch_size={batch})")
    if long[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
                           "<= 0")
    if (long[:-1] < long[1:]).any():
        raise RuntimeError(UNSORTED)
    sizes = plain((long[:, None] > np.arange(long[0])).sum(0, np.int64))
    return PackPaddedSequence.forward(padded, sizes, batch_first), sizes


def pad(data: Tensor, sizes: Sequence[int], batch_first: bool, value: float, time: int) -> tuple[Tensor, Tensor]:
    """The padded (time, batch, …) tensor, and the lengths of the sequences. Steps of equal size are copied at once."""
    rest = data.array.shape[1:]
    out = plain(np.full((time, sizes[0], *rest), value, data.array.dtype, like=device_like(data.array)))
    step = row = 0
    while step < len(sizes):
        size, first = sizes[step], step
        while step < len(sizes) and sizes[step] == size:
            step += 1
        steps = step - first
        part = reshape(narrow(data, 0, row, steps * size), (steps, size, *rest))
        narrow(narrow(out, 0, first, steps), 1, 0, size).copy_(part)
        row += steps * size
    lengths = (np.array(sizes)[:, None] > np.arange(sizes[0])).sum(0, np.int64)
    return Transpose.forward(out, 0, 1) if batch_first else out, plain(lengths)


def pad_all(sequences: Sequence[Tensor], batch_first: bool, value: float, side: str) -> Tensor:
    """Sequences as one tensor, each padded to the length of the longest."""
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    if side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {side}.")
    first = sequences[0].array
    if not first.ndim:
        raise RuntimeError("ArrayRef: invalid slice, N = 1; size = 0")
    longest, count = max([s.array.shape[0] for s in sequences]), len(sequences)
    shape = (count, longest) if batch_first else (longest, count)
    out = plain(np.full(shape + first.shape[1:], value, first.dtype, like=device_like(first)))
    for i, sequence in enumerate(sequences):
        length = sequence.array.shape[0]
        start = longest - length if side == "left" else 0
        own = out.select(0 if batch_first else 1, i)
        narrow(own, 0, start, length).copy_(sequence)
    return out


State = tuple[Tensor, ...]  # the hidden state, and in an LSTM the cell state; each of shape (batch, size)
Part = Callable[[Tensor, "Weights"], Tensor]  # from a cell's input to the input's part of its gates
Cell = Callable[..., State]  # (input, state, weights, part) -> state


class Weights(NamedTuple):
    """The parameters of one layer in one direction: for the input, the hidden state, and a projection of the latter."""

    ih: Tensor
    hh: Tensor
    b_ih: Tensor | None = None
    b_hh: Tensor | None = None
    hr: Tensor | None = None


def input_gates(x: Tensor, w: Weights) -> Tensor:
    """The input's part of the gates, of one step or of all steps at once."""
    return linear(x, w.ih, w.b_ih)


def as_given(gates: Tensor, w: Weights) -> Tensor:
    """The same where the cell's input is the gates already."""
    return gates


def chunks(gates: Tensor, count: int) -> tuple[Tensor, ...]:
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
    return (h if w.hr is None else matmul(h, T.forward(w.hr))), c


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
    """Run a cell over a sequence, from its end if `reverse`: the outputs of all steps, and the last state.

    `x`: (time, batch, features); or packed, (rows, features), where step t has the next `sizes[t]` rows.
    """
    if sizes is not None:
        return packed_layer(step, input_gates(x, w), state, w, reverse, sizes)
    outputs = []
    steps = Unbind.forward(input_gates(x, w), 0)
    for gates in reversed(steps) if reverse else steps:
        state = step(gates, state, w)
        outputs.append(state[0])
    return Stack.forward(outputs[::-1] if reverse else outputs, 0), state


def packed_layer(step: Cell, gates: Tensor, first: State, w: Weights, reverse: bool,
                 sizes: Sequence[int]) -> tuple[Tensor, State]:
    """The same for sequences of different lengths, longest first.

    Going forwards, the states of ended sequences are set aside; backwards they join one by one.
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
    return Slice.forward(a, 0, slice(start, end))


def check_cell(input: Tensor, hx: Tensor, w: Weights, count: int) -> None:
    """Raise PyTorch's errors for shapes that do not fit; `count`: how many gates a cell has."""
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
    """One step of an LSTM; `hx` is (h, c), each of shape (batch, size), and so is the result. Raises RuntimeError if
    `hx` is not a pair, or the shapes do not fit."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    w = Weights(w_ih, w_hh, b_ih, b_hh)
    check_cell(input, hx[0], w, 4)
    h, c = lstm_step(input, tuple(hx), w, input_gates)
    return h, c


def cell(name: str, step: Cell, count: int, doc: str) -> Callable[..., Tensor]:
    """The function of one step of a cell whose only state is the hidden one; `count`: how many gates it has."""
    def call(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
             b_hh: Tensor | None = None) -> Tensor:
        w = Weights(w_ih, w_hh, b_ih, b_hh)
        check_cell(input, hx, w, count)
        return step(input, (hx,), w, input_gates)[0]
    call.__doc__ = doc
    return op(name=name)(call)


gru_cell = cell("gru_cell", gru_step, 3, "One step of a GRU, from the hidden state `hx` to the next.")
rnn_tanh_cell = cell("rnn_tanh_cell", tanh_step, 1, "`tanh(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.")
rnn_relu_cell = cell("rnn_relu_cell", relu_step, 1, "`relu(w_ih @ input + b_ih + w_hh @ hx + b_hh)`.")


FUSED = frozenset((FLOAT32, BFLOAT16))  # the dtypes in which an LSTM's layer is one op


class MkldnnRnnLayer(ManyOutputs):
    """The outputs of all steps, and the last h and c.

    x: (time, batch, features); w_ih, w_hh: (4 * size, …); b_ih, b_hh: (4 * size); h, c: (batch, size). The constants
    that end it are the loop's intermediate results (see `values`), in the order of the computed steps.
    """

    saves = ("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_", "result0")
    constants = ("reverse",)

    @staticmethod
    def forward(x: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, h: Tensor, c: Tensor,
                reverse: bool) -> tuple[Tensor, ...]:
        inputs = x, w_ih, w_hh, b_ih, b_hh, h, c
        same_device(*[v.array for v in inputs])
        bias = b_ih.array + b_hh.array
        steps = in_time_order(x.array, reverse)
        ys, *loop = MkldnnRnnLayer.values(steps, w_ih.array, w_hh.array, bias, h.array, c.array)
        out = in_a_row(in_time_order(ys, reverse))
        result = out, ys[-1].copy(), loop[1][-1].copy()
        return record_many(MkldnnRnnLayer, result, inputs, (reverse, x._requires_grad, *loop), saved=(*inputs, out))

    @staticmethod
    def values(x: Any, w_ih: Any, w_hh: Any, bias: Any, h: Any, c: Any) -> tuple[Any, Any, Any, Any]:
        """On arrays, for each step: the outputs, (time, batch, size); the gates i, f, g, o, (time, 4, batch, size),
        each contiguous; c; and tanh(c).

        sigmoid(z) = (tanh(z / 2) + 1) / 2, so one tanh computes all four gates.
        """
        (time, batch, _), size = x.shape, h.shape[1]
        scales = np.full((4, batch, size), 0.5, x.dtype, like=device_like(x))  # in full: NumPy broadcasts it slowly
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

    def backward(self, xp: Any, gs: list[Any], *saved: Any) -> Any:
        return xp.apply(MkldnnRnnLayerBackward, *gs, *saved)


class MkldnnRnnLayerBackward:
    """The derivative of the layer. Not a node: on Tensors it is that of the same layer composed of other ops."""

    @staticmethod
    def values(g_out: Any, g_h: Any, g_c: Any, x: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, h: Any, c: Any,
               out: Any, reverse: bool, wants_x: bool, gates: Any, cells: Any, curved: Any) -> tuple[Any, ...]:
        """On arrays: the gradients of x, w_ih, w_hh, both biases, h and c."""
        time, _, batch, size = gates.shape
        g_out, hs = in_time_order(g_out, reverse), in_time_order(out, reverse)
        i, f, g, o = gates.swapaxes(0, 1)
        through = o * (1 - curved * curved)  # the derivative of h by c
        slopes = gates * (1 - gates)  # of the gates, by what they influence: i, f and g influence c, o influences h
        slopes[:, 2] = 1 - g * g
        for k, partner in enumerate((g, np.concatenate([c[None], cells[:-1]]), i, curved)):
            slopes[:, k] *= partner
        dz, dh, dc = np.empty((time, batch, 4, size), x.dtype, like=x), g_h, g_c
        by_gate, flat = dz.swapaxes(1, 2), dz.reshape(time, batch, 4 * size)
        for t in range(time - 1, -1, -1):
            dh = dh + g_out[t]
            dc = dc + dh * through[t]
            np.multiply(slopes[t, :3], dc, by_gate[t, :3])
            np.multiply(slopes[t, 3], dh, by_gate[t, 3])
            dc = dc * f[t]
            dh = flat[t].dot(w_hh)
        dz_rows = flat.reshape(time * batch, 4 * size)
        before = np.concatenate([h[None], hs[:-1]]).reshape(time * batch, size)
        dx = in_time_order((dz_rows @ w_ih).reshape(x.shape), reverse) if wants_x else None
        d_bias, inputs = total(dz_rows, (0,)), in_time_order(x, reverse).reshape(time * batch, -1)
        return dx, dz_rows.T @ inputs, dz_rows.T @ before, d_bias, d_bias.copy(), dh, dc

    @staticmethod
    def forward(g_out: Tensor, g_h: Tensor, g_c: Tensor, *saved: Any) -> tuple[Any, ...]:
        """On Tensors: run the layer again. The derivative is taken by aliases of its inputs, not by their sources."""
        with enable_grad():
            fresh = [Alias.forward(v) for v in saved[:7]]
            x, w_ih, w_hh, b_ih, b_hh, h, c = fresh
            out, state = layer(lstm_step, x, (h, c), Weights(w_ih, w_hh, b_ih, b_hh), saved[8])
        wanted = [v for v in fresh if v._requires_grad]
        gradients = iter(grad([out, *state], wanted, [g_out, g_h, g_c], create_graph=True))
        return tuple([next(gradients) if v._requires_grad else None for v in fresh])


def in_a_row(x: Any) -> Any:
    """An array whose memory is in row-major order."""
    return np.ascontiguousarray(x, like=x)


def in_time_order(x: Any, reverse: bool) -> Any:
    """Steps in the order in which they are computed; a second call undoes the first."""
    return x[::-1] if reverse else x


def fused_lstm(x: Tensor, state: State, w: Weights, reverse: bool) -> tuple[Tensor, State]:
    """A layer of an LSTM as one op."""
    none = plain(np.zeros(w.ih.array.shape[0], x.array.dtype, like=x.array))
    h, c = state
    y, *last = MkldnnRnnLayer.forward(x, w.ih, w.hh, none if w.b_ih is None else w.b_ih,
                                      none if w.b_hh is None else w.b_hh, h, c, reverse)
    return y, tuple(last)


def network(step: Cell, *args: Any) -> tuple[Tensor, ...]:
    """The outputs of the last layer, and all last states; `args` are those of `lstm`, for a batch or packed data."""
    if isinstance(args[3], (list, tuple)):
        x, batch_sizes, hx, params, *options = args
        sizes, batch_first = batch_sizes.tolist(), False
    else:
        x, hx, params, *options, batch_first = args
        sizes, x = None, Transpose.forward(x, 0, 1) if batch_first else x
        if not x.array.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    has_biases, num_layers, p, train, bidirectional = options
    directions, hidden = 1 + bidirectional, (hx,) if isinstance(hx, Tensor) else tuple(hx)
    count = len(params) // (num_layers * directions)
    parts = [params[i:i + count] for i in range(0, len(params), count)]
    weights = [Weights(*w) if has_biases else Weights(w[0], w[1], None, None, *w[2:]) for w in parts]
    fused = step is lstm_step and sizes is None and x.array.dtype in FUSED and x.array.size
    if fused and weights[0].hr is not None:
        warn_once("LSTM with projections is not supported with oneDNN. Using default implementation.")
        fused = False
    if fused:
        x = contiguous(x)
        states = [tuple([Select.forward(v, 0, n) for v in hidden]) for n in range(len(hidden[0].array))]
    else:
        states = list(zip(*[Unbind.forward(v, 0) for v in hidden], strict=True))
    finals: list[State] = []
    for k in range(num_layers):
        if k and train and p:
            x = dropout(x, p, True)
        outputs = []
        for n in range(k * directions, (k + 1) * directions):
            layer_input = x, states[n], weights[n], bool(n % 2) and bidirectional
            output, final = fused_lstm(*layer_input) if fused else layer(step, *layer_input, sizes)
            outputs.append(output)
            finals.append(final)
        x = Cat.forward(outputs, outputs[0].array.ndim - 1) if bidirectional else outputs[0]
    last = [Stack.forward(parts, 0) for parts in zip(*finals, strict=True)]
    if batch_first:  # in place, as PyTorch does except in an LSTM
        x = Transpose.forward(x, 0, 1) if step is lstm_step else x.transpose_(0, 1)
    return x, *last


def recurrent(name: str, step: Cell, doc: str) -> Callable[..., Any]:
    """The function of the networks of one kind of cell, with PyTorch's parameters."""
    def call(input: Tensor, hx: Any, params: Any, has_biases: Any, num_layers: Any, dropout: Any, train: Any,
             bidirectional: Any, batch_first: Any = False) -> tuple[Tensor, ...]:
        return network(step, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    call.__doc__ = doc
    return op(name=name)(call)


lstm = recurrent("lstm", lstm_step, """An LSTM over (time, batch, features): (output, h, c).

    `hx` is (h, c), each (layers * directions, batch, size). `params`: for each layer and direction w_ih, w_hh and, if
    present, b_ih, b_hh and a projection. Packed data is given as (data, batch_sizes, hx, params, has_biases,
    num_layers, dropout, train, bidirectional). Raises RuntimeError if the sequence is empty.
    """)
gru = recurrent("gru", gru_step, "A GRU, called as `lstm` with one state: (output, h).")
rnn_tanh = recurrent("rnn_tanh", tanh_step, "A recurrent network with tanh, called as `gru`.")
rnn_relu = recurrent("rnn_relu", relu_step, "A recurrent network with relu, called as `gru`.")
