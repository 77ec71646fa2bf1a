"""Transformers: weights by seed, outputs, gradients, graphs, masks, dropout, padding, errors, print."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.nn.modules import losses, same_training
from tests.parity.nn.test_attention import bools, compare
from tests.parity.nn.test_rnn import built, data

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:enable_nested_tensor is True"),
              pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")]


def encoder_layer(nn, **options):
    """A layer of 4 features and 2 heads; without dropout."""
    return nn.TransformerEncoderLayer(4, 2, 6, **{"dropout": 0.0, **options})


def decoder_layer(nn, **options):
    """The same of a decoder."""
    return nn.TransformerDecoderLayer(4, 2, 6, **{"dropout": 0.0, **options})


ENCODERS = {
    "layer": lambda nn: encoder_layer(nn),
    "layer batch_first": lambda nn: encoder_layer(nn, batch_first=True),
    "layer norm_first": lambda nn: encoder_layer(nn, norm_first=True, layer_norm_eps=1e-3),
    "layer gelu": lambda nn: encoder_layer(nn, activation="gelu", bias=False),
    "layer module": lambda nn: encoder_layer(nn, activation=nn.Tanh()),
    "encoder": lambda nn: nn.TransformerEncoder(encoder_layer(nn), 2),
    "encoder norm": lambda nn: nn.TransformerEncoder(encoder_layer(nn, batch_first=True, norm_first=True), 2,
                                                     nn.LayerNorm(4)),
}
DECODERS = {
    "layer": lambda nn: decoder_layer(nn),
    "layer batch_first": lambda nn: decoder_layer(nn, batch_first=True, activation="gelu"),
    "layer norm_first": lambda nn: decoder_layer(nn, norm_first=True, bias=False),
    "decoder": lambda nn: nn.TransformerDecoder(decoder_layer(nn), 2),
    "decoder norm": lambda nn: nn.TransformerDecoder(decoder_layer(nn, batch_first=True), 2, nn.LayerNorm(4)),
    "transformer": lambda nn: nn.Transformer(4, 2, 1, 2, 6, 0.0),
    "transformer batch_first": lambda nn: nn.Transformer(4, 2, 2, 1, 6, 0.0, "gelu", batch_first=True, norm_first=True),
}


def first(module):
    """Whether the batch comes first."""
    return any(getattr(m, "batch_first", False) for m in module.modules())


def sequences(lib, module, length, seed=0):
    """A batch of two sequences."""
    return data(lib, *((2, length) if first(module) else (length, 2)), 4, seed=seed)


@pytest.mark.parametrize("name", [*(f"E {n}" for n in ENCODERS), *(f"D {n}" for n in DECODERS)])
def test_same_seed_same_weights(torch, name):
    make = (ENCODERS if name[0] == "E" else DECODERS)[name[2:]]
    theirs, ours = (built(lib, make, "float32") for lib in (torch, minigrad))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, weight in theirs.state_dict().items():
        assert ours.state_dict()[key].numpy().tobytes() == weight.numpy().tobytes()
    assert minigrad.rand(1).item() == torch.rand(1).item()
    assert repr(ours) == repr(theirs)


PADDING = [0, 0, 0, 1], [0, 0, 1, 1]
SRC = {
    "plain": lambda lib: {},
    "causal": lambda lib: {"mask": lib.nn.Transformer.generate_square_subsequent_mask(4, dtype=lib.float64)},
    "told": lambda lib: {"mask": lib.nn.Transformer.generate_square_subsequent_mask(4), "is_causal": True},
    "bools": lambda lib: {"mask": bools(lib, [0, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0])},
    "padding": lambda lib: {"src_key_padding_mask": bools(lib, *PADDING)},
    "both": lambda lib: {"mask": bools(lib, [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0]),
                         "src_key_padding_mask": bools(lib, *PADDING)},
}


@pytest.mark.parametrize("mask", SRC)
@pytest.mark.parametrize("name", ENCODERS)
def test_encoder(torch, name, mask):
    def call(lib, m):
        options = SRC[mask](lib)
        if name.startswith("layer") and "mask" in options:
            options["src_mask"] = options.pop("mask")
        return (sequences(lib, m, 4),), options

    compare(torch, ENCODERS[name], call)


TGT = {
    "plain": lambda lib, a: {},
    "causal": lambda lib, a: {"tgt_mask": lib.nn.Transformer.generate_square_subsequent_mask(3, dtype=lib.float64)},
    "told": lambda lib, a: {"tgt_mask": lib.nn.Transformer.generate_square_subsequent_mask(3), "tgt_is_causal": True},
    "all": lambda lib, a: {"tgt_mask": bools(lib, [0, 1, 1], [0, 0, 1], [0, 0, 0]),
                           "memory_mask": bools(lib, [0, 1, 0, 1], [0, 0, 1, 0], [1, 0, 0, 1]),
                           "tgt_key_padding_mask": bools(lib, [0, 0, 1], [0, 0, 0]),
                           "memory_key_padding_mask": bools(lib, *PADDING),
                           **({"src_mask": bools(lib, *[[0, 1, 0, 0]] * 4),
                               "src_key_padding_mask": bools(lib, *PADDING)} if a else {})},
}


@pytest.mark.parametrize("mask", TGT)
@pytest.mark.parametrize("name", DECODERS)
def test_decoder(torch, name, mask):
    def call(lib, m):
        pair = sequences(lib, m, 3), sequences(lib, m, 4, seed=1)
        whole = name.startswith("transformer")
        return pair[::-1] if whole else pair, TGT[mask](lib, whole)

    compare(torch, DECODERS[name], call)


def test_without_batch(torch):
    compare(torch, ENCODERS["encoder"], lambda lib, m: ((data(lib, 3, 4),), {}))
    compare(torch, ENCODERS["encoder norm"], lambda lib, m: ((data(lib, 3, 4),), {}))
    compare(torch, DECODERS["transformer batch_first"], lambda lib, m: ((data(lib, 3, 4), data(lib, 5, 4)), {}))


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("mask", [*SRC, "padding before"])
def test_evaluated_without_gradients(torch, mask, norm):
    """There PyTorch leaves padding out: it gives zeros for it."""
    ends = []
    for lib in (torch, minigrad):
        encoder = built(lib, lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(4, 2, 6, batch_first=True), 2, nn.LayerNorm(4) if norm else None), "float64")
        options = {"src_key_padding_mask": bools(lib, [1, 0, 0, 1], [1, 1, 0, 0])} if mask == "padding before" else (
            SRC[mask](lib))
        with lib.no_grad():
            for p in encoder.parameters():
                p += 0.1
            x = data(lib, 2, 4, 4, grad=False)
            ends.append([encoder.eval()(x, **options).numpy()])
        ends[-1].append(encoder(x, **options).detach().numpy())
    for theirs, ours in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("norm_first", [True, False])
def test_training_with_dropout(torch, norm_first):
    """Dropout draws as in PyTorch: in attention, between the linear layers, after each step."""
    def train(lib):
        lib.manual_seed(5)
        model = lib.nn.Transformer(4, 2, 1, 1, 8, dropout=0.2, batch_first=True, norm_first=norm_first)
        src, tgt = data(lib, 2, 5, 4, dtype="float32"), data(lib, 2, 3, 4, dtype="float32", seed=1)
        causal = lib.nn.Transformer.generate_square_subsequent_mask(3)
        return losses(lib, model, lambda: (model(src, tgt, tgt_mask=causal) - tgt).square().mean(), steps=10, rate=0.1)

    same_training(torch, train)


def layer(m, **options):
    """A layer of 4 features."""
    return m.nn.TransformerEncoderLayer(4, 2, 6, **options)


def whole(m, src, tgt, **options):
    """A transformer, called."""
    return m.nn.Transformer(4, 2, 1, 1, 6, **options)(m.ones(*src), m.ones(*tgt))


def several(m, **options):
    """An encoder of such layers."""
    return repr(m.nn.TransformerEncoder(layer(m, **options), 1))


TEXTS = {
    "mask": lambda m: m.nn.Transformer.generate_square_subsequent_mask(3),
    "mask float64": lambda m: m.nn.Transformer.generate_square_subsequent_mask(2, dtype=m.float64),
    "mask of nothing": lambda m: m.nn.Transformer.generate_square_subsequent_mask(0),
    "activation": lambda m: layer(m, activation="foo"),
    "heads": lambda m: m.nn.TransformerEncoderLayer(4, 3),
    "causal without mask": lambda m: layer(m)(m.ones(3, 1, 4), is_causal=True),
    "mask of integers": lambda m: layer(m)(m.ones(3, 1, 4), m.ones(3, 3, dtype=m.int64)),
    "masks of two kinds": lambda m: list(layer(m)(m.ones(3, 1, 4), m.zeros(3, 3), m.zeros(1, 3) > 0).shape),
    "encoder, masks of two kinds": lambda m: list(m.nn.TransformerEncoder(layer(m, batch_first=True), 1)(
        m.ones(1, 3, 4), m.zeros(3, 3), m.zeros(1, 3) > 0).shape),
    "encoder, mask of integers": lambda m: m.nn.TransformerEncoder(layer(m, batch_first=True), 1)(
        m.ones(1, 3, 4), m.ones(3, 3, dtype=m.int64)),
    "1-d": lambda m: layer(m)(m.ones(4)),
    "4-d": lambda m: layer(m)(m.ones(1, 1, 1, 4)),
    "batches": lambda m: whole(m, (3, 2, 4), (3, 1, 4)),
    "batches first": lambda m: whole(m, (2, 3, 4), (1, 3, 4), batch_first=True),
    "features": lambda m: whole(m, (3, 2, 5), (3, 2, 5)),
    "features of one": lambda m: whole(m, (3, 2, 4), (3, 2, 5)),
    "one without batch": lambda m: whole(m, (3, 4), (3, 2, 4)),
    "nested": lambda m: several(m, batch_first=True),
    "not nested: time first": lambda m: several(m),
    "not nested: norm_first": lambda m: several(m, norm_first=True),
    "not nested: bias": lambda m: several(m, batch_first=True, bias=False),
    "not nested: activation": lambda m: several(m, batch_first=True, activation=m.tanh),
    "not nested: bias and activation": lambda m: several(m, batch_first=True, bias=False, activation=m.tanh),
    "not nested: heads": lambda m: repr(m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(
        3, 3, 6, batch_first=True), 1)),
    "not nested: heads and activation": lambda m: repr(m.nn.TransformerEncoder(m.nn.TransformerEncoderLayer(
        3, 3, 6, batch_first=True, activation=m.tanh), 1)),
    "not nested: another module": lambda m: repr(m.nn.TransformerEncoder(m.nn.Linear(2, 2), 1)),
    "not nested: eps": lambda m: changed(m),
    "not asked for": lambda m: repr(m.nn.TransformerEncoder(layer(m), 1, enable_nested_tensor=False)),
    "attributes": lambda m: [(e := m.nn.TransformerEncoder(layer(m, batch_first=True), 2)).num_layers, e.norm,
                             e.use_nested_tensor, e.enable_nested_tensor, e.mask_check,
                             e.layers[0].activation_relu_or_gelu, e.layers[0].norm_first],
    "relu or gelu": lambda m: [layer(m, activation=a).activation_relu_or_gelu for a in (
        "relu", "gelu", m.nn.functional.relu, m.nn.functional.gelu, m.nn.ReLU(), m.nn.GELU(), m.nn.functional.tanh)],
    "own encoder": lambda m: repr(m.nn.Transformer(4, 2, custom_encoder=m.nn.Identity(), num_decoder_layers=1)),
    "defaults": lambda m: repr(m.nn.TransformerDecoderLayer(4, 1)),
}


def changed(m):
    """An encoder of a layer whose norms differ."""
    own = layer(m, batch_first=True)
    own.norm2.eps = 0.1
    return repr(m.nn.TransformerEncoder(own, 1))


@pytest.mark.parametrize("name", TEXTS)
def test_text(torch, name):
    alike(torch, TEXTS[name])
