"""A pytest plugin that gives nbval's kernels sockets in files instead of TCP ports.

Use it when several runs of nbval share a machine: jupyter_client picks free ports and lets go of them before its
kernel binds them, so that two kernels that start at once can pick the same port and one of them dies.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path
from typing import Any

import nbval.kernel
from jupyter_client.manager import KernelManager

folder = tempfile.TemporaryDirectory(prefix="nbval")  # removed when the run ends
numbers = itertools.count()


def in_files(**options: Any) -> KernelManager:
    """A manager whose kernel listens at files in a folder of this run."""
    return KernelManager(transport="ipc", ip=str(Path(folder.name, f"kernel{next(numbers)}")), **options)


if os.name == "posix":  # ZeroMQ has no such sockets on Windows
    nbval.kernel.KernelManager = in_files
