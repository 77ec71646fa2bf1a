"""What the reader prints about the installed PyTorch."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.torch


def test_a_pipe_that_is_closed_early_is_no_error() -> None:
    command = [sys.executable, "-m", "minigrad_widgets.torch_reader"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b"" and process.wait() == 0
