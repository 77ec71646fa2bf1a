"""How fast minigrad is beside PyTorch and others. `python -m benchmarks` measures it all and writes the page.

One thread each: the libraries read these variables when they are first imported, which is after this.
"""

import os

for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")
