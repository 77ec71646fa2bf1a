"""A device for machines that have none: see `standin.py`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from minigrad.backends import registry
from tests.device.host_kernels import Fusing, HostKernels
from tests.device.standin import StandIn
from tests.device.strict import COUNTS, OWNERS


def pytest_configure(config: pytest.Config) -> None:
    """Also where a test is run without the project's settings, as `benchmarks.gpu` does."""
    config.addinivalue_line("markers", "gpu: needs an NVIDIA GPU")


@pytest.fixture
def cuda() -> Iterator[StandIn]:
    """`device="cuda"` is the stand-in."""
    before = registry.BACKENDS.copy(), registry.BACKEND_OF.copy()
    backend = StandIn()
    registry.install(backend)
    COUNTS.to_host = COUNTS.current = 0
    yield backend
    OWNERS.clear()
    registry.MultiDevice.set_active(False)
    registry.BACKENDS.clear()
    registry.BACKENDS.update(before[0])
    registry.BACKEND_OF.clear()
    registry.BACKEND_OF.update(before[1])
    registry.ARRAYS = tuple([each for each in registry.ARRAYS if each is not backend.array_type])


@pytest.fixture(scope="session")
def on_the_host(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    """The kernels for GPUs, compiled with gcc."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    return HostKernels(tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def fused(cuda: StandIn, on_the_host: HostKernels) -> Fusing:
    """`device="cuda"` is the stand-in with kernels."""
    backend = Fusing(on_the_host)
    registry.install(backend)
    return backend
