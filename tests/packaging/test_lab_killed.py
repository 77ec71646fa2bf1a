"""`minigrad lab` that is killed leaves no server behind."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time

import pytest

from tests.packaging.lab import lab

SECONDS = 60


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.skipif(os.name != "posix", reason="Windows has no SIGKILL")
def test_the_server_ends_with_a_lab_that_is_killed(tmp_path):
    command = [sys.executable, "-m", "minigrad", "lab", "--allow-root", "--no-browser"]
    with lab(command, tmp_path, end=signal.SIGKILL) as running:
        assert answers(running.port)
    end = time.monotonic() + SECONDS
    while answers(running.port) and time.monotonic() < end:
        time.sleep(0.2)
    assert not answers(running.port)
