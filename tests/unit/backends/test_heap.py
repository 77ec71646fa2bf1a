"""Arrays come from memory that was there before; a switch leaves the C library as it is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import numpy as np
import minigrad

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

for _ in range(3):
    [np.ones(1 << 18, np.float64) for _ in range(4)]
before = faults()
for _ in range(10):
    [np.ones(1 << 18, np.float64) for _ in range(4)]
print(faults() - before)
"""


def faults(**environment):
    """How many pages are touched for the first time where the same 8 MiB are asked for and given back ten times."""
    done = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True,
                          env={**os.environ, **environment})
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is about glibc")
def test_memory_stays():
    assert faults(MINIGRAD_KEEP_MEMORY="1") < 500 < faults(MINIGRAD_KEEP_MEMORY="0")
