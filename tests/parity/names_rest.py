"""Expressions for the names of nodes of what fewer programs call: see `test_names.py`."""

NAMES = {
    "AdaptiveMaxPool2DBackward0": "F.adaptive_max_pool2d(b, 2), F.adaptive_max_pool2d(b, (1, 2), True)[0]",
    "AdaptiveMaxPool3DBackward0": "F.adaptive_max_pool3d(b[None], 2)",
    "SqueezeBackward1": "F.adaptive_max_pool1d(x, 2), torch.adaptive_max_pool1d(x, 1)[0]",
    "LinalgLstsqBackward0": "torch.linalg.lstsq(x, y)[0], torch.linalg.lstsq(x, v[:2]).residuals",
    "CtcLossBackward0": "F.ctc_loss(b.log_softmax(2), i[:3], (2, 1, 2), (1, 1, 0), reduction='none')",
}
