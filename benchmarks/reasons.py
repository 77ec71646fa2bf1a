"""Why rows are over their limits, as profiles show: the first word that a row's name has says which.

Profiles of November 2026, by `benchmarks.profiles`, cProfile and `-X importtime`, on the machine that
docs/performance.md names.
"""

from __future__ import annotations

__all__ = ["REASONS"]

REASONS = (
    ("recording", "A recorded op takes 46 to 50 µs, as when the limit was set; an op by itself takes half as long as "
     "then. Each recorded op of the chain leaves 34 containers behind, which are made and looked through. Later that "
     "day the chain of 1,000 took 13.5 times, that of 10,000 12.3; 5 was asked for, which is out of reach."),
    ("by NumPy", "0.86 to 0.89 from run to run; the products alone, in OpenBLAS, take 0.71 to 0.75 of PyTorch's time."),
    ("by numba", "The products alone, which stay OpenBLAS's, take 0.54 of PyTorch's time at batch 32 and 0.71 to 0.75 "
     "at batch 128. At batch 32 the rest of the step takes 90 µs, 20 of them for the update. On the processor of the "
     "other rows the two took 0.52 and 0.67."),
    ("two threads", "NumPy's own loops run in one thread, only OpenBLAS's products in two, and OpenBLAS splits even "
     "those that are too small: NumPy by hand takes longer for the transformer than with one thread. PyTorch "
     "splits all of its loops. Other programs ran on both cores; these are the shortest times of a hundred turns."),
    ("fan-out", "Half of the time per op is NumPy's: the same graph over single elements takes half as long. Five "
     "arrays of 16 KiB are in use, more than the first cache holds."),
    ("diamonds", "Like the fan-out: over single elements it takes two fifths of the time."),
    ("relu, shape [64, 64]", "NumPy's maximum alone takes as long as PyTorch's whole op."),
    ("matmul, shape [64, 64]", "At the limit: 0.94 to 0.98 from run to run. NumPy's product alone takes 0.87 of "
     "PyTorch's whole op."),
    ("sum, shape [64, 64]", "NumPy's sum alone takes 0.9 of PyTorch's whole op; minigrad's is a product with ones."),
    ("shape [64, 64]", "NumPy's addition or product alone takes 0.65 of PyTorch's whole op (it has AVX2 kernels for "
     "them and aligns arrays to 16 bytes, PyTorch AVX-512 and 64); recording costs 0.5 µs more, as for one element."),
    ("shape [1]", "0.71 to 0.82 from run to run. NumPy's own addition of two arrays of one element takes a quarter of "
     "the time of PyTorch's whole op, the check that shapes and dtypes agree a tenth; the rest is recording, as "
     "for `[]`."),
    ("chain", "From 0.50 to 0.57. An earlier core took 0.40: it filled nodes in six places and called formulas in "
     "four, and was unreadable. Half of a backward pass is the formulas and what was saved for them, a fifth is "
     "counting what each node will receive, the rest is the loop."),
    ("MLP", "PyTorch's products (MKL, AVX-512) are faster than OpenBLAS's here: NumPy by hand takes 0.8 of PyTorch's "
     "time at batch 32 and 1.15 of it at 1,024. What minigrad adds does not grow with the batch: a third of a "
     "millisecond of Python per step, some 450 calls of its own."),
    ("CNN, 8 × 8", "Copies of windows into columns, pools and products take half; by hand in NumPy a step takes as "
     "long as PyTorch's. A third is Python."),
    ("CNN", "Little more than half of the time by hand. More than half is copies, of windows into columns and of what "
     "pools pick out, which PyTorch's oneDNN avoids."),
    ("transformer", "Two fifths are products in OpenBLAS; NumPy by hand takes 1.3 × PyTorch's time (MKL, AVX-512)."),
    ("import", "170 modules: in a profile, making 540 classes takes 0.24, unmarshalling code 0.13, finding files 0.12, "
     "framing 905 functions 0.07. What few programs use (`nn`, `optim`, `utils`, traces) is not even loaded."),
    ("longest", "What the garbage collector looks through grows with the graph, and caches hold less of the graph."),
)
