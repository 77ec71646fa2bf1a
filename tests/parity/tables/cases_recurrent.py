"""Lines of the table of ops for recurrent networks and packing: see `cases.py`.

In float32 PyTorch, and so minigrad, makes a layer of an LSTM one op: test_rnn.py holds its derivatives.
"""

from __future__ import annotations

from tests.parity.compare import leaf


def network(name, pair, count):
    """A network of one layer: x, its states, its weights; an LSTM has biases."""
    def call(m, x, *rest):
        states, weights = (rest[:2], rest[2:]) if pair else (rest[0], rest[1:])
        return getattr(m, name)(x, states, list(weights), len(weights) > 2, 1, 0.0, False, False, False)

    return call, [leaf(2, 1, 3), *[leaf(1, 1, 2)] * (1 + pair), leaf(count * 2, 3), leaf(count * 2, 2),
                  *[leaf(count * 2)] * (2 * pair)]


def packed(m, x, h, w, v):
    """A network of packed data."""
    return m.rnn_tanh(x, m.tensor([2, 1]), h, [w, v], False, 1, 0.0, False, False)


CASES = {
    "rnn_tanh": network("rnn_tanh", False, 1),
    "rnn_tanh packed": (packed, [leaf(3, 2), leaf(1, 2, 2), leaf(2, 2), leaf(2, 2)]),
    "rnn_relu": network("rnn_relu", False, 1),
    "gru": network("gru", False, 3),
    "lstm": network("lstm", True, 4),
    "rnn_tanh_cell": (lambda m, x, h, w, v: m.rnn_tanh_cell(x, h, w, v),
                      [leaf(1, 3), leaf(1, 2), leaf(2, 3), leaf(2, 2)]),
    "rnn_relu_cell": (lambda m, x, h, *ws: m.rnn_relu_cell(x, h, *ws),
                      [leaf(1, 3), leaf(1, 2), leaf(2, 3), leaf(2, 2), leaf(2), leaf(2)]),
    "gru_cell": (lambda m, x, h, *ws: m.gru_cell(x, h, *ws),
                 [leaf(1, 3), leaf(1, 2), leaf(6, 3), leaf(6, 2), leaf(6), leaf(6)]),
    "lstm_cell": (lambda m, x, h, c, *ws: m.lstm_cell(x, (h, c), *ws),
                  [leaf(1, 3), leaf(1, 2), leaf(1, 2), leaf(8, 3), leaf(8, 2), leaf(8), leaf(8)]),
    "pack_padded_sequence": (lambda m, x: m.nn.utils.rnn.pack_padded_sequence(x, [3, 1]).data, [leaf(3, 2, 2)]),
}
# What minigrad needs not: it follows from the shapes of what is saved, or from other values.
MISSING = {
    "MkldnnRnnLayerBackward0": {"batch_first", "batch_sizes", "bidirectional", "has_biases", "hidden_size", "mode",
                                "num_layers", "result1", "result2", "result3", "train"},
}
