"""Every lesson, solved, with a real GPU as the default device, where there is one."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import minigrad

if not minigrad.cuda.is_available():
    pytest.skip("gpu: there is no NVIDIA GPU here, or CuPy does not find it", allow_module_level=True)
for each in ("IPython", "matplotlib", "nbformat", "sklearn", "minigrad_lessons", "minigrad_widgets"):
    pytest.importorskip(each, exc_type=ImportError)

from tests.device.test_lessons import COMPILED, PROCESSES, solved  # it needs what was just looked for
from tests.groups import has_torch
from tests.lessons.answers import KEYS
from tests.lessons.player import player

pytestmark = pytest.mark.gpu
# Another PyTorch than 2.13 prints other texts; without one, lessons show what 2.13 printed.
ON_THE_GPU = f"""import sys
import minigrad
if not {has_torch()}:
    sys.modules["torch"] = None
minigrad.set_default_device("cuda")
print(minigrad.ones(1).device)"""


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    """Runs the cells."""
    with player() as started:
        yield started


@pytest.mark.parametrize("name", sorted(KEYS.keys() - COMPILED - PROCESSES))
def test_a_lesson_runs_on_a_gpu(server, tmp_path: Path, name: str) -> None:
    solved(server, tmp_path, name, ON_THE_GPU)
