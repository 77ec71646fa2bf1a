"""Why rows are over their limits, as profiles show: the first word that a row's name has says which.

Profiles of November 2026, by `benchmarks.profiles`, cProfile and `-X importtime`, on the machine that
docs/performance.md names.
"""

from __future__ import annotations

__all__ = ["REASONS"]

REASONS = (
    ("two threads", "NumPy's own loops run in one thread, only OpenBLAS's products in two, and it divides those "
     "too that are too small for it: NumPy by hand takes longer for the transformer than with one thread. All "
     "of PyTorch's loops are divided. Other programs ran on both cores; these are the least times of a hundred turns."),
    ("fan-out", "More than half of the time per op is NumPy's: the same graph over single elements takes 2.1 of the "
     "4.1 µs. Five arrays of 16 KiB go round, more than the first cache holds."),
    ("diamonds", "As the fan-out: over single elements it takes 2 of the 4.4 µs."),
    ("relu, shape [64, 64]", "NumPy's maximum alone takes as long as PyTorch's whole op."),
    ("sum, shape [64, 64]", "NumPy's sum alone takes 0.9 of PyTorch's whole op; the product with ones that minigrad "
     "takes for it is faster, but not by enough."),
    ("shape [64, 64]", "NumPy's addition or product alone takes 0.65 of PyTorch's whole op (it has AVX2 kernels for "
     "them and lays arrays on 16 bytes, PyTorch AVX-512 and 64); recording costs 0.5 µs more, as for one element."),
    ("shape [1]", "At the limit: 0.64 to 0.72 from run to run. NumPy takes 0.28 µs of it, recording 0.4."),
    ("MLP", "PyTorch's products (MKL, AVX-512) are faster than OpenBLAS's here: NumPy by hand takes 0.8 of PyTorch's "
     "time at batch 32 and all of it at 1,024. What minigrad adds does not grow with the batch: 0.23 ms of Python per "
     "step (0.07 forward, 0.12 backward, 0.03 the optimiser), 370 calls of its own."),
    ("CNN, 8 × 8", "Windows copied into columns, products and pools take two thirds; by hand in NumPy a step takes "
     "as long as PyTorch's. The rest is Python's, 1,900 calls."),
    ("CNN", "Less than 0.6 of the time by hand. Of the second convolution the result takes 2 ms, the gradient of its "
     "input 3, of its weights 3: mostly copies of windows into columns, which PyTorch's oneDNN does without."),
    ("transformer", "Half of the time are products in OpenBLAS, and NumPy by hand takes 1.3 × PyTorch's time (MKL, "
     "AVX-512); gelu and its derivative take 3 ms, the normalisations 1.5."),
    ("import", "159 modules: of a profile, making 540 classes takes 0.24, unmarshalling code 0.13, finding files 0.12, "
     "framing 905 functions 0.07. What few programs use (`nn`, `optim`, `utils`, traces) is not loaded as it is."),
    ("longest", "What the cyclic collector looks through grows with the graph, and caches hold less of it."),
    ("recording", "6.8 to 7.6 in quieter runs."),
)
