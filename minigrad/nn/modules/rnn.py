"""Recurrent layers: mirrors `torch/nn/modules/rnn.py`.

RNN, LSTM and GRU run over whole sequences; RNNCell, LSTMCell and GRUCell make one step. What a step computes is in
minigrad/ops/nn/rnn.py.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from minigrad._base.dtype import dtype as dtype_type
from minigrad.core import Tensor
from minigrad.nn import init
from minigrad.nn.modules.utils import Family, empty_parameter
from minigrad.nn.parameter import Parameter
from minigrad.nn.utils.rnn import PackedSequence
from minigrad.ops.factory import zeros
from minigrad.ops.index.scatter_gather import index_select
from minigrad.ops.linalg.checks import autocast_is_on
from minigrad.ops.nn.rnn import gru, gru_cell, lstm, lstm_cell, rnn_relu, rnn_relu_cell, rnn_tanh, rnn_tanh_cell

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

Sequences = Any  # a Tensor, or a PackedSequence
FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {  # by mode, with the number of gates
    "LSTM": (lstm, 4), "GRU": (gru, 3), "RNN_TANH": (rnn_tanh, 1), "RNN_RELU": (rnn_relu, 1)}
ONE_LAYER = ("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
             "greater than 1, but got dropout={} and num_layers={}")


def check_arguments(dropout: Any, num_layers: int, bias: Any, batch_first: Any, input_size: Any, hidden_size: Any,
                    proj_size: int) -> None:
    """Raise PyTorch's errors, or issue its warning, for arguments that do not fit."""
    if isinstance(dropout, bool) or not 0 <= float(dropout) <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being "
                         "zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn(ONE_LAYER.format(dropout, num_layers), stacklevel=4)
    for name, value, kind in (("bias", bias, bool), ("batch_first", batch_first, bool),
                              ("input_size", input_size, int), ("hidden_size", hidden_size, int)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
        if kind is int and value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class _Recurrent(Family):
    hidden_size: int

    def reset_parameters(self) -> None:
        """Draw all weights from ±1/√hidden_size."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)


class RNNBase(_Recurrent):
    """What RNN, LSTM and GRU share: layers of weights, drawn from ±1/√hidden_size, and the checks of inputs.

    Layer 2 has its weights in `weight_ih_l1`, `weight_hh_l1`, `bias_ih_l1`, `bias_hh_l1`, with `proj_size` also in
    `weight_hr_l1`; those of the backward direction end in `_reverse`. The rows of all gates are in one matrix: in an
    LSTM those of i, f, g, o, in a GRU those of r, z, n.
    """

    pair: ClassVar[bool] = False  # whether a state is (h, c)

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: dtype_type | None = None) -> None:
        super().__init__()
        check_arguments(dropout, num_layers, bias, batch_first, input_size, hidden_size, proj_size)
        if mode not in FUNCTIONS:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        directions, rows, out = 2 if bidirectional else 1, FUNCTIONS[mode][1] * hidden_size, proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            shapes: dict[str, Any] = {"weight_ih": (rows, out * directions if layer else input_size),
                                      "weight_hh": (rows, out)}
            if bias:
                shapes |= {"bias_ih": rows, "bias_hh": rows}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for end in ("", "_reverse")[:directions]:
                self._all_weights.append([f"{name}_l{layer}{end}" for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    setattr(self, name, empty_parameter(shape, device, dtype))
        self.reset_parameters()

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: value for name, value in state.items() if not name.startswith("_flat_weight")})

    def flatten_parameters(self) -> None:
        """Do nothing: only cuDNN wants the weights in one block of memory."""

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's errors for an input that does not fit."""
        kind, ndim = self._flat_weights[0].dtype, 3 if batch_sizes is None else 2
        if input.dtype != kind and not autocast_is_on():
            raise ValueError(f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: "
                             f"input.to({kind}), or convert model: model.to({input.dtype})")
        if input.dim() != ndim:
            raise RuntimeError(f"input must have {ndim} dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                               f"{input.size(-1)}")

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the hidden state: (layers * directions, batch, size)."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, self.proj_size or self.hidden_size

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        """Raise PyTorch's error for a state of another shape."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise PyTorch's errors for an input and a state that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return a state with its sequences in another order."""
        if permutation is None:
            return hx
        return tuple([index_select(v, 1, permutation) for v in hx]) if self.pair else index_select(hx, 1, permutation)

    def zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        dtype, device = input.dtype, input.device
        h = zeros(shape, dtype=dtype, device=device)
        return (h, zeros((*shape[:2], self.hidden_size), dtype=dtype, device=device)) if self.pair else h

    def forward(self, input: Sequences, hx: Any = None) -> tuple[Sequences, Any]:
        """Return the outputs of all steps, and the last state.

        `input`: (time, batch, features), with `batch_first` (batch, time, features), without a batch (time, features),
        or packed. `hx`: the first state, (layers * directions, batch, size); zeros by default. Raises RuntimeError if
        the shapes do not fit; ValueError for other dimensions or another dtype.
        """
        function = FUNCTIONS[self.mode][0]
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if isinstance(input, PackedSequence):
            data, sizes, order, back = input
            state = self.zero_state(data, sizes) if hx is None else self.permute_hidden(hx, order)
            if not self.pair:
                self.check_forward_args(data, state, sizes)
            y, *last = function(data, sizes, state, *options)
            state = self.permute_hidden(tuple(last) if self.pair else last[0], back)
            return PackedSequence(y, sizes, order, back), state
        batched = self.check_dims(input, hx)
        batch_dim = 0 if self.batch_first else 1
        x = input if batched else input.unsqueeze(batch_dim)
        if hx is not None and not batched:
            hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1)) if self.pair else hx.unsqueeze(1)
        state = self.zero_state(x, None) if hx is None else hx
        self.check_forward_args(x, state, None)
        y, *last = function(x, state, *options, self.batch_first)
        if not batched:
            y, last = y.squeeze(batch_dim), [v.squeeze(1) for v in last]
        return y, tuple(last) if self.pair else last[0]

    def check_dims(self, input: Tensor, hx: Any) -> bool:
        """Return whether the input has a batch; raise PyTorch's errors for other dimensions."""
        if input.dim() not in (2, 3):
            kind = self.mode.split("_")[0]
            raise ValueError(f"{kind}: Expected input to be 2D or 3D, got {input.dim()}D "
                             f"{'tensor ' if kind == 'RNN' else ''}instead")
        batched = input.dim() == 3
        dims = [] if hx is None else [hx[0].dim(), hx[1].dim()] if self.pair else [hx.dim()]
        if any(n != input.dim() for n in dims):
            names, got = (("hx and cx", f"({dims[0]}-D, {dims[1]}-D) tensors") if self.pair else
                          ("hx", f"{dims[0]}-D tensor"))
            what = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(f"For {what} input, {names} should also be {input.dim()}-D but got {got}")
        return batched

    def extra_repr(self) -> str:
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0,
                 "bidirectional": False}
        others = [f", {name}={value}" for name, default in usual.items() if (value := getattr(self, name)) != default
                  or type(default) is bool is not type(value)]
        return f"{self.input_size}, {self.hidden_size}{''.join(others)}"


class RNN(RNNBase):
    """h' = tanh(w_ih @ x + b_ih + w_hh @ h + b_hh), or relu with `nonlinearity="relu"`.

    Takes `input_size, hidden_size, num_layers, nonlinearity, bias, batch_first, dropout, bidirectional`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            kwargs, args = kwargs | {"nonlinearity": args[3]}, args[:3] + args[4:]
        self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: besides its hidden state h, a layer has a cell c, which gates write to.

    i, f, g, o = w_ih @ x + b_ih + w_hh @ h + b_hh; c' = sigmoid(f) * c + sigmoid(i) * tanh(g);
    h' = sigmoid(o) * tanh(c'), with `proj_size` w_hr @ h'. Takes `input_size, hidden_size, num_layers, bias,
    batch_first, dropout, bidirectional, proj_size`.
    """

    pair = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the shape of the cell's state: (layers * directions, batch, hidden_size)."""
        return *self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        for i, size in enumerate((self.get_expected_hidden_size(input, batch_sizes),
                                  self.get_expected_cell_size(input, batch_sizes))):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")


class GRU(RNNBase):
    """Gated recurrent unit: r = sigmoid(w_ir @ x + w_hr @ h), z = sigmoid(w_iz @ x + w_hz @ h),
    n = tanh(w_in @ x + r * (w_hn @ h)), h' = (1 - z) * n + z * h; each product has a bias.

    Takes `input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(_Recurrent):
    """What the cells share: weights drawn from ±1/√hidden_size."""

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = empty_parameter((rows, input_size), device, dtype)
        self.weight_hh = empty_parameter((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, empty_parameter(rows, device, dtype) if bias else None)
        self.reset_parameters()

    def extra_repr(self) -> str:
        bias = "" if self.bias is True else f", bias={self.bias}"
        kind = getattr(self, "nonlinearity", "tanh")
        return f"{self.input_size}, {self.hidden_size}{bias}{'' if kind == 'tanh' else f', nonlinearity={kind}'}"

    def step(self, function: Callable[..., Any], input: Tensor, hx: Any, names: tuple[str, ...]) -> Any:
        """Make one step from a state with a tensor for each name; an input without a batch gets one for the op."""
        self.check("input", input)
        for name, v in zip(names, hx or (), strict=False):
            self.check(name, v)
        x = input if input.dim() == 2 else input.unsqueeze(0)
        if hx is None:
            hx = (zeros((x.size(0), self.hidden_size), dtype=x.dtype, device=x.device),) * len(names)
        elif x is not input:
            hx = [v.unsqueeze(0) for v in hx]
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        output = function(x, tuple(hx) if len(names) > 1 else hx[0], *weights)
        if x is input:
            return output
        return tuple([v.squeeze(0) for v in output]) if len(names) > 1 else output.squeeze(0)

    def check(self, name: str, v: Tensor) -> None:
        """Raise PyTorch's error for a tensor that has neither one nor two dimensions."""
        if v.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {v.dim()}D instead")


class RNNCell(RNNCellBase):
    """One step of an RNN: tanh(w_ih @ x + b_ih + w_hh @ h + b_hh), or relu instead of tanh."""

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: dtype_type | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """Return the next hidden state; shapes are (batch, features) and (batch, size), or without batch."""
        function = {"tanh": rnn_tanh_cell, "relu": rnn_relu_cell}.get(self.nonlinearity)
        if function is None:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self.step(function, input, None if hx is None else (hx,), ("hidden",))


class _GatedCell(RNNCellBase):
    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None,
                 dtype: dtype_type | None = None) -> None:
        super().__init__(input_size, hidden_size, bias, self._gates, device, dtype)


class LSTMCell(_GatedCell, gates=4):
    """One step of an LSTM."""

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """Return the next (h, c)."""
        return self.step(lstm_cell, input, hx, ("hx[0]", "hx[1]"))


class GRUCell(_GatedCell, gates=3):
    """One step of a GRU."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        return self.step(gru_cell, input, None if hx is None else (hx,), ("hidden",))
