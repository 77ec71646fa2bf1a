"""Makes the C library keep the memory that arrays free.

NOTE 7 (memory that stays). glibc maps an array of 128 KiB or more separately, and unmaps it when it is freed; the next
one of that size is mapped anew, and each of its pages faults when first touched. When such a block is freed, glibc
raises that limit to its size, up to 32 MiB, and returns the heap's end only beyond twice as much. So one block just
below 32 MiB, allocated and freed at import (no page of it is touched, 10 µs), puts all later arrays on the heap, which
keeps up to 64 MiB. Relative time, measured in alternation: two transformer blocks 0.84, a CNN on 28 × 28 0.88, an
embedding with 10,000 classes 0.74, small models 1. MINIGRAD_KEEP_MEMORY=0 leaves the C library as it is; C libraries
other than glibc are unaffected.
"""

import os

import numpy as np

LARGEST = (32 << 20) - (64 << 10)  # bytes: with the allocator's own header still below glibc's maximum limit


def keep_memory() -> bool:
    """Allocate and free such a block unless the environment forbids it; return whether that was done."""
    if os.environ.get("MINIGRAD_KEEP_MEMORY") == "0":
        return False
    np.empty(LARGEST, np.uint8)
    return True


keep_memory()
