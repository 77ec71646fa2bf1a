"""How fast minigrad is beside PyTorch. `python -m benchmarks.smoke` takes a minute and prints ratios.

One thread each: the libraries read these variables when they are first imported, which is after this.
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
