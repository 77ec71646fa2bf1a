"""Lines of the table of drawn shapes for what fewer programs call: see `drawn.py`."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.parity.compare import Input
from tests.parity.drawn import matrices
from tests.parity.drawn_layers import windows
from tests.parity.drawn_linalg import eye_of

DISTINCT = dict.fromkeys(("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d"),
                         "among equal elements the first is taken, in the order of memory")


@st.composite
def texts(draw):
    """Scores (T, N, C), letters, and lengths of both."""
    t, n, c, s = draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(0, 2))
    letters = [[draw(st.integers(1, c - 1)) for _ in range(s)] for _ in range(n)]
    steps = [draw(st.integers(0, t)) for _ in range(n)]
    lengths = [draw(st.integers(0, s)) for _ in range(n)]
    return [Input((t, n, c))], (letters, steps, lengths)


DRAWN = {
    "fill_diagonal_": (lambda m, a: (a * 1).fill_diagonal_(2.5), matrices("ij")),
    "lstsq": (lambda m, a, b: m.linalg.lstsq(a + 3 * eye_of(m, a), b).solution, matrices("bij", "bik")),
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
