"""The kernels for GPUs, without one: NVIDIA's compiler takes them, and their bodies say what the array code says."""

from __future__ import annotations

import re

import cupy
import numpy as np
import pytest
from cupy_backends.cuda.libs import nvrtc

from minigrad.backends.curand import Philox, Source, philox
from minigrad.backends.kernels import KERNELS, ROW_KERNELS
from minigrad.backends.registry import BACKEND_OF, HOST
from tests.device.host_kernels import parameters, reals, source

EVERY = [(name, real) for name in KERNELS for real in reals(name)]


@pytest.mark.parametrize("name", KERNELS)
def test_names_that_cupy_keeps_for_itself_are_not_used(name):
    words = re.findall(r"\b[A-Za-z_]\w*", " ".join(KERNELS[name]))
    assert not [word for word in words if word in ("i", "n") or word.startswith("_")]


@pytest.mark.parametrize(("name", "real"), EVERY)
def test_nvidias_compiler_takes_it(name, real):
    code = source(name, real, 'extern "C" __global__', "long long i = blockIdx.x * 256LL + threadIdx.x; if (i < n)")
    made = compiled(code)
    assert f".visible .entry {name}_{real}(" in made
    if real == "float32":  # doubles would be many times slower on most GPUs
        assert ".f64" not in made


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("name", ROW_KERNELS)
def test_nvidias_compiler_takes_it_for_rows(name, real):
    made = compiled(ROW_KERNELS[name].source(real))
    assert ".visible .entry rows(" in made and "shfl.sync" in made
    if real == "float":
        assert ".f64" not in made


def compiled(code):
    """What NVIDIA's compiler makes of a program."""
    try:
        nvrtc.getVersion()
    except (RuntimeError, ImportError) as error:
        pytest.skip(f"NVIDIA's compiler is not installed, the package nvidia-cuda-nvrtc brings it: {error}")
    program = nvrtc.createProgram(code, "kernel.cu", [], [])
    nvrtc.compileProgram(program, ["--gpu-architecture=compute_80"])
    return nvrtc.getPTX(program).decode()


@pytest.mark.parametrize("name", KERNELS)
def test_cupy_takes_its_parameters(name):
    made = cupy.ElementwiseKernel(*KERNELS[name], f"minigrad_{name}")
    assert made.nin == len(parameters(KERNELS[name].inputs)) and made.nout == len(parameters(KERNELS[name].outputs))


@pytest.mark.parametrize("key", [0, 1, 2**64 - 1, 0x1234567890ABCDEF])
def test_philox_is_the_array_code(on_the_host, key):
    calls = np.array([0, 1, 2**32 - 1, 2**32, 2**40 + 5], np.uint64)[:, None]
    threads = np.arange(300, dtype=np.uint64)[None, :]
    low = np.uint64(2**32 - 1)
    wanted = philox((calls & low, calls >> np.uint64(32), threads, np.uint64(0)), key)
    for ours, theirs in zip(on_the_host("philox", calls, threads, np.uint64(key)), wanted, strict=True):
        assert np.array_equal(ours, np.broadcast_to(theirs, ours.shape))


def test_a_source_asks_for_the_kernel_where_its_numbers_are_made(on_the_host, monkeypatch):
    class Backend:
        def fused(self, name):
            asked.append(name)
            return lambda *inputs: on_the_host(name, *inputs)

    asked, stream = [], Philox()
    stream.manual_seed(5)
    source = Source(stream, HOST, 512)
    wanted = source.draw(3000).tolist()
    monkeypatch.setitem(BACKEND_OF, np.ndarray, Backend())
    stream.set_offset(0)
    assert source.draw(3000).tolist() == wanted
    assert asked == ["philox"]
