"""Lets the C library keep the memory that arrays give back.

NOTE 7 (memory that stays). glibc maps an array of 128 KiB or more into memory by itself, and unmaps it when it is
freed; the next one of that size is mapped anew, and each of its pages is a fault when first touched. It raises that
limit to the size of the largest block that has been freed so, up to 32 MiB, and gives the heap's end back only beyond
twice as much. So one block just below 32 MiB, asked for and freed at import (no page of it is touched, 10 µs), makes
all later arrays come from the heap, which keeps up to 64 MiB. Time against that without it, measured in turns: two
transformer blocks 0.84, a CNN on 28 × 28 0.88, an embedding with 10,000 classes 0.74, small models 1.
MINIGRAD_KEEP_MEMORY=0 leaves the C library as it is; other ones than glibc do not mind.
"""

import os

import numpy as np

LARGEST = (32 << 20) - (64 << 10)  # bytes: with the allocator's own header still below glibc's greatest limit


def keep_memory() -> bool:
    """Ask for such a block and give it back, unless the environment says no; whether that was done."""
    if os.environ.get("MINIGRAD_KEEP_MEMORY") == "0":
        return False
    np.empty(LARGEST, np.uint8)
    return True


keep_memory()
