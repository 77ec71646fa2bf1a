"""Lines of the table of ops for convolutions, pools, norms and what else layers are made of: see `cases.py`."""

from __future__ import annotations

from tests.parity.compare import frozen, leaf

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
    "max_pool2d of equals": (lambda m, a: m.max_pool2d(a.relu(), 2), [leaf(1, 2, 4, 4)]),
    "max_pool2d overlapping": (lambda m, a: m.nn.functional.max_pool2d(a, 3, 1, 1), [leaf(1, 2, 4, 4)]),
    "max_pool2d all": (lambda m, a: m.nn.functional.max_pool2d(a, (2, 3), (2, 1), (1, 0), (1, 2), ceil_mode=True),
                       [leaf(2, 4, 6)]),
    "max_pool2d indices": (lambda m, a: m.nn.functional.max_pool2d(a, 2, return_indices=True), [leaf(1, 2, 4, 4)]),
    "avg_pool1d": (lambda m, a: m.avg_pool1d(a, 2), [leaf(1, 2, 5)]),
    "avg_pool1d all": (lambda m, a: m.nn.functional.avg_pool1d(a, 3, 2, 1, True, False), [leaf(2, 6)]),
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
}

SIZES = {"align_corners", "output_size", "scales", "scales_d", "scales_h", "scales_w", "self_sym_sizes"}
POOL = {"ceil_mode", "kernel_size", "padding", "stride"}
MISSING = {
    "AdaptiveAvgPool2DBackward0": {"self"},
    "AdaptiveAvgPool3DBackward0": {"self"},
    "AvgPool2DBackward0": POOL | {"count_include_pad", "divisor_override", "self"},
    "ConvolutionBackward0": {"bias_sym_sizes_opt", "dilation", "groups", "output_padding", "padding", "stride"},
    "MaxPool2DWithIndicesBackward0": POOL | {"dilation", "result1"},
    "ReflectionPad1DBackward0": {"self"},
    "ReflectionPad2DBackward0": {"self"},
    "ReflectionPad3DBackward0": {"self"},
    "ReplicationPad1DBackward0": {"self"},
    "ReplicationPad2DBackward0": {"self"},
    "ReplicationPad3DBackward0": {"self"},
    "UpsampleBicubic2DBackward0": SIZES,
    "UpsampleBilinear2DBackward0": SIZES,
    "UpsampleLinear1DBackward0": SIZES,
    "UpsampleNearest1DBackward0": SIZES,
    "UpsampleNearest2DBackward0": SIZES,
    "UpsampleNearest3DBackward0": SIZES,
    "UpsampleNearestExact2DBackward0": SIZES,
    "UpsampleTrilinear3DBackward0": SIZES,
}
