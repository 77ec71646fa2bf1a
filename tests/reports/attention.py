"""Reports about attention: rows that may attend to nothing."""

from __future__ import annotations

from typing import Any

from tests.reports.report import Reports

reports = Reports()


def filled(m: Any, module: Any) -> Any:
    """The module with parameters that both libraries compute alike."""
    with m.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_(m.cos(m.arange(p.numel()) * 1.3 + i).reshape(p.shape) / 2)
    return module


@reports("pytorch/pytorch/issues/160064", "a head that is masked as a whole makes everything NaN if weights are wanted",
         still="with `need_weights` the plain softmax of -inf is taken, without it zeros")
def head_that_sees_nothing(m):
    attention = filled(m, m.nn.MultiheadAttention(3, 3, batch_first=True))
    x = m.sin(m.arange(15.0)).reshape(1, 5, 3)
    mask = m.tensor([False, False, True]).view(-1, 1, 1).expand(-1, 5, 5)
    return [attention(x, x, x, attn_mask=mask, average_attn_weights=False, need_weights=wanted)
            for wanted in (False, True)]


@reports("pytorch/pytorch/pull/189045", "and one row of padding spoils the gradients of the whole batch",
         still="the NaN of the masked row reaches the shared projections")
def gradients_beside_a_masked_row(m):
    found = []
    for wanted in (False, True):
        attention = filled(m, m.nn.MultiheadAttention(2, 1, batch_first=True))
        x = m.sin(m.arange(8.0)).reshape(2, 2, 2).requires_grad_()
        padding = m.tensor([[False, False], [True, True]])
        attention(x, x, x, key_padding_mask=padding, need_weights=wanted)[0][0].sum().backward()
        found.append([x.grad.isnan().any(), attention.in_proj_weight.grad.isnan().any()])
    return found


@reports("pytorch/pytorch/issues/152028", "masks and dropout together gave NaN, with weights only",
         still="as without dropout")
def masks_and_dropout(m):
    attention = filled(m, m.nn.MultiheadAttention(4, 2, dropout=0.5, bias=False, batch_first=True))
    query, key = m.sin(m.arange(12.0)).reshape(1, 3, 4), m.cos(m.arange(16.0)).reshape(1, 4, 4)
    mask = m.zeros(3, 4, dtype=m.bool)
    mask[0] = True
    found = []
    for wanted in (False, True):
        m.manual_seed(5)
        out, weights = attention(query, key, key, attn_mask=mask, need_weights=wanted)
        found.append([out.isnan().any(-1), None if weights is None else weights.isnan().any(-1)])
    return found


@reports("pytorch/pytorch/pull/190486", "the fast path of an encoder layer gives NaN where the other gives zeros",
         differs="minigrad has one path, and its rows are zeros in both modes, as this change proposes it")
def encoder_with_masked_rows(m):
    layer = filled(m, m.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, norm_first=True, dropout=0.0))
    x, found = m.sin(m.arange(24.0)).reshape(1, 6, 4), []
    ahead = m.ones(6, 6, dtype=m.bool).triu(1) | m.ones(6, 6, dtype=m.bool).tril(-2)
    padding = m.tensor([[False, False, False, True, True, True]])
    for training in (True, False):
        layer.train(training)
        with m.set_grad_enabled(training):
            found.append(layer(x, src_mask=ahead, src_key_padding_mask=padding).isnan().any(-1))
    return found


@reports("pytorch/pytorch/issues/163997", "rows of -inf came out as NaN in evaluation, and as zeros in training")
def rows_of_minus_infinity(m):
    q = m.sin(m.arange(12.0)).reshape(1, 1, 3, 4).requires_grad_()
    mask = m.zeros(3, 3)
    mask[2] = float("-inf")
    out = m.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    out.sum().backward()
    with m.no_grad():
        plain = m.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    boolean = m.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask == 0)
    return out, plain, boolean, q.grad
