"""Kernels of a GPU, where many steps on each element would else be as many passes over memory: CUDA C, one element at a
time, beside the array code that says the same.

Each has its inputs, its outputs and a body in C, from which a backend makes a function on arrays that broadcast
(`Backend.fused`). Where a backend has no kernels, the array code runs. tests/device/test_kernels.py compiles each with
NVIDIA's compiler, which needs no GPU, and holds the body, compiled for the host, against the array code.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["KERNELS", "Kernel"]


class Kernel(NamedTuple):
    """What CuPy's `ElementwiseKernel` asks for. The names `i` and `n`, and those with `_` in front, are its own."""

    inputs: str
    outputs: str
    body: str


# The ten rounds of `minigrad.backends.philox.philox`: 60 passes as array code. A thread's number takes the upper half
# of the counter, the call the lower.
PHILOX = Kernel("uint64 call, uint64 thread, uint64 key", "uint64 x, uint64 y, uint64 z, uint64 w", """
unsigned int a = call, b = call >> 32, c = thread, d = thread >> 32, low = key, high = key >> 32;
for (int turn = 0; turn < 10; ++turn) {
    unsigned long long p = 0xD2511F53ull * a, q = 0xCD9E8D57ull * c;
    a = (unsigned int)(q >> 32) ^ b ^ low;
    b = (unsigned int)q;
    c = (unsigned int)(p >> 32) ^ d ^ high;
    d = (unsigned int)p;
    low += 0x9E3779B9u;
    high += 0xBB67AE85u;
}
x = a; y = b; z = c; w = d;
""")
KERNELS = {"philox": PHILOX}
