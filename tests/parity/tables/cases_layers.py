"""Lines of the table of ops for convolutions, pools, norms and what else layers are made of: see `cases.py`."""

from __future__ import annotations

from tests.parity.compare import Input, frozen, leaf

CASES = {
    # convolutions
    "conv1d": (lambda m, a, w: m.conv1d(a, w), [leaf(2, 2, 5), leaf(3, 2, 3)]),
    "conv1d without batch": (lambda m, a, w, b: m.nn.functional.conv1d(a, w, b), [leaf(2, 5), leaf(3, 2, 3), leaf(3)]),
    "conv1d all": (lambda m, a, w, b: m.nn.functional.conv1d(a, w, b, 2, 1, 2, 2),
                   [leaf(2, 4, 7), leaf(2, 2, 2), leaf(2)]),
    "conv1d same": (lambda m, a, w: m.conv1d(a, w, padding="same"), [leaf(1, 2, 5), leaf(3, 2, 3)]),
    "conv1d by data": (lambda m, a, w, b: m.conv1d(a, w, b), [leaf(1, 2, 5), frozen(3, 2, 3), frozen(3)]),
    "conv1d of data": (lambda m, a, w, b: m.conv1d(a, w, b), [frozen(1, 2, 5), leaf(3, 2, 3), leaf(3)]),
    "conv2d": (lambda m, a, w, b: m.conv2d(a, w, b), [leaf(2, 2, 4, 4), leaf(3, 2, 3, 3), leaf(3)]),
    "conv2d wide": (lambda m, a, w, b: m.conv2d(a, w, b, padding=1), [leaf(1, 1, 3, 3), leaf(3, 1, 2, 2), leaf(3)]),
    "conv2d 1 x 1": (lambda m, a, w: m.conv2d(a, w), [leaf(2, 2, 2, 2), leaf(3, 2, 1, 1)]),
    "conv2d all": (lambda m, a, w, b: m.nn.functional.conv2d(a, w, b, (2, 1), (1, 0), (1, 2), 2),
                   [leaf(1, 2, 4, 5), leaf(4, 1, 2, 2), leaf(4)]),
    "conv2d without batch": (lambda m, a, w: m.nn.functional.conv2d(a, w, stride=2), [leaf(2, 4, 4), leaf(1, 2, 2, 2)]),
    "conv2d valid": (lambda m, a, w: m.conv2d(a, w, padding="valid"), [leaf(1, 1, 3, 3), leaf(1, 1, 2, 2)]),
    "conv3d": (lambda m, a, w, b: m.conv3d(a, w, b), [leaf(1, 1, 2, 3, 2), leaf(2, 1, 1, 2, 2), leaf(2)]),
    "conv_transpose1d": (lambda m, a, w, b: m.conv_transpose1d(a, w, b), [leaf(2, 2, 3), leaf(2, 3, 2), leaf(3)]),
    "conv_transpose1d all": (
        lambda m, a, w: m.nn.functional.conv_transpose1d(a, w, None, 2, 1, 1, 2, 2), [leaf(1, 2, 4), leaf(2, 1, 3)]),
    "conv_transpose2d": (lambda m, a, w: m.conv_transpose2d(a, w), [leaf(1, 2, 2, 3), leaf(2, 1, 2, 2)]),
    "conv_transpose2d all": (
        lambda m, a, w, b: m.nn.functional.conv_transpose2d(a, w, b, (2, 1), 1, (1, 0), 2, 1),
        [leaf(1, 2, 3, 3), leaf(2, 2, 3, 2), leaf(4)]),
    "conv_transpose2d without batch": (
        lambda m, a, w: m.nn.functional.conv_transpose2d(a, w, stride=2), [leaf(2, 2, 2), leaf(2, 1, 2, 2)]),
    "conv_transpose3d": (lambda m, a, w: m.conv_transpose3d(a, w), [leaf(1, 1, 2, 1, 2), leaf(1, 2, 1, 2, 2)]),
    # padding
    "pad": (lambda m, a: m.nn.functional.pad(a, (1, 2)), [leaf(2, 3)]),
    "pad value": (lambda m, a: m.nn.functional.pad(a, (1, 0, 0, 2), value=0.5), [leaf(2, 3)]),
    "pad reflect 1": (lambda m, a: m.nn.functional.pad(a, (2, 1), mode="reflect"), [leaf(2, 2, 3)]),
    "pad reflect 2": (lambda m, a: m.nn.functional.pad(a, (1, 2, 1, 0), mode="reflect"), [leaf(1, 2, 2, 3)]),
    "pad reflect 3": (lambda m, a: m.nn.functional.pad(a, (1,) * 6, mode="reflect"), [leaf(1, 2, 2, 2)]),
    "pad replicate 1": (lambda m, a: m.nn.functional.pad(a, (2, 1), mode="replicate"), [leaf(2, 3)]),
    "pad replicate 2": (lambda m, a: m.nn.functional.pad(a, (1, 3, 1, 0), mode="replicate"), [leaf(2, 2, 3)]),
    "pad replicate 3": (lambda m, a: m.nn.functional.pad(a, (1,) * 6, mode="replicate"), [leaf(1, 1, 2, 2, 2)]),
    "pad circular 1": (lambda m, a: m.nn.functional.pad(a, (2, 1), mode="circular"), [leaf(1, 2, 3)]),
    "pad circular 2": (lambda m, a: m.nn.functional.pad(a, (1, 2, 0, 1), mode="circular"), [leaf(1, 1, 2, 3)]),
    # pools
    "max_pool1d": (lambda m, a: m.max_pool1d(a, 2), [leaf(1, 2, 5)]),
    "max_pool1d all": (lambda m, a: m.nn.functional.max_pool1d(a, 3, 2, 1, 2, True), [leaf(2, 7)]),
    "max_pool2d": (lambda m, a: m.max_pool2d(a, 2), [leaf(2, 2, 4, 5)]),
    "max_pool2d squared": (lambda m, a: m.max_pool2d(a, 2).square(), [leaf(2, 2, 4, 5)]),
    "max_pool2d of equals": (lambda m, a: m.max_pool2d(a.relu(), 2), [leaf(1, 2, 4, 4)]),
    "max_pool2d overlapping": (lambda m, a: m.nn.functional.max_pool2d(a, 3, 1, 1), [leaf(1, 2, 4, 4)]),
    "max_pool2d all": (lambda m, a: m.nn.functional.max_pool2d(a, (2, 3), (2, 1), (1, 0), (1, 2), ceil_mode=True),
                       [leaf(2, 4, 6)]),
    "max_pool2d indices": (lambda m, a: m.nn.functional.max_pool2d(a, 2, return_indices=True), [leaf(1, 2, 4, 4)]),
    "avg_pool1d": (lambda m, a: m.avg_pool1d(a, 2), [leaf(1, 2, 5)]),
    "avg_pool1d all": (lambda m, a: m.nn.functional.avg_pool1d(a, 3, 2, 1, True, False), [leaf(2, 6)]),
    "max_pool3d": (lambda m, a: [m.max_pool3d(a, 2), m.nn.functional.max_pool3d(a, (1, 2, 1), 1, ceil_mode=True)],
                   [leaf(1, 2, 3, 2, 2)]),
    "avg_pool3d": (lambda m, a: m.nn.functional.avg_pool3d(a, 2, 1, (0, 1, 0), count_include_pad=False),
                   [leaf(2, 3, 2, 2)]),
    "max_unpool1d": (lambda m, a: m.nn.functional.max_unpool1d(a, m.tensor([[0, 3], [1, 2]]), 2), [leaf(2, 2)]),
    "max_unpool2d": (lambda m, a: m.nn.functional.max_unpool2d(a, m.tensor([[[1, 2]]]), (2, 2)), [leaf(1, 1, 2)]),
    "max_unpool3d": (lambda m, a: m.nn.functional.max_unpool3d(a, m.tensor([[[[1, 9]]]]), 2), [leaf(1, 1, 1, 2)]),
    "lp_pool": (lambda m, a: [m.nn.functional.lp_pool1d(a.abs(), 2, 2), m.nn.functional.lp_pool2d(a.abs(), 3, 2),
                              m.nn.functional.lp_pool3d(a.abs()[None], 2.5, (1, 2, 2))], [leaf(2, 3, 4)]),
    "local_response_norm": (lambda m, a: m.nn.functional.local_response_norm(a, 2, 0.1), [leaf(1, 3, 2, 2)]),
    "affine_grid": (lambda m, a: m.nn.functional.affine_grid(a, (1, 1, 2, 3), align_corners=False), [leaf(1, 2, 3)]),
    "grid_sample": (lambda m, a, b: m.nn.functional.grid_sample(a, b, align_corners=False),
                    [leaf(1, 2, 3, 3), leaf(1, 2, 2, 2)]),
    "grid_sample in a volume": (lambda m, a, b: m.nn.functional.grid_sample(a, b, align_corners=True),
                                [leaf(1, 1, 2, 3, 2), leaf(1, 1, 2, 1, 3)]),
    "avg_pool2d": (lambda m, a: m.nn.functional.avg_pool2d(a, 2), [leaf(1, 2, 4, 5)]),
    "avg_pool2d all": (lambda m, a: m.nn.functional.avg_pool2d(a, (3, 2), 2, (1, 0), True, False), [leaf(2, 4, 5)]),
    "avg_pool2d ceil": (lambda m, a: m.nn.functional.avg_pool2d(a, 3, 2, 1, True), [leaf(1, 1, 4, 5)]),
    "avg_pool2d divisor": (lambda m, a: m.nn.functional.avg_pool2d(a, 2, divisor_override=3), [leaf(1, 1, 4, 4)]),
    "adaptive_avg_pool1d": (lambda m, a: m.adaptive_avg_pool1d(a, 2), [leaf(1, 2, 5)]),
    "adaptive_avg_pool2d": (lambda m, a: m.nn.functional.adaptive_avg_pool2d(a, (3, None)), [leaf(1, 2, 5, 4)]),
    "adaptive_avg_pool2d to one": (lambda m, a: m.nn.functional.adaptive_avg_pool2d(a, 1), [leaf(2, 3, 4)]),
    "adaptive_avg_pool3d": (lambda m, a: m.nn.functional.adaptive_avg_pool3d(a, 2), [leaf(1, 1, 3, 2, 4)]),
    # interpolation
    "interpolate": (lambda m, a: m.nn.functional.interpolate(a, scale_factor=2), [leaf(1, 2, 2, 3)]),
    "interpolate 1d": (lambda m, a: m.nn.functional.interpolate(a, size=5), [leaf(1, 2, 3)]),
    "interpolate 3d": (lambda m, a: m.nn.functional.interpolate(a, scale_factor=1.5), [leaf(1, 1, 2, 2, 2)]),
    "interpolate exact": (lambda m, a: m.nn.functional.interpolate(a, size=(3, 4), mode="nearest-exact"),
                          [leaf(1, 1, 4, 3)]),
    "interpolate linear": (lambda m, a: m.nn.functional.interpolate(a, scale_factor=1.7, mode="linear"),
                           [leaf(1, 2, 4)]),
    "interpolate bilinear": (lambda m, a: m.nn.functional.interpolate(a, scale_factor=2, mode="bilinear"),
                             [leaf(1, 2, 2, 3)]),
    "interpolate bilinear corners": (
        lambda m, a: m.nn.functional.interpolate(a, size=(3, 5), mode="bilinear", align_corners=True),
        [leaf(1, 1, 4, 3)]),
    "interpolate recomputed": (
        lambda m, a: m.nn.functional.interpolate(a, scale_factor=1.3, mode="bilinear", recompute_scale_factor=True),
        [leaf(1, 1, 4, 3)]),
    "interpolate trilinear": (lambda m, a: m.nn.functional.interpolate(a, size=(2, 3, 2), mode="trilinear"),
                              [leaf(1, 1, 2, 2, 3)]),
    "interpolate bicubic": (lambda m, a: m.nn.functional.interpolate(a, scale_factor=(2.0, 1.5), mode="bicubic"),
                            [leaf(1, 1, 3, 4)]),
    "interpolate bicubic corners": (
        lambda m, a: m.nn.functional.interpolate(a, size=5, mode="bicubic", align_corners=True), [leaf(1, 1, 3, 4)]),
    "interpolate area": (lambda m, a: m.nn.functional.interpolate(a, size=2, mode="area"), [leaf(1, 2, 3, 5)]),
    # norms
    "batch_norm given": (lambda m, a, r, w, b: m.nn.functional.batch_norm(a, r, r, w, b),
                         [leaf(2, 2, 3), Input((2,), positive=True, grad=False), leaf(2), leaf(2)]),
    "instance_norm given": (
        lambda m, a, r: m.nn.functional.instance_norm(a, r, r, use_input_stats=False),
        [leaf(2, 2, 3), Input((2,), positive=True, grad=False)]),
    "rms_norm": (lambda m, a, w: m.rms_norm(a, (3,), w), [leaf(2, 3), leaf(3)]),
    "rms_norm alone": (lambda m, a: m.nn.functional.rms_norm(a, (3, 2), eps=0.1), [leaf(2, 3, 2)]),
    # tables, products
    "embedding": (lambda m, w: m.nn.functional.embedding(m.tensor([[0, 2], [2, 1]]), w), [leaf(4, 3)]),
    "embedding padding": (lambda m, w: m.nn.functional.embedding(m.tensor([0, 2, 2]), w, padding_idx=-2), [leaf(4, 3)]),
    "embedding frequency": (
        lambda m, w: m.nn.functional.embedding(m.tensor([0, 2, 2]), w, scale_grad_by_freq=True), [leaf(4, 3)]),
    "embedding max_norm": (
        lambda m, w: m.nn.functional.embedding(m.tensor([0, 2, 2]), w.detach().clone(), max_norm=0.5), [leaf(4, 3)]),
    "torch.embedding": (lambda m, w: m.embedding(w, m.tensor([0, 2])), [leaf(4, 3)]),
    "bilinear": (lambda m, a, b, w, c: m.bilinear(a, b, w, c), [leaf(2, 3), leaf(2, 2), leaf(4, 3, 2), leaf(4)]),
    "bilinear no bias": (lambda m, a, b, w: m.nn.functional.bilinear(a, b, w), [leaf(2, 2, 3), leaf(2, 2, 2),
                                                                                leaf(1, 3, 2)]),
    # dropout: the same seed drops the same
    "dropout": (lambda m, a: seeded(m).dropout(a), [leaf(4, 5)]),
    "dropout all": (lambda m, a: seeded(m).dropout(a, 1.0), [leaf(4, 5)]),
    "dropout none": (lambda m, a: [seeded(m).dropout(a * 1, 0.0), m.dropout(a * 1, 0.5, False)], [leaf(4, 5)]),
    "dropout inplace": (lambda m, a: seeded(m).dropout(a * 1, 0.3, inplace=True), [leaf(4, 5)]),
    "torch.dropout": (lambda m, a: seeded(m) and m.dropout(a, 0.7, True), [leaf(4, 5)]),
    "torch.dropout_": (lambda m, a: seeded(m) and m.dropout_(a * 1, 0.7, True), [leaf(4, 5)]),
    "dropout1d": (lambda m, a: seeded(m).dropout1d(a), [leaf(3, 4, 2)]),
    "dropout1d without batch": (lambda m, a: seeded(m).dropout1d(a), [leaf(4, 2)]),
    "dropout2d": (lambda m, a: seeded(m).dropout2d(a, 0.4), [leaf(2, 4, 2, 2)]),
    "dropout3d": (lambda m, a: seeded(m).dropout3d(a), [leaf(2, 4, 1, 2, 2)]),
    "feature_dropout": (lambda m, a: seeded(m) and [m.feature_dropout(a, 0.5, True),
                                                    m.feature_dropout_(a * 1, 0.5, True)], [leaf(2, 4, 2)]),
    "alpha_dropout": (lambda m, a: seeded(m).alpha_dropout(a, 0.4, True), [leaf(4, 5)]),
    "alpha_dropout inplace": (lambda m, a: seeded(m).alpha_dropout(a * 1, 0.4, True, True), [leaf(4, 5)]),
    "torch.alpha_dropout": (lambda m, a: seeded(m) and [m.alpha_dropout(a, 0.5, True),
                                                        m.alpha_dropout_(a * 1, 0.5, True)], [leaf(4, 5)]),
    "feature_alpha_dropout": (lambda m, a: seeded(m).feature_alpha_dropout(a, 0.5, True), [leaf(2, 4, 2)]),
    "torch.feature_alpha_dropout": (
        lambda m, a: seeded(m) and [m.feature_alpha_dropout(a, 0.5, True), m.feature_alpha_dropout_(a * 1, 0.5, True)],
        [leaf(2, 4, 2)]),
    # windows, pixels, channels
    "unfold pictures": (lambda m, a: m.nn.functional.unfold(a, 2), [leaf(2, 2, 3, 4)]),
    "unfold pictures all": (lambda m, a: m.nn.functional.unfold(a, (2, 1), (1, 2), (1, 0), (2, 1)), [leaf(2, 3, 4)]),
    "fold": (lambda m, a: m.nn.functional.fold(a, (3, 3), 2), [leaf(1, 8, 4)]),
    "fold all": (lambda m, a: m.nn.functional.fold(a, (3, 4), (2, 1), padding=(1, 0), stride=(2, 1)), [leaf(4, 8)]),
    "pixel_shuffle": (lambda m, a: m.pixel_shuffle(a, 2), [leaf(2, 4, 2, 3)]),
    "pixel_unshuffle": (lambda m, a: m.pixel_unshuffle(a, 2), [leaf(3, 4, 2)]),
    "channel_shuffle": (lambda m, a: m.channel_shuffle(a, 2), [leaf(1, 4, 2, 1)]),
    "F.pixel_shuffle": (lambda m, a: [m.nn.functional.pixel_shuffle(a, 2), m.nn.functional.pixel_unshuffle(a, 2),
                                      m.nn.functional.channel_shuffle(a, 2)], [leaf(1, 4, 2, 2)]),
    # attention, put together of other ops
    "attention": (lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v),
                  [leaf(2, 3, 4), leaf(2, 5, 4), leaf(2, 5, 2)]),
    "attention of matrices": (
        lambda m, q, k, v: m.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3),
        [leaf(3, 2), leaf(3, 2), leaf(3, 2)]),
    "attention mask": (
        lambda m, q, k, v, b: m.nn.functional.scaled_dot_product_attention(q, k, v, b),
        [leaf(1, 2, 3, 2), leaf(1, 2, 3, 2), leaf(1, 2, 3, 2), leaf(3, 3)]),
    "attention mask of flags": (
        lambda m, q, k, v, b: m.nn.functional.scaled_dot_product_attention(q, k, v, b > 0),
        [leaf(2, 3, 4), leaf(2, 3, 4), leaf(2, 3, 4), frozen(3, 3)]),
    "attention dropout": (
        lambda m, q, k, v: seeded(m).scaled_dot_product_attention(q, k, v, dropout_p=0.4),
        [leaf(2, 2, 3, 4), leaf(2, 2, 3, 4), leaf(2, 2, 3, 4)]),
    "adaptive_max_pool1d": (lambda m, a: [m.nn.functional.adaptive_max_pool1d(a, 2), *m.adaptive_max_pool1d(a, (3,))],
                            [leaf(2, 3, 5)]),
    "adaptive_max_pool2d": (lambda m, a: [m.nn.functional.adaptive_max_pool2d(a, (3, None)),
                                          *m.nn.functional.adaptive_max_pool2d(a, 2, return_indices=True)],
                            [leaf(2, 5, 4)]),
    "adaptive_max_pool3d": (lambda m, a: m.nn.functional.adaptive_max_pool3d(a, 2, True), [leaf(1, 2, 3, 2, 4)]),
}

MISSING = {
    "NativeBatchNormBackward0": {"result1", "result2", "running_mean", "running_var"},
    "MaxPool3DWithIndicesBackward0": {"result1"},
    "MaxPool2DWithIndicesBackward0": {"result1"},
    "AdaptiveMaxPool2DBackward0": {"result1"},
    "AdaptiveMaxPool3DBackward0": {"result1"},
}


def seeded(m):
    """`nn.functional`, after a seed that makes both libraries draw the same numbers."""
    m.manual_seed(3)
    return m.nn.functional

NOT_COMPARABLE = dict.fromkeys(("embedding padding", "embedding frequency", "embedding max_norm"),
                               "the gradient of an embedding leaves out or scales rows that the result depends on")
