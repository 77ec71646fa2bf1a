"""Which backend serves a device if CuPy is installed, but does not load."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import minigrad
from minigrad.backends import registry


@pytest.fixture
def tried(monkeypatch):
    """CuPy is installed and its libraries are not; how often somebody tried to import it."""
    tries = []

    def optional(name, extra):
        """What a broken CuPy does."""
        tries.append((name, extra))
        raise ImportError("Failed to import CuPy.\n\nlibcublas.so.13: cannot open shared object file")

    monkeypatch.setattr(registry, "BACKENDS", {})
    monkeypatch.setattr(registry, "MODULES", {"cuda": ("minigrad.backends.cupy", "cuda12x")})
    monkeypatch.setattr(registry, "BROKEN", {})
    monkeypatch.setattr(registry, "optional", optional)
    return tries


def test_a_cupy_that_does_not_load_is_no_gpu(tried):
    for _ in range(3):
        assert not minigrad.cuda.is_available()
        assert minigrad.cuda.device_count() == 0
    assert tried == [("minigrad.backends.cupy", "cuda12x")]
    with pytest.raises(AssertionError) as error:
        minigrad.zeros(2, device="cuda")
    assert str(error.value).startswith("Torch not compiled with CUDA enabled\n\nCuPy is installed, but does not load: "
                                       "Failed to import CuPy.")
    assert str(error.value).endswith("libcublas.so.13: cannot open shared object file")
    assert len(tried) == 1


def test_a_module_of_our_own_that_is_missing_is_told(tried, monkeypatch):
    def missing(name, extra):
        """A mistake of ours."""
        raise ModuleNotFoundError("No module named 'minigrad.backends.kernel'")

    monkeypatch.setattr(registry, "optional", missing)
    with pytest.raises(ModuleNotFoundError, match="kernel"):
        minigrad.cuda.is_available()


def test_a_home_that_cannot_be_written_to():
    """CuPy makes a folder there when it is imported; `/dev/null` is no folder, for whoever is root too."""
    pytest.importorskip("cupy")
    program = ("import minigrad\nprint(minigrad.cuda.is_available())\ntry:\n    minigrad.ones(1, device='cuda')\n"
               "except Exception as error:\n    print(type(error).__name__, error)")
    environment = {**os.environ, "HOME": "/dev/null"}
    environment.pop("CUPY_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "False" and lines[1] == "AssertionError Torch not compiled with CUDA enabled"
    assert "CUPY_CACHE_DIR" in lines[-1] and "/dev/null/.cupy" in lines[-1]
