"""Recurrent layers and sequences of several lengths: weights by seed, outputs, gradients, graphs, errors, print."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.compare import graph_of
from tests.parity.nn.modules import losses, same_training

pytestmark = pytest.mark.torch

LAYERS = {
    "RNN": lambda nn: nn.RNN(3, 4),
    "RNN relu": lambda nn: nn.RNN(3, 4, 1, "relu", False),
    "RNN all": lambda nn: nn.RNN(3, 4, num_layers=2, nonlinearity="tanh", batch_first=True, bidirectional=True),
    "LSTM": lambda nn: nn.LSTM(3, 4),
    "LSTM without bias": lambda nn: nn.LSTM(3, 4, bias=False),
    "LSTM two": lambda nn: nn.LSTM(3, 4, 2),
    "LSTM all": lambda nn: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True),
    "LSTM projected": lambda nn: nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True, proj_size=2),
    "LSTM projected without bias": lambda nn: nn.LSTM(3, 4, bias=False, proj_size=1),
    "GRU": lambda nn: nn.GRU(3, 4),
    "GRU without bias": lambda nn: nn.GRU(3, 4, bias=False),
    "GRU all": lambda nn: nn.GRU(3, 4, 2, batch_first=True, bidirectional=True),
    "GRU of many": lambda nn: nn.GRU(3, 4, 3),
}
CELLS = {
    "RNNCell": lambda nn: nn.RNNCell(3, 4),
    "RNNCell relu": lambda nn: nn.RNNCell(3, 4, False, "relu"),
    "LSTMCell": lambda nn: nn.LSTMCell(3, 4),
    "LSTMCell without bias": lambda nn: nn.LSTMCell(3, 4, bias=False),
    "GRUCell": lambda nn: nn.GRUCell(3, 4),
    "GRUCell without bias": lambda nn: nn.GRUCell(3, 4, bias=False),
}
TOLERANCE = {"float32": 2e-6, "float64": 1e-12}
UNPROJECTED = "ignore:LSTM with projections is not supported with oneDNN"


def data(lib, *shape, dtype="float64", seed=0, grad=True):
    """Numbers that both libraries are given."""
    values = np.random.RandomState(seed).randn(*shape).astype(dtype)
    return lib.from_numpy(values).requires_grad_(grad)


def flat(value):
    """The tensors in a result."""
    if hasattr(value, "grad_fn"):
        return [value]
    return [] if value is None else [t for each in value for t in flat(each)]


def built(lib, make, dtype):
    """A layer of seed 3."""
    lib.manual_seed(3)
    return make(lib.nn).to(getattr(lib, dtype))


def states(lib, module, batch, dtype):
    """A first state for a layer or a cell; without batch where that is None."""
    size = [] if batch is None else [batch]
    if hasattr(module, "num_layers"):
        size.insert(0, module.num_layers * (1 + module.bidirectional))
    h = data(lib, *size, getattr(module, "proj_size", 0) or module.hidden_size, dtype=dtype, seed=1)
    pair = type(module).__name__.startswith("LSTM")
    return (h, data(lib, *size, module.hidden_size, dtype=dtype, seed=2)) if pair else h


def run(lib, module, *given):
    """Outputs, the gradients of all that was given and of all weights, and the graph."""
    out = flat(module(*given))
    leaves = [t for t in flat(given) if t.is_leaf and t.requires_grad] + list(module.parameters())
    total = sum(((t * t).sum() + t.sum() * 0.5 for t in out if t.requires_grad), start=0.0)
    grads = lib.autograd.grad(total, leaves, allow_unused=True)
    return [t.detach().numpy() for t in out], [None if g is None else g.numpy() for g in grads], [
        graph_of(t, leaves) for t in out]


def compare(torch, make, given, dtype="float64"):
    """One layer under both libraries."""
    ends = []
    for lib in (torch, minigrad):
        module = built(lib, make, dtype)
        ends.append(run(lib, module, *given(lib, module)))
    (theirs, grads, graphs), (ours, grads_here, graphs_here) = ends
    for a, b in zip(theirs + grads, ours + grads_here, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b, a, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * max(1, abs(a).max()))
    assert graphs_here == graphs


@pytest.mark.parametrize("name", LAYERS | CELLS)
def test_same_seed_same_weights(torch, name):
    make = (LAYERS | CELLS)[name]
    theirs, ours = (built(lib, make, "float32") for lib in (torch, minigrad))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, weight in theirs.state_dict().items():
        assert ours.state_dict()[key].numpy().tobytes() == weight.numpy().tobytes()
    assert minigrad.rand(1).item() == torch.rand(1).item()
    assert repr(ours) == repr(theirs)


@pytest.mark.filterwarnings(UNPROJECTED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_layer(torch, name, dtype):
    compare(torch, LAYERS[name], lambda lib, m: (data(lib, 2, 2, 3, dtype=dtype),), dtype)


@pytest.mark.filterwarnings(UNPROJECTED)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_layer_from_a_state(torch, name, dtype):
    compare(torch, LAYERS[name], lambda lib, m: (data(lib, 3, 3, 3, dtype=dtype, grad=False), states(lib, m, 3, dtype)),
            dtype)


@pytest.mark.filterwarnings(UNPROJECTED)
@pytest.mark.parametrize("name", LAYERS)
def test_layer_without_batch(torch, name):
    compare(torch, LAYERS[name], lambda lib, m: (data(lib, 4, 3), states(lib, m, None, "float64")))
    compare(torch, LAYERS[name], lambda lib, m: (data(lib, 4, 3),))


def packed(lib, dtype="float64", enforce_sorted=False):
    """Three sequences, the longest in the middle."""
    lengths = (3, 2, 1) if enforce_sorted else (2, 3, 1)
    return lib.nn.utils.rnn.pack_sequence([data(lib, n, 3, dtype=dtype, seed=n) for n in lengths], enforce_sorted)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYERS)
def test_packed(torch, name, dtype):
    compare(torch, LAYERS[name], lambda lib, m: (packed(lib, dtype),), dtype)
    compare(torch, LAYERS[name], lambda lib, m: (packed(lib, dtype, True), states(lib, m, 3, dtype)), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CELLS)
def test_cell(torch, name, dtype):
    compare(torch, CELLS[name], lambda lib, m: (data(lib, 2, 3, dtype=dtype),), dtype)
    compare(torch, CELLS[name], lambda lib, m: (data(lib, 2, 3, dtype=dtype), states(lib, m, 2, dtype)), dtype)
    compare(torch, CELLS[name], lambda lib, m: (data(lib, 3, dtype=dtype), states(lib, m, None, dtype)), dtype)


def by_age(lib, name):
    """The nodes of a cell, oldest first, with those that they lead to: the order in which a pass takes them."""
    lib.manual_seed(0)
    out = CELLS[name](lib.nn)(lib.ones(1, 3, requires_grad=True))
    nodes, queue = {}, [(out[0] if isinstance(out, tuple) else out).grad_fn]
    while queue:
        node = queue.pop()
        if node is not None and "Accumulate" not in node.name():
            nodes[node._sequence_nr()] = node
            queue += [other for other, _ in node.next_functions]
    return [(nodes[key].name(), [other and other.name() for other, _ in nodes[key].next_functions])
            for key in sorted(nodes)]


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_makes_its_nodes_in_order(torch, name):
    assert by_age(minigrad, name) == by_age(torch, name)


@pytest.mark.parametrize("reverse", [False, True])
def test_second_derivatives_of_the_layer_that_is_one_op(torch, reverse):
    ends = []
    for lib in (torch, minigrad):
        lstm = built(lib, lambda nn: nn.LSTM(2, 3, bidirectional=reverse), "float32")
        x, given = data(lib, 3, 2, 2, dtype="float32"), states(lib, lstm, 2, "float32")
        out = flat(lstm(x, given))
        leaves = [x, *given, *lstm.parameters()]
        grads = lib.autograd.grad(sum((t * t).sum() for t in out), leaves, create_graph=True)
        second = lib.autograd.grad(sum((g * g).sum() for g in grads), leaves)
        ends.append([g.detach().numpy() for g in (*grads, *second)])
    for theirs, ours in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_the_one_op_is_the_composite(torch):
    """In float64 the same layer is made of small ops: the fused arrays hold to it."""
    wide = built(minigrad, lambda nn: nn.LSTM(3, 5, 2, bidirectional=True), "float32")
    deep = built(minigrad, lambda nn: nn.LSTM(3, 5, 2, bidirectional=True), "float64")
    ends = []
    for lstm, dtype in ((wide, "float32"), (deep, "float64")):
        x = data(minigrad, 7, 4, 3, dtype=dtype)
        out = flat(lstm(x))
        leaves = [x, *lstm.parameters()]
        ends.append([t.detach().numpy() for t in (*out, *minigrad.autograd.grad(sum(t.square().sum() for t in out),
                                                                              leaves))])
    for narrow, exact in zip(*ends, strict=True):
        np.testing.assert_allclose(narrow, exact, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_dropout_between_layers_draws_as_in_pytorch(torch, kind):
    ends = []
    for lib in (torch, minigrad):
        module = built(lib, lambda nn: getattr(nn, kind)(3, 4, 3, dropout=0.4), "float64")
        x = data(lib, 3, 2, 3)
        ends.append([t.detach().numpy() for t in (module(x)[0], module(x)[0], module.eval()(x)[0])])
    for theirs, ours in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_training(torch, kind):
    def train(lib):
        module = built(lib, lambda nn: getattr(nn, kind)(3, 4, 2, dropout=0.2, batch_first=True), "float32")
        x, y = data(lib, 2, 5, 3, dtype="float32"), data(lib, 2, 5, 4, dtype="float32", seed=1)
        return losses(lib, module, lambda: (module(x)[0] - y).square().mean(), steps=20, rate=0.5)

    same_training(torch, train)


def texts(kind):
    """Calls of a layer that end in an error, or in a warning."""
    def layer(m, *args, **options):
        return getattr(m.nn, kind)(3, 2, *args, **options)

    def state(m, *shape):
        return (m.ones(*shape), m.ones(*shape)) if kind == "LSTM" else m.ones(*shape)

    return {
        "1-d": lambda m: layer(m)(m.ones(3)),
        "4-d": lambda m: layer(m)(m.ones(1, 1, 1, 3)),
        "features": lambda m: layer(m)(m.ones(2, 1, 4)),
        "features, no batch": lambda m: layer(m)(m.ones(2, 4)),
        "float64": lambda m: layer(m)(m.ones(2, 1, 3, dtype=m.float64)),
        "integers": lambda m: layer(m)(m.ones(2, 1, 3, dtype=m.int64)),
        "hx 2-d": lambda m: layer(m)(m.ones(2, 1, 3), state(m, 1, 2)),
        "hx 3-d": lambda m: layer(m)(m.ones(2, 3), state(m, 1, 1, 2)),
        "hx layers": lambda m: layer(m)(m.ones(2, 1, 3), state(m, 2, 1, 2)),
        "hx batch": lambda m: layer(m)(m.ones(2, 1, 3), state(m, 1, 2, 2)),
        "no steps": lambda m: layer(m)(m.ones(0, 1, 3)),
        "no batch at all": lambda m: layer(m)(m.ones(2, 0, 3))[0],
        "a list": lambda m: layer(m)([1, 2]),
        "input_size 0": lambda m: getattr(m.nn, kind)(0, 2),
        "input_size 3.0": lambda m: getattr(m.nn, kind)(3.0, 2),
        "hidden_size": lambda m: getattr(m.nn, kind)(3, "a"),
        "hidden_size 0": lambda m: getattr(m.nn, kind)(3, 0),
        "no hidden_size": lambda m: getattr(m.nn, kind)(input_size=3),
        "another option": lambda m: layer(m, foo=1),
        "num_layers 0": lambda m: layer(m, 0),
        "dropout 2": lambda m: layer(m, dropout=2),
        "dropout True": lambda m: layer(m, dropout=True),
        "dropout a": lambda m: layer(m, dropout="a"),
        "dropout of one layer": lambda m: repr(layer(m, dropout=0.5)),
        "dropout 1": lambda m: repr(layer(m, 2, dropout=1)),
        "bias 1": lambda m: layer(m, bias=1),
        "batch_first 1": lambda m: layer(m, batch_first=1),
        "bidirectional 1": lambda m: repr(layer(m, bidirectional=1)),
        "proj_size": lambda m: layer(m, proj_size=2),
        "proj_size -1": lambda m: layer(m, proj_size=-1),
        "all_weights": lambda m: [[list(w.shape) for w in own] for own in layer(m, 2, bidirectional=True).all_weights],
    }


TEXTS = {f"{kind} {name}": call for kind in ("RNN", "LSTM", "GRU") for name, call in texts(kind).items()} | {
    "RNN packed hx": lambda m: m.nn.RNN(3, 2)(packed(m, "float32", True), m.ones(1, 2)),
    "GRU packed hx": lambda m: m.nn.GRU(3, 2)(packed(m, "float32", True), m.ones(1, 2, 2)),
    "packed features": lambda m: m.nn.GRU(4, 2)(packed(m, "float32")),
    "LSTM c": lambda m: m.nn.LSTM(3, 2)(m.ones(2, 1, 3), (m.ones(1, 1, 2), m.ones(1, 1, 3))),
    "LSTM dims": lambda m: m.nn.LSTM(3, 2)(m.ones(2, 1, 3), (m.ones(1, 1, 2), m.ones(1, 2))),
    "RNN nonlinearity": lambda m: m.nn.RNN(3, 2, nonlinearity="foo"),
    "RNN in order": lambda m: repr(m.nn.RNN(3, 2, 2, "relu", True, True, 0.1, True)),
    "LSTM all": lambda m: repr(m.nn.LSTM(3, 2, 2, False, True, 0.1, True, 1)),
    "names": lambda m: m.nn.GRU(3, 2, 2)._flat_weights_names,
    "flatten_parameters": lambda m: m.nn.GRU(3, 2, 2).flatten_parameters(),
    "RNNBase": lambda m: m.nn.RNNBase("FOO", 3, 2),
    "bases": lambda m: [[c.__name__ for c in k.__mro__ if "nn" in c.__module__ and c.__name__[0] != "_"][:2]
                        for k in (m.nn.LSTM, m.nn.RNN, m.nn.GRU, m.nn.GRUCell)],
    "RNNCell nonlinearity": lambda m: m.nn.RNNCell(3, 2, nonlinearity="foo")(m.ones(1, 3)),
    **{f"{kind}Cell {name}": lambda m, kind=kind, call=call: call(
        m, getattr(m.nn, f"{kind}Cell")(3, 2), lambda *s: (m.ones(*s), m.ones(*s)) if kind == "LSTM" else m.ones(*s))
       for kind in ("RNN", "LSTM", "GRU") for name, call in {
           "3-d": lambda m, cell, state: cell(m.ones(1, 1, 3)),
           "0-d": lambda m, cell, state: cell(m.ones(())),
           "hx 3-d": lambda m, cell, state: cell(m.ones(1, 3), state(1, 1, 2)),
           "features": lambda m, cell, state: cell(m.ones(1, 4)),
           "hx of a batch": lambda m, cell, state: cell(m.ones(3), state(1, 2)),
           "hx without batch": lambda m, cell, state: cell(m.ones(1, 3), state(2)),
           "hx size": lambda m, cell, state: cell(m.ones(1, 3), state(1, 3)),
           "batches": lambda m, cell, state: cell(m.ones(2, 3), state(1, 2)),
       }.items()},
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(torch, name):
    alike(torch, TEXTS[name])


def rnn(m):
    """nn.utils.rnn."""
    return m.nn.utils.rnn


def several(m, *lengths):
    """Sequences of these lengths, of (2,), that require grad."""
    return [data(m, n, 2, seed=n) for n in lengths]


SEQUENCES = {
    "pad": lambda m: rnn(m).pad_sequence(several(m, 2, 1, 3)),
    "pad batch_first": lambda m: rnn(m).pad_sequence(several(m, 2, 1, 3), True, 9.0),
    "pad left": lambda m: rnn(m).pad_sequence(several(m, 2, 1), batch_first=True, padding_side="left"),
    "pad a generator": lambda m: rnn(m).pad_sequence(v for v in several(m, 2, 1)),
    "pad a tensor": lambda m: rnn(m).pad_sequence(m.ones(2, 3, 1)),
    "pad dtypes": lambda m: rnn(m).pad_sequence([m.ones(2), m.ones(1, dtype=m.float64)]),
    "pad side": lambda m: rnn(m).pad_sequence(several(m, 1), padding_side="foo"),
    "pad nothing": lambda m: rnn(m).pad_sequence([]),
    "pad a number": lambda m: rnn(m).pad_sequence(3),
    "pad misfits": lambda m: rnn(m).pad_sequence([m.ones(2, 3), m.ones(2, 4)]),
    "pad numbers": lambda m: rnn(m).pad_sequence([m.ones(()), m.ones(())]),
    "unpad": lambda m: rnn(m).unpad_sequence(rnn(m).pad_sequence(several(m, 3, 1)), m.tensor([3, 1])),
    "unpad batch_first": lambda m: rnn(m).unpad_sequence(m.ones(2, 3), m.tensor([3, 1]), True),
    "pack": lambda m: rnn(m).pack_sequence(several(m, 3, 1)),
    "pack unsorted": lambda m: rnn(m).pack_sequence(several(m, 2, 1, 3), enforce_sorted=False),
    "pack, sorted asked for": lambda m: rnn(m).pack_sequence(several(m, 2, 3)),
    "pack nothing": lambda m: rnn(m).pack_sequence([]),
    "pack vectors": lambda m: rnn(m).pack_sequence([m.ones(2)]),
    "pack_padded": lambda m: rnn(m).pack_padded_sequence(data(m, 3, 2, 1), [3, 2]),
    "pack_padded batch_first": lambda m: rnn(m).pack_padded_sequence(data(m, 2, 3, 1), m.tensor([2, 2]), True),
    "pack_padded matrix": lambda m: rnn(m).pack_padded_sequence(data(m, 3, 2), [3, 1]),
    "pack_padded int32": lambda m: rnn(m).pack_padded_sequence(data(m, 3, 2), m.tensor([3, 1], dtype=m.int32)),
    "pack_padded floats": lambda m: rnn(m).pack_padded_sequence(data(m, 3, 2), m.tensor([3.0, 1.0])),
    "pack_padded 0": lambda m: rnn(m).pack_padded_sequence(m.ones(3, 2, 1), [3, 0]),
    "pack_padded count": lambda m: rnn(m).pack_padded_sequence(m.ones(3, 2, 1), [3]),
    "pack_padded order": lambda m: rnn(m).pack_padded_sequence(m.ones(3, 2, 1), [2, 3]),
    "pack_padded 2-d": lambda m: rnn(m).pack_padded_sequence(m.ones(3, 2, 1), m.tensor([[3, 2]])),
    "pack_padded vector": lambda m: rnn(m).pack_padded_sequence(m.ones(3), [1, 1, 1]),
    "pack_padded nothing": lambda m: rnn(m).pack_padded_sequence(m.ones(3, 0, 1), []),
    "there and back": lambda m: rnn(m).pad_packed_sequence(rnn(m).pack_padded_sequence(data(m, 3, 2, 1), [3, 2])),
    "back unsorted": lambda m: rnn(m).pad_packed_sequence(rnn(m).pack_sequence(several(m, 1, 3, 2), False), True, 9, 5),
    "back shorter": lambda m: rnn(m).pad_packed_sequence(rnn(m).pack_padded_sequence(m.ones(3, 2), [2, 1])),
    "back too short": lambda m: rnn(m).pad_packed_sequence(rnn(m).pack_padded_sequence(m.ones(3, 2), [3, 1]),
                                                           total_length=2),
    "unpack": lambda m: rnn(m).unpack_sequence(rnn(m).pack_sequence(several(m, 1, 3, 2), False)),
    "invert": lambda m: [rnn(m).invert_permutation(m.tensor([2, 0, 1])), rnn(m).invert_permutation(None)],
    "made by hand": lambda m: rnn(m).PackedSequence(m.ones(3, 1), m.tensor([2, 1]), m.tensor([1, 0])),
    "of a pair": lambda m: rnn(m).PackedSequence((m.ones(3, 1), m.tensor([2, 1]))),
    "of one": lambda m: rnn(m).PackedSequence(m.ones(3, 1)),
    "fields": lambda m: [*packed(m)._fields, *map(type(packed(m)).__base__.__name__.__contains__, ["Packed"])],
    "print": lambda m: repr(rnn(m).pack_sequence([m.ones(2), m.ones(1)])),
    "converted": lambda m: [getattr(packed(m), name)().data.dtype for name in (
        "double", "float", "half", "long", "int", "short", "char", "byte", "cpu")],
    "itself": lambda m: [(p := packed(m)).double() is p, p.to("cpu") is p, p.float() is p, p.to(m.float64) is p],
    "cuda": lambda m: packed(m).is_cuda,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(torch, name):
    alike(torch, SEQUENCES[name])


def test_gradients_of_packing(torch):
    ends = []
    for lib in (torch, minigrad):
        x = data(lib, 4, 3, 2)
        there = lib.nn.utils.rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
        back, _ = lib.nn.utils.rnn.pad_packed_sequence(there, padding_value=3.0)
        (first,) = lib.autograd.grad((back * back * back).sum(), x, create_graph=True)
        ends.append([first, *lib.autograd.grad((first * first).sum(), x)])
        assert graph_of(there.data, [x])
    for theirs, ours in zip(*ends, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-12)
