"""Lines of the table of ops for what fewer programs call: see `cases.py`."""

from __future__ import annotations

from tests.parity.compare import leaf

CASES = {
    "adaptive_max_pool1d": (lambda m, a: [m.nn.functional.adaptive_max_pool1d(a, 2), *m.adaptive_max_pool1d(a, (3,))],
                            [leaf(2, 3, 5)]),
    "adaptive_max_pool2d": (lambda m, a: [m.nn.functional.adaptive_max_pool2d(a, (3, None)),
                                          *m.nn.functional.adaptive_max_pool2d(a, 2, return_indices=True)],
                            [leaf(2, 5, 4)]),
    "adaptive_max_pool3d": (lambda m, a: m.nn.functional.adaptive_max_pool3d(a, 2, True), [leaf(1, 2, 3, 2, 4)]),
    "lstsq": (lambda m, a, b: m.linalg.lstsq(a, b), [leaf(4, 2), leaf(4, 3)]),
    "lstsq of fewer rows": (lambda m, a, b: m.linalg.lstsq(a, b).solution, [leaf(2, 2, 3), leaf(2, 2, 1)]),
    "lstsq of a vector": (lambda m, a, b: m.linalg.lstsq(a, b, driver="gelsd")[:3], [leaf(4, 2), leaf(4)]),
}

MISSING = {
    "AdaptiveMaxPool2DBackward0": {"result1"},
    "AdaptiveMaxPool3DBackward0": {"result1"},
}
