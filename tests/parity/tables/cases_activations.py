"""Lines of the table of ops for activations and softmax: see `cases.py`."""

from __future__ import annotations

from tests.parity.compare import leaf

CASES = {
    # of straight pieces
    "leaky_relu": (lambda m, a: m.nn.functional.leaky_relu(a), [leaf(5)]),
    "leaky_relu steep": (lambda m, a: m.nn.functional.leaky_relu(a, 1.5), [leaf(5)]),
    "leaky_relu negative": (lambda m, a: m.nn.functional.leaky_relu(a, -0.5), [leaf(5)]),
    "leaky_relu inplace": (lambda m, a: m.nn.functional.leaky_relu(a * 1, 0.2, inplace=True), [leaf(5)]),
    "leaky_relu_": (lambda m, a: m.nn.functional.leaky_relu_(a * 1, 0.2), [leaf(5)]),
    "relu6": (lambda m, a: m.nn.functional.relu6(a * 5), [leaf(8)]),
    "relu6 inplace": (lambda m, a: m.nn.functional.relu6(a * 5, inplace=True), [leaf(8)]),
    "hardtanh": (lambda m, a: m.nn.functional.hardtanh(a), [leaf(8)]),
    "hardtanh limits": (lambda m, a: m.nn.functional.hardtanh(a, -0.5, 1.2, inplace=False), [leaf(8)]),
    "hardtanh of bytes": (lambda m, a: m.nn.functional.hardtanh(m.ones(8).byte(), -0.3, 0.3).float() * a, [leaf(8)]),
    "hardtanh_": (lambda m, a: m.nn.functional.hardtanh_(a * 1), [leaf(8)]),
    "hardswish": (lambda m, a: m.nn.functional.hardswish(a * 2.5), [leaf(8)]),
    "hardswish inplace": (lambda m, a: m.nn.functional.hardswish(a * 2.5, True), [leaf(8)]),
    "hardshrink": (lambda m, a: m.hardshrink(a), [leaf(8)]),
    "hardshrink method": (lambda m, a: a.hardshrink(0.8), [leaf(8)]),
    "softshrink": (lambda m, a: m.nn.functional.softshrink(a), [leaf(8)]),
    "softshrink wide": (lambda m, a: m.nn.functional.softshrink(a, 1.0), [leaf(8)]),
    "threshold": (lambda m, a: m.threshold(a, 0.4, 20.0), [leaf(8)]),
    "threshold inplace": (lambda m, a: m.nn.functional.threshold(a * 1, 0.4, 20.0, inplace=True), [leaf(8)]),
    "threshold_": (lambda m, a: m.nn.functional.threshold_(a * 1, 0.4, 20.0), [leaf(8)]),
    "prelu": (lambda m, a, w: m.prelu(a, w), [leaf(2, 3), leaf(3)]),
    "prelu method": (lambda m, a, w: a.prelu(w), [leaf(2, 3), leaf(1)]),
    "prelu of a vector": (lambda m, a, w: m.nn.functional.prelu(a, w), [leaf(4), leaf(1)]),
    "prelu of pictures": (lambda m, a, w: m.nn.functional.prelu(a, w), [leaf(2, 3, 2, 2), leaf(3)]),
    "prelu one number": (lambda m, a, w: m.nn.functional.prelu(a, w), [leaf(2, 3), leaf()]),
    "rrelu": (lambda m, a: m.nn.functional.rrelu(a), [leaf(8)]),
    "rrelu training": (lambda m, a: seeded(m).rrelu(a, training=True), [leaf(8)]),
    "rrelu limits": (lambda m, a: m.rrelu(a, 0.2, 0.4), [leaf(8)]),
    "rrelu inplace": (lambda m, a: seeded(m).rrelu(a * 1, training=True, inplace=True), [leaf(8)]),
    "rrelu inplace of negative slopes": (lambda m, a: seeded(m).rrelu(a * 1, -2, -1, training=True, inplace=True),
                                         [leaf(8)]),
    "rrelu inplace of one negative slope": (lambda m, a: m.rrelu_(a * 1, -0.2, -0.2, True), [leaf(8)]),
    "rrelu_": (lambda m, a: m.rrelu_(a * 1), [leaf(8)]),
    # smooth
    "elu": (lambda m, a: m.nn.functional.elu(a), [leaf(8)]),
    "elu alpha": (lambda m, a: m.nn.functional.elu(a, 1.5), [leaf(8)]),
    "elu inplace": (lambda m, a: m.nn.functional.elu(a * 1, inplace=True), [leaf(8)]),
    "elu_": (lambda m, a: m.nn.functional.elu_(a * 1, 0.7), [leaf(8)]),
    "selu": (lambda m, a: m.selu(a), [leaf(8)]),
    "selu inplace": (lambda m, a: m.nn.functional.selu(a * 1, inplace=True), [leaf(8)]),
    "selu_": (lambda m, a: m.selu_(a * 1), [leaf(8)]),
    "celu": (lambda m, a: m.celu(a), [leaf(8)]),
    "celu alpha": (lambda m, a: m.nn.functional.celu(a, 0.5), [leaf(8)]),
    "celu_": (lambda m, a: m.celu_(a * 1, 2.0), [leaf(8)]),
    "gelu": (lambda m, a: m.nn.functional.gelu(a), [leaf(8)]),
    "gelu tanh": (lambda m, a: m.nn.functional.gelu(a, approximate="tanh"), [leaf(8)]),
    "silu": (lambda m, a: m.nn.functional.silu(a), [leaf(8)]),
    "silu inplace": (lambda m, a: m.nn.functional.silu(a * 1, inplace=True), [leaf(8)]),
    "mish": (lambda m, a: m.nn.functional.mish(a), [leaf(8)]),
    "mish inplace": (lambda m, a: m.nn.functional.mish(a * 1, inplace=True), [leaf(8)]),
    "softplus": (lambda m, a: m.nn.functional.softplus(a), [leaf(8)]),
    "softplus of both": (lambda m, a: m.nn.functional.softplus(a, beta=2, threshold=1), [leaf(8)]),
    "logsigmoid": (lambda m, a: m.nn.functional.logsigmoid(a), [leaf(8)]),
    "softsign": (lambda m, a: m.nn.functional.softsign(a), [leaf(8)]),
    "tanhshrink": (lambda m, a: m.nn.functional.tanhshrink(a), [leaf(8)]),
    "glu": (lambda m, a: m.nn.functional.glu(a), [leaf(3, 4)]),
    "glu dim": (lambda m, a: m.nn.functional.glu(a, 0), [leaf(4, 3)]),
    # softmax
    "softmax": (lambda m, a: m.softmax(a, 1), [leaf(2, 3)]),
    "softmax method": (lambda m, a: a.softmax(-1), [leaf(2, 3)]),
    "softmax dim": (lambda m, a: m.nn.functional.softmax(a, dim=0), [leaf(2, 3, 2)]),
    "softmax double": (lambda m, a: m.softmax(a, 0, dtype=m.float64), [leaf(3)]),
    "softmax 0-d": (lambda m, a: m.softmax(a, 0), [leaf()]),
    "log_softmax": (lambda m, a: m.log_softmax(a, 1), [leaf(2, 3)]),
    "log_softmax method": (lambda m, a: a.log_softmax(0), [leaf(2, 3)]),
    "log_softmax dim": (lambda m, a: m.nn.functional.log_softmax(a, dim=1), [leaf(2, 3, 2)]),
    "log_softmax double": (lambda m, a: m.nn.functional.log_softmax(a, -1, dtype=m.float64), [leaf(3)]),
    "softmin": (lambda m, a: m.nn.functional.softmin(a, 1), [leaf(2, 3)]),
    "gumbel_softmax": (lambda m, a: seeded(m).gumbel_softmax(a, tau=0.5), [leaf(2, 3)]),
    "gumbel_softmax hard": (lambda m, a: seeded(m).gumbel_softmax(a, hard=True, dim=0), [leaf(2, 3)]),
    # also here, for whoever looks for them
    "F.sigmoid, F.tanh": (lambda m, a: [m.nn.functional.sigmoid(a), m.nn.functional.tanh(a)], [leaf(5)]),
}


def seeded(m):
    """`nn.functional`, after a seed that makes both libraries draw the same numbers."""
    m.manual_seed(3)
    return m.nn.functional

MISSING = {
    "LogSigmoidBackward0": {"buffer"},
    "RreluWithNoiseBackward0": {"noise"},
    "RreluWithNoiseBackward1": {"noise"},
}

NOT_COMPARABLE = {"gumbel_softmax hard": "the gradient is that of the soft result"}
