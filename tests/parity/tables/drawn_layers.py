"""Lines of the table of ops with drawn shapes: what nn.functional has. See `drawn.py`."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.parity.compare import Input
from tests.parity.tables.drawn import a_dim, alike, given, matrices, one

few = st.integers(1, 2)


@st.composite
def batch(draw, *, dims=1, channels=few, least=1):
    """An input of a batch, channels and some dimensions."""
    return [Input((draw(few), draw(channels), *[draw(st.integers(least, 4)) for _ in range(dims)]))], ()


@st.composite
def convolved(draw, dims, turned=False):
    """An input, a kernel that fits and a bias; stride and padding."""
    n, c, o, k = (draw(few) for _ in range(4))
    image = (n, c, *[draw(st.integers(k, 4)) for _ in range(dims)])
    kernel = (c, o) if turned else (o, c)
    return draw(given(image, (*kernel, *[k] * dims), (o,))), (draw(few), draw(st.integers(0, k // 2)))


@st.composite
def windows(draw, dims):
    """An input, and a window that fits."""
    k = draw(few)
    return [Input((draw(few), draw(few), *[draw(st.integers(k, 4)) for _ in range(dims)]))], (k,)


@st.composite
def texts(draw):
    """Scores (T, N, C), letters, and lengths of both."""
    t, n, c, s = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(0, 2))
    letters = [[draw(st.integers(1, c - 1)) for _ in range(s)] for _ in range(n)]
    steps = [draw(st.integers(0, t)) for _ in range(n)]
    lengths = [draw(st.integers(0, s)) for _ in range(n)]
    return [Input((t, n, c))], (letters, steps, lengths)


@st.composite
def classes(draw):
    """Scores of some classes, and the class of each row."""
    n, c = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return [Input((n, c))], (draw(st.lists(st.integers(0, c - 1), min_size=n, max_size=n)),)


@st.composite
def looked_up(draw):
    """Rows, and numbers of rows."""
    n = draw(st.integers(1, 3))
    return [Input((n, draw(st.integers(1, 3))))], (draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=4)),)


halves = a_dim().map(lambda given: ([Input((2, *given[0][0].shape))], ()))
vectors = matrices("ij", "ij", least=1)
ELEMENTWISE = ("celu", "elu", "gelu", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "logsigmoid",
               "mish", "relu6", "selu", "silu", "softplus", "softshrink", "softsign", "tanhshrink")
IN_PLACE = ("celu_", "elu_", "hardtanh_", "leaky_relu_", "selu_")


def each_of(names, copy):
    """Lines of functions that take one tensor."""
    def line(name):
        return lambda m, a: getattr(m.nn.functional, name)(a.clone() if copy else a) * a

    return {name: (line(name), one) for name in names}


DRAWN = {
    **each_of(ELEMENTWISE, copy=False),
    **each_of(IN_PLACE, copy=True),
    "threshold": (lambda m, a: m.nn.functional.threshold(a, 0.1, 2.0) * a, one),
    "threshold_": (lambda m, a: m.nn.functional.threshold_(a.clone(), 0.1, 2.0) * a, one),
    "rrelu": (lambda m, a: m.nn.functional.rrelu(a) * a, one),
    "rrelu_": (lambda m, a: m.nn.functional.rrelu_(a.clone()) * a, one),
    "prelu": (lambda m, a, b: m.nn.functional.prelu(a, b), matrices("nc", "c", least=1)),
    "glu": (lambda m, a: m.nn.functional.glu(a, 0), halves),
    "softmax": (lambda m, a, dim: m.nn.functional.softmax(a, dim) * a, a_dim()),
    "log_softmax": (lambda m, a, dim: m.nn.functional.log_softmax(a, dim) * a, a_dim()),
    "softmin": (lambda m, a, dim: m.nn.functional.softmin(a, dim) * a, a_dim()),
    "normalize": (lambda m, a, dim: m.nn.functional.normalize(a, dim=dim), a_dim(least=1)),
    # losses
    "cross_entropy": (lambda m, a, t: m.nn.functional.cross_entropy(a, m.tensor(t)), classes()),
    "nll_loss": (lambda m, a, t: m.nn.functional.nll_loss(a.square(), m.tensor(t)), classes()),
    "multi_margin_loss": (lambda m, a, t: m.nn.functional.multi_margin_loss(a, m.tensor(t)), classes()),
    "binary_cross_entropy": (lambda m, a, b: m.nn.functional.binary_cross_entropy(a.sigmoid(), b.detach().sigmoid()),
                             alike()),
    "binary_cross_entropy_with_logits": (lambda m, a, b: m.nn.functional.binary_cross_entropy_with_logits(a, b),
                                         alike()),
    "huber_loss": (lambda m, a, b: m.nn.functional.huber_loss(a, b, delta=0.7), alike()),
    "smooth_l1_loss": (lambda m, a, b: m.nn.functional.smooth_l1_loss(a, b, reduction="sum"), alike()),
    "soft_margin_loss": (lambda m, a, b: m.nn.functional.soft_margin_loss(a, b.detach().sign()), alike()),
    "kl_div": (lambda m, a, b: m.nn.functional.kl_div(a, b.square(), reduction="sum"), alike()),
    "poisson_nll_loss": (lambda m, a, b: m.nn.functional.poisson_nll_loss(a, b), alike()),
    "gaussian_nll_loss": (lambda m, a, b: m.nn.functional.gaussian_nll_loss(a, b, a.square()), alike()),
    "hinge_embedding_loss": (lambda m, a, b: m.nn.functional.hinge_embedding_loss(a, b.detach().sign()), alike()),
    "margin_ranking_loss": (lambda m, a, b: m.nn.functional.margin_ranking_loss(a, b, a.detach().sign()), alike()),
    "multilabel_soft_margin_loss": (lambda m, a, b: m.nn.functional.multilabel_soft_margin_loss(a, b.sigmoid()),
                                    vectors),
    "cosine_similarity": (lambda m, a, b: m.nn.functional.cosine_similarity(a, b), vectors),
    "cosine_embedding_loss": (lambda m, a, b: m.nn.functional.cosine_embedding_loss(a, b, m.ones(len(a)).double()),
                              vectors),
    "pairwise_distance": (lambda m, a, b: m.nn.functional.pairwise_distance(a, b), vectors),
    "triplet_margin_loss": (lambda m, a, b: m.nn.functional.triplet_margin_loss(a, b, b * 2 + 1), vectors),
    "triplet_margin_with_distance_loss": (
        lambda m, a, b: m.nn.functional.triplet_margin_with_distance_loss(a, b, b * 2 + 1), vectors),
    # layers
    "layer_norm": (lambda m, a: m.nn.functional.layer_norm(a, a.shape[-1:]).square(), batch()),
    "rms_norm": (lambda m, a: m.nn.functional.rms_norm(a, a.shape[-1:]).square(), batch()),
    "group_norm": (lambda m, a: m.nn.functional.group_norm(a, 2).square(), batch(channels=st.just(4))),
    "instance_norm": (lambda m, a: m.nn.functional.instance_norm(a).square(), batch(least=2)),
    "batch_norm": (lambda m, a: m.nn.functional.batch_norm(a, None, None, training=True).square(), batch(least=2)),
    "embedding": (lambda m, a, rows: m.nn.functional.embedding(m.tensor(rows).long(), a).square(), looked_up()),
    "bilinear": (lambda m, a, b, c: m.nn.functional.bilinear(a, b, c), matrices("ni", "nj", "oij", least=1)),
    "scaled_dot_product_attention": (lambda m, a, b, c: m.nn.functional.scaled_dot_product_attention(a, b, c),
                                     matrices("bld", "bsd", "bsd", least=1)),
    "dropouts, asleep": (lambda m, a: [drop(a.square(), 0.5, False) for drop in (
        m.nn.functional.dropout, m.nn.functional.alpha_dropout, m.nn.functional.feature_alpha_dropout)], one),
    "dropouts of channels, asleep": (lambda m, a: [m.nn.functional.dropout1d(a, 0.5, False).square(),
                                                   m.nn.functional.dropout2d(a[..., None], 0.5, False).square(),
                                                   m.nn.functional.dropout3d(a[..., None, None], 0.5, False)], batch()),
    # windows
    "conv1d": (lambda m, a, b, c, s, p: m.nn.functional.conv1d(a, b, c, s, p), convolved(1)),
    "conv2d": (lambda m, a, b, c, s, p: m.nn.functional.conv2d(a, b, c, s, p), convolved(2)),
    "conv3d": (lambda m, a, b, c, s, p: m.nn.functional.conv3d(a, b, c, s, p), convolved(3)),
    "conv_transpose1d": (lambda m, a, b, c, s, p: m.nn.functional.conv_transpose1d(a, b, c, s, p), convolved(1, True)),
    "conv_transpose2d": (lambda m, a, b, c, s, p: m.nn.functional.conv_transpose2d(a, b, c, s, p), convolved(2, True)),
    "conv_transpose3d": (lambda m, a, b, c, s, p: m.nn.functional.conv_transpose3d(a, b, c, s, p), convolved(3, True)),
    "max_pool1d": (lambda m, a, k: m.nn.functional.max_pool1d(a, k).square(), windows(1)),
    "max_pool2d": (lambda m, a, k: m.nn.functional.max_pool2d(a, k).square(), windows(2)),
    "avg_pool1d": (lambda m, a, k: m.nn.functional.avg_pool1d(a, k).square(), windows(1)),
    "max_pool3d": (lambda m, a, k: m.max_pool3d(a[None], (1, k, k)).square(), windows(2)),
    "avg_pool3d": (lambda m, a, k: m.nn.functional.avg_pool3d(a[None], (1, k, k)).square(), windows(2)),
    "lp_pool1d, lp_pool2d, lp_pool3d": (lambda m, a, k: [
        m.nn.functional.lp_pool2d(a * a + 1, 3, k), m.nn.functional.lp_pool1d(a[0] * a[0] + 1, 2, k),
        m.nn.functional.lp_pool3d(a[None] * a[None] + 1, 2, (1, k, k))], windows(2)),
    "local_response_norm": (lambda m, a, k: m.nn.functional.local_response_norm(a, k, 0.1).square(), windows(2)),
    "max_unpool1d": (lambda m, a, k: m.nn.functional.max_unpool1d(
        *m.nn.functional.max_pool1d(a, k, return_indices=True), k).square(), windows(1)),
    "max_unpool3d": (lambda m, a, k: m.nn.functional.max_unpool3d(
        *m.nn.functional.max_pool3d(a, k, return_indices=True), k).square(), windows(3)),
    "affine_grid, grid_sample": (lambda m, a, k: m.nn.functional.grid_sample(
        a, m.nn.functional.affine_grid(a.new_tensor([[[0.71, 0.13, 0.1], [-0.29, 0.67, 0.2]]]).expand(len(a), 2, 3),
                                       (len(a), 1, k, 2), align_corners=False), align_corners=True), windows(2)),
    "embedding_bag": (lambda m, a, t: m.nn.functional.embedding_bag(m.tensor(t)[None], a, mode="sum"), classes()),
    "multilabel_margin_loss": (lambda m, a, t: m.nn.functional.multilabel_margin_loss(a, m.zeros_like(
        a, dtype=m.int64)), classes()),
    "max_unpool2d": (lambda m, a, k: m.nn.functional.max_unpool2d(
        *m.nn.functional.max_pool2d(a, k, return_indices=True), k).square(), windows(2)),
    "avg_pool2d": (lambda m, a, k: m.nn.functional.avg_pool2d(a, k).square(), windows(2)),
    "adaptive_avg_pool1d": (lambda m, a, k: m.nn.functional.adaptive_avg_pool1d(a, k).square(), windows(1)),
    "adaptive_avg_pool2d": (lambda m, a, k: m.nn.functional.adaptive_avg_pool2d(a, k).square(), windows(2)),
    "adaptive_avg_pool3d": (lambda m, a, k: m.nn.functional.adaptive_avg_pool3d(a, k).square(), windows(3)),
    "interpolate": (lambda m, a, k: m.nn.functional.interpolate(a, scale_factor=k + 1).square(), windows(2)),
    "interpolate, bilinear": (lambda m, a, k: m.nn.functional.interpolate(a, size=k + 1, mode="bilinear").square(),
                              windows(2)),
    "unfold and fold": (lambda m, a, k: m.nn.functional.fold(m.nn.functional.unfold(a, k).square(), a.shape[2:], k),
                        windows(2)),
    "pad": (lambda m, a, k: m.nn.functional.pad(a, (k, 1), value=2.0).square(), windows(1)),
    "pad, reflect": (lambda m, a, k: m.nn.functional.pad(a, (1, 1), "reflect").square(), batch(least=2).map(
        lambda given: (given[0], (1,)))),
    "pixel_shuffle": (lambda m, a: m.nn.functional.pixel_shuffle(a, 2).square(), batch(dims=2, channels=st.just(4))),
    "pixel_unshuffle": (lambda m, a: m.nn.functional.pixel_unshuffle(a.repeat(1, 1, 2, 2), 2).square(), batch(dims=2)),
    "channel_shuffle": (lambda m, a: m.nn.functional.channel_shuffle(a, 2).square(),
                        batch(dims=2, channels=st.just(4))),
    "adaptive_max_pool1d": (lambda m, a, k: m.nn.functional.adaptive_max_pool1d(a, k).square(), windows(1)),
    "adaptive_max_pool1d_with_indices": (
        lambda m, a, k: m.nn.functional.adaptive_max_pool1d_with_indices(a, k)[0].square(), windows(1)),
    "adaptive_max_pool2d": (lambda m, a, k: m.nn.functional.adaptive_max_pool2d(a, k).square(), windows(2)),
    "adaptive_max_pool2d_with_indices": (
        lambda m, a, k: m.nn.functional.adaptive_max_pool2d_with_indices(a, k)[0].square(), windows(2)),
    "adaptive_max_pool3d": (lambda m, a, k: m.nn.functional.adaptive_max_pool3d(a, k).square(), windows(3)),
    "adaptive_max_pool3d_with_indices": (
        lambda m, a, k: m.nn.functional.adaptive_max_pool3d_with_indices(a, k)[0].square(), windows(3)),
    "ctc_loss": (lambda m, a, letters, steps, lengths: m.nn.functional.ctc_loss(
        a.log_softmax(2), m.tensor(letters, dtype=m.int64).reshape(a.shape[1], -1), tuple(steps), tuple(lengths),
        reduction="sum", zero_infinity=True), texts()),
}
DISTINCT = {
    **dict.fromkeys(("max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool3d", "multi_margin_loss",
                     "multilabel_margin_loss", "max_unpool2d"),
                    "any of equal values may be the one that is taken"),
    **dict.fromkeys(("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"),
                    "among equal elements the first is taken, in the order of memory"),
}
MISMATCHED = {
    "multilabel_margin_loss": (lambda a, t: a.shape[:1] == (0,), "PyTorch's mean over no samples is not initialised"),
}
