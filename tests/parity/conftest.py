"""What parity tests ask for."""

from __future__ import annotations

import pytest

import minigrad
from minigrad.backends import registry
from tests.parity import seen
from tests.parity.reference import any_torch, torch

__all__ = ["any_torch", "every_warning", "torch"]


@pytest.fixture(autouse=True, scope="session")
def no_cupy():
    """The reference is a build without CUDA: CuPy counts as not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "MODULES", {})
        yield


@pytest.fixture
def every_warning(torch):
    """Warnings that come once per program come every time."""
    for lib in (minigrad, torch):
        lib.set_warn_always(True)
    yield
    for lib in (minigrad, torch):
        lib.set_warn_always(False)


@pytest.fixture
def global_flags(torch, monkeypatch):
    """PyTorch's switches can be set; its own samples of ops (test_opinfo.py) forbid it for the whole process."""
    monkeypatch.setitem(torch.backends.flags_frozen.__globals__, "__allow_nonbracketed_mutation_flag", True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Per line of the tables of ops: the samples that were tried, and the worst error."""
    if seen.NOTES:
        terminalreporter.section("samples tried and worst error")
        terminalreporter.write_line("\n".join(seen.lines()))
