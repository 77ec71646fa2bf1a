"""What holds for every test: its mark, a Jupyter that is not the user's own, and no GPU but where GPUs are tested."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minigrad.backends import registry
from tests.part import left_out
from tests.torch_versions import exception

MARKS = {"parity": "torch", "reports": "torch", "browser": "browser", "frontend": "node", "distributed": "mpi",
         "models": "models"}
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes start, and each would compile all of minigrad
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # grammars of addresses: two seconds of each import of nbformat
PRIVATE = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "MPLCONFIGDIR")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of a folder by what they need, so that `-m "not browser"` leaves them out; and those that the
    installed PyTorch must fail, since it is another version than the one that minigrad is compared with. In a stage
    that hurries, leave cases out."""
    if out := set(left_out(items)):
        config.hook.pytest_deselected(items=list(out))
        items[:] = [item for item in items if item not in out]
    here = Path(__file__).parent
    for item in items:
        folder = item.path.relative_to(here).parts[0] if item.path.is_relative_to(here) else ""
        if folder in MARKS:
            item.add_marker(MARKS[folder])
        why = exception(item.nodeid)
        if why is not None:
            item.add_marker(pytest.mark.xfail(reason=why, strict=True))


def pytest_collection() -> None:
    """Search for no garbage while a million objects that stay are made."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave them out of each later search, for garbage or traced tensors: 0.6 of the time of the core's tests."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def private_jupyter(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kernels and servers that tests start read and write none of the user's settings."""
    home = tmp_path_factory.mktemp("jupyter")
    os.environ.update({name: str(home / name.lower()) for name in PRIVATE}, MPLBACKEND="Agg")


@pytest.fixture(autouse=True)
def no_gpu(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of tests/device minigrad finds no CuPy: what is said then is compared with a PyTorch for CPUs."""
    if Path(__file__).parent / "device" not in request.path.parents:
        monkeypatch.setattr(registry, "MODULES", {})
        monkeypatch.delitem(registry.BACKENDS, "cuda", raising=False)


@pytest.fixture(autouse=True)
def numpy_errors() -> Iterator[None]:
    """With `MINIGRAD_NUMPY_ERRORS=raise` each test runs as the program of a user who has NumPy raise its errors."""
    with np.errstate(all=os.environ.get("MINIGRAD_NUMPY_ERRORS")):  # type: ignore[arg-type]  # None leaves all as it is
        yield
