"""MultiheadAttention: weights by seed, outputs, weights of attention, gradients, graphs, errors, print."""

from __future__ import annotations

import numpy as np
import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.compare import graph_of
from tests.parity.nn.test_rnn import built, data, flat

pytestmark = pytest.mark.torch

LAYERS = {
    "plain": lambda nn: nn.MultiheadAttention(4, 2),
    "one head": lambda nn: nn.MultiheadAttention(4, 1, bias=False),
    "batch_first": lambda nn: nn.MultiheadAttention(4, 2, batch_first=True),
    "bias_kv": lambda nn: nn.MultiheadAttention(4, 2, add_bias_kv=True),
    "zero_attn": lambda nn: nn.MultiheadAttention(4, 2, add_zero_attn=True, batch_first=True),
    "both": lambda nn: nn.MultiheadAttention(4, 4, add_bias_kv=True, add_zero_attn=True, bias=False),
    "kdim": lambda nn: nn.MultiheadAttention(4, 2, kdim=3, vdim=5),
    "vdim": lambda nn: nn.MultiheadAttention(4, 2, vdim=5, add_bias_kv=True, bias=False, batch_first=True),
}


def inputs(lib, module, same=False, batch=2):
    """Queries, keys and values for a layer."""
    lead = {None: lambda n: (n,), 2: lambda n: (2, n) if module.batch_first else (n, 2)}[batch]
    q = data(lib, *lead(3), 4)
    if same:
        return q, q, q
    return q, data(lib, *lead(5), module.kdim, seed=1), data(lib, *lead(5), module.vdim, seed=2)


def compare(torch, make, call, graphs=True):
    """`call` of a layer under both libraries: results, gradients of all leaves, and the graphs unless they differ."""
    ends = []
    for lib in (torch, minigrad):
        module = built(lib, make, "float64")
        given, options = call(lib, module)
        out = flat(module(*given, **options))
        leaves = list(dict.fromkeys([t for t in (*given, *options.values())
                                     if hasattr(t, "grad_fn") and t.requires_grad])) + list(module.parameters())
        grads = lib.autograd.grad(sum((t.sin() * t).sum() for t in out), leaves, allow_unused=True)
        ends.append([out, grads, [graph_of(t, leaves) for t in out] if graphs else None])
    (theirs, grads, graph), (ours, grads_here, graph_here) = ends
    for a, b in zip((*theirs, *grads), (*ours, *grads_here), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=1e-11, atol=1e-12)
    assert graph_here == graph


@pytest.mark.parametrize("name", LAYERS)
def test_same_seed_same_weights(torch, name):
    theirs, ours = (built(lib, LAYERS[name], "float32") for lib in (torch, minigrad))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, weight in theirs.state_dict().items():
        if key in ("bias_k", "bias_v"):  # normal: rounding
            np.testing.assert_allclose(ours.state_dict()[key].numpy(), weight.numpy(), rtol=1e-6)
        else:
            assert ours.state_dict()[key].numpy().tobytes() == weight.numpy().tobytes()
    assert minigrad.rand(1).item() == torch.rand(1).item()
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layer(torch, name, need_weights):
    compare(torch, LAYERS[name], lambda lib, m: (inputs(lib, m), {"need_weights": need_weights}))
    compare(torch, LAYERS[name], lambda lib, m: (inputs(lib, m, batch=None), {"need_weights": need_weights}))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", [n for n in LAYERS if "dim" not in n])
def test_of_one_tensor(torch, name, need_weights):
    compare(torch, LAYERS[name], lambda lib, m: (inputs(lib, m, True), {"need_weights": need_weights}))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_of_two_tensors(torch, batch_first, need_weights):
    def call(lib, m):
        q, k, _ = inputs(lib, m)
        return (q, k, k), {"need_weights": need_weights, "average_attn_weights": False}

    compare(torch, lambda nn: nn.MultiheadAttention(4, 2, batch_first=batch_first), call)


def bools(lib, *rows):
    """A mask of bools."""
    return lib.tensor(rows) > 0


MASKS = {
    "padding": lambda lib: {"key_padding_mask": bools(lib, [0, 0, 1, 0, 1], [0, 1, 0, 0, 0])},
    "padding numbers": lambda lib: {"key_padding_mask": data(lib, 2, 5, seed=5)},
    "bools": lambda lib: {"attn_mask": bools(lib, [0, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1])},
    "numbers": lambda lib: {"attn_mask": data(lib, 3, 5, seed=6)},
    "each head": lambda lib: {"attn_mask": data(lib, 4, 3, 5, seed=7)},
    "both": lambda lib: {"attn_mask": data(lib, 3, 5, seed=8), "key_padding_mask": data(lib, 2, 5, seed=9)},
    "both bools": lambda lib: {"attn_mask": bools(lib, [0, 1, 0, 0, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]),
                               "key_padding_mask": bools(lib, [0, 0, 0, 0, 1], [0, 0, 1, 1, 0])},
    "causal": lambda lib: {"attn_mask": bools(lib, [0, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 1, 1]),
                           "is_causal": True},
}


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("name", ["plain", "batch_first", "both", "vdim"])
@pytest.mark.parametrize("mask", MASKS)
def test_masks(torch, mask, name, need_weights):
    def call(lib, m):
        options = MASKS[mask](lib)
        if mask == "each head":
            options["attn_mask"] = data(lib, 2 * m.num_heads, 3, 5, seed=7)
        return inputs(lib, m), options | {"need_weights": need_weights}

    if name == "both" and mask == "causal" and not need_weights:  # one more column than the mask is for: as is_causal
        name = "plain"
    # a mask that is learned is not for the one op of attention; PyTorch puts the others together in another way
    compare(torch, LAYERS[name], call, need_weights or mask in ("padding", "bools", "both bools", "causal"))


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_draws_as_in_pytorch(torch, need_weights):
    ends = []
    for lib in (torch, minigrad):
        module = built(lib, lambda nn: nn.MultiheadAttention(4, 2, dropout=0.4), "float64")
        x = data(lib, 6, 2, 4)
        ends.append([t.detach().numpy() for call in (module, module, module.eval())
                     for t in flat(call(x, x, x, need_weights=need_weights))])
    for theirs, ours in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


def test_evaluated_without_gradients(torch):
    """There PyTorch takes another way, to the same values."""
    for name in ("plain", "batch_first"):
        for mask in ("none", "padding", "both bools"):
            ends = []
            for lib in (torch, minigrad):
                module = built(lib, LAYERS[name], "float64").eval()
                options = {} if mask == "none" else MASKS["padding"](lib)
                x = data(lib, 2, 5, 4) if module.batch_first else data(lib, 5, 2, 4)
                with lib.no_grad():
                    ends.append([t.numpy() for t in module(x, x, x, **options)])
            for theirs, ours in zip(*ends, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12)


def attention(m, *args, **options):
    """A layer of 4 features and 2 heads, called."""
    return m.nn.MultiheadAttention(4, 2)(*[m.ones(*shape) for shape in args], **options)


def function(m, *shapes, heads=2, size=4, **options):
    """`F.multi_head_attention_forward`."""
    given = [m.ones(*shape) for shape in shapes]
    options = {"in_proj_weight": m.ones(12, 4), "in_proj_bias": None, "bias_k": None, "bias_v": None,
               "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": m.ones(4, 4), "out_proj_bias": None,
               **options}
    return m.nn.functional.multi_head_attention_forward(*given, size, heads, **options)


ROWS = (3, 1, 4)
TEXTS = {
    "embed_dim 0": lambda m: m.nn.MultiheadAttention(0, 1),
    "num_heads 0": lambda m: m.nn.MultiheadAttention(4, 0),
    "not divisible": lambda m: m.nn.MultiheadAttention(4, 3),
    "query 1-d": lambda m: attention(m, (4,), (4,), (4,)),
    "query 4-d": lambda m: attention(m, (1, 1, 1, 4), (1, 1, 4), (1, 1, 4)),
    "key 2-d": lambda m: attention(m, ROWS, (3, 4), (3, 4)),
    "key 3-d": lambda m: attention(m, (3, 4), ROWS, ROWS),
    "key and value": lambda m: attention(m, ROWS, (5, 1, 4), (4, 1, 4)),
    "features": lambda m: attention(m, (3, 1, 5), (3, 1, 5), (3, 1, 5)),
    "padding 1-d": lambda m: attention(m, ROWS, ROWS, ROWS, key_padding_mask=m.ones(3) > 0),
    "padding 2-d": lambda m: attention(m, (3, 4), (3, 4), (3, 4), key_padding_mask=m.ones(1, 3) > 0),
    "padding batch": lambda m: attention(m, ROWS, ROWS, ROWS, key_padding_mask=m.ones(2, 3) > 0),
    "padding size": lambda m: attention(m, ROWS, ROWS, ROWS, key_padding_mask=m.ones(1, 4) > 0),
    "mask 1-d": lambda m: attention(m, ROWS, ROWS, ROWS, attn_mask=m.ones(3) > 0),
    "mask 1-d, no batch": lambda m: attention(m, (3, 4), (3, 4), (3, 4), attn_mask=m.ones(3) > 0),
    "mask size": lambda m: attention(m, ROWS, ROWS, ROWS, attn_mask=m.ones(3, 4)),
    "mask 3-d": lambda m: attention(m, ROWS, ROWS, ROWS, attn_mask=m.ones(1, 3, 3)),
    "mask 3-d, no batch": lambda m: attention(m, (3, 4), (3, 4), (3, 4), attn_mask=m.ones(1, 3, 3)),
    "mask of integers": lambda m: attention(m, ROWS, ROWS, ROWS, attn_mask=m.ones(3, 3, dtype=m.int64)),
    "padding of integers": lambda m: attention(m, ROWS, ROWS, ROWS, key_padding_mask=m.ones(1, 3, dtype=m.int64)),
    "masks of two kinds": lambda m: [t.shape[0] for t in attention(
        m, ROWS, ROWS, ROWS, attn_mask=m.zeros(3, 3), key_padding_mask=m.ones(1, 3) > 2)],
    "causal without mask": lambda m: attention(m, ROWS, ROWS, ROWS, is_causal=True),
    "float64": lambda m: m.nn.MultiheadAttention(4, 2)(*[m.ones(3, 1, 4, dtype=m.float64)] * 3),
    "function": lambda m: function(m, ROWS, ROWS, ROWS),
    "function, sizes": lambda m: function(m, ROWS, ROWS, ROWS, size=5),
    "function, heads": lambda m: function(m, ROWS, ROWS, ROWS, heads=3),
    "function, no weight": lambda m: function(m, ROWS, ROWS, ROWS, in_proj_weight=None),
    "function, separate": lambda m: function(m, ROWS, ROWS, ROWS, use_separate_proj_weight=True),
    "function, no k": lambda m: function(m, ROWS, ROWS, ROWS, use_separate_proj_weight=True,
                                         q_proj_weight=m.ones(4, 4)),
    "function, key": lambda m: function(m, ROWS, (2, 1, 4), ROWS, use_separate_proj_weight=True),
    "function, q": lambda m: function(m, ROWS, ROWS, ROWS, use_separate_proj_weight=True, q_proj_weight=m.ones(4, 3),
                                      k_proj_weight=m.ones(4, 4), v_proj_weight=m.ones(4, 4)),
    "function, bias": lambda m: function(m, ROWS, ROWS, ROWS, use_separate_proj_weight=True, q_proj_weight=m.ones(4, 4),
                                         k_proj_weight=m.ones(4, 4), v_proj_weight=m.ones(4, 4),
                                         in_proj_bias=m.ones(9)),
    "function, static": lambda m: function(m, ROWS, ROWS, ROWS, static_k=m.ones(2, 5, 2), static_v=m.ones(2, 5, 2)),
    "function, static size": lambda m: function(m, ROWS, ROWS, ROWS, static_k=m.ones(3, 5, 2)),
    "function, static features": lambda m: function(m, ROWS, ROWS, ROWS, static_v=m.ones(2, 5, 3)),
    "function, bias_k": lambda m: function(m, ROWS, ROWS, ROWS, bias_k=m.ones(1, 1, 4)),
    "function, bias_v": lambda m: function(m, ROWS, ROWS, ROWS, bias_v=m.ones(1, 1, 4)),
    "function, bias and static": lambda m: function(m, ROWS, ROWS, ROWS, bias_k=m.ones(1, 1, 4),
                                                    bias_v=m.ones(1, 1, 4), static_k=m.ones(2, 5, 2)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(torch, name):
    alike(torch, TEXTS[name])


@pytest.mark.parametrize("dropout_p", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("dims", [3, 4])
@pytest.mark.parametrize("mask", [[[True, True], [True, False]], [[0.5, 1.0], [2.0, 3.0]]])
def test_a_mask_and_a_causal_one(torch, mask, dims, dropout_p):
    """PyTorch's kernel takes both; what has none, because of its dimensions or the dropout, takes one."""
    def program(m):
        x = m.arange(4.0).view(*[1] * (dims - 2), 2, 2)
        call = m.nn.functional.scaled_dot_product_attention
        return call(x, x, x, attn_mask=m.tensor(mask), is_causal=True, dropout_p=dropout_p)

    alike(torch, program)
