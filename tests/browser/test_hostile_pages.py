"""Hostile texts in exported pages and in JupyterLab, and damaged pages: a part of what `tests.reliability` tries."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.groups import has_browser, installed, require

pytestmark = pytest.mark.browser
require("browser", has_browser() and installed("jupyterlab"), "chromium, playwright or jupyterlab is not installed")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", [
    ["tests.reliability", "pages", "--share", "0.05"], ["tests.fuzz", "pages", "--files", "15"]],
    ids=lambda command: command[0])
def test_nothing_is_executed(command: list[str]) -> None:
    """In a process of its own: the tests drive a browser here already."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
