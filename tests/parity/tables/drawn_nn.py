"""Lines with drawn shapes for nn.functional: see `drawn.py`."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.parity.compare import Input
from tests.parity.tables.drawn import a_dim, given, matrices, one


@st.composite
def pictures(draw, dims, least=1, most=4, batch=True):
    """(N, C, …) with so many dimensions behind the channels."""
    lead = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))[not batch:]
    return [Input((*lead, *[draw(st.integers(least, most)) for _ in range(dims)]))], ()


@st.composite
def channelled(draw, dims=1, parts=2):
    """(N, C, …), and weights for each channel."""
    shape = (2, draw(st.sampled_from((2, 4))), *[draw(st.integers(1, 3)) for _ in range(dims)])
    return draw(given(shape, *[shape[1:2]] * parts)), ()


@st.composite
def classed(draw):
    """Rows of scores, and a class for each."""
    n, c = draw(st.integers(1, 3)), draw(st.integers(2, 4))
    return [Input((n, c))], ([draw(st.integers(0, c - 1)) for _ in range(n)],)


def F(m):
    """The functions; after a seed that makes both libraries draw the same numbers."""
    m.manual_seed(3)
    return m.nn.functional


rows = matrices("ij", "ij", least=1)
DRAWN = {
    # activations
    "gelu tanh": (lambda m, a: F(m).gelu(a, approximate="tanh"), one),
    "gumbel_softmax": (lambda m, a, dim: F(m).gumbel_softmax(a, dim=dim), a_dim(least=1)),
    # losses
    "nll_loss of pictures": (
        lambda m, a, t: F(m).nll_loss(a.square().contiguous()[:, :, None, None], m.tensor(t)[:, None, None]),
        classed()),
    "cross_entropy of probabilities": (lambda m, a, b: F(m).cross_entropy(a, b), rows),
    # padding, pools, interpolation
    "pad, reflect 1": (lambda m, a: F(m).pad(a, (1, 1), "reflect").square(), pictures(1, 2)),
    "pad, reflect 2": (lambda m, a: F(m).pad(a, (1, 1, 0, 1), "reflect").square(), pictures(2, 2)),
    "pad, reflect 3": (lambda m, a: F(m).pad(a, (1, 1, 0, 1, 1, 0), "reflect").square(), pictures(3, 2)),
    "pad, replicate 1": (lambda m, a: F(m).pad(a, (1, 2), "replicate").square(), pictures(1)),
    "pad, replicate 2": (lambda m, a: F(m).pad(a, (1, 2, 0, 1), "replicate").square(), pictures(2)),
    "pad, replicate 3": (lambda m, a: F(m).pad(a, (1, 1, 0, 1, 1, 0), "replicate").square(), pictures(3)),
    "pad, circular": (lambda m, a: F(m).pad(a, (1, 0), "circular").square(), pictures(1)),
    "interpolate, nearest 1": (lambda m, a: F(m).interpolate(a, 5).square(), pictures(1)),
    "interpolate, nearest 2": (lambda m, a: F(m).interpolate(a, 5).square(), pictures(2)),
    "interpolate, nearest 3": (lambda m, a: F(m).interpolate(a, 3).square(), pictures(3)),
    "interpolate, exact 1": (lambda m, a: F(m).interpolate(a, 5, mode="nearest-exact").square(), pictures(1)),
    "interpolate, exact 2": (lambda m, a: F(m).interpolate(a, 5, mode="nearest-exact").square(), pictures(2)),
    "interpolate, exact 3": (lambda m, a: F(m).interpolate(a, 3, mode="nearest-exact").square(), pictures(3)),
    "interpolate, linear": (lambda m, a: F(m).interpolate(a, 5, mode="linear").square(), pictures(1)),
    "interpolate, trilinear": (lambda m, a: F(m).interpolate(a, 3, mode="trilinear").square(), pictures(3)),
    "interpolate, bicubic": (lambda m, a: F(m).interpolate(a, 3, mode="bicubic").square(), pictures(2)),
    # norms
    "batch_norm, given": (lambda m, a, w, b: F(m).batch_norm(
        a, (c := w * 1).detach(), c.detach().exp(), c, b), channelled()),  # with gaps PyTorch's derivative reads beyond
    # tables, products, dropout, windows, attention
    "dropout": (lambda m, a: F(m).dropout(a).square(), one),
    "dropout1d": (lambda m, a: F(m).dropout1d(a).square(), pictures(1)),
    "dropout2d": (lambda m, a: F(m).dropout2d(a).square(), pictures(2)),
    "dropout3d": (lambda m, a: F(m).dropout3d(a).square(), pictures(3)),
    "alpha_dropout": (lambda m, a: F(m).alpha_dropout(a, training=True).square(), one),
    "feature_alpha_dropout": (lambda m, a: F(m).feature_alpha_dropout(a, training=True).square(), pictures(1)),
    "unfold, pictures": (lambda m, a: F(m).unfold(a, 2, 1, 1).square(), pictures(2)),
    "fold": (lambda m, a: F(m).fold(F(m).unfold(a.square(), 2, 1, 1), tuple(a.shape[2:]), 2, 1, 1).square(),
             pictures(2)),
}
