"""The kernels for GPUs, without one: NVIDIA's compiler takes them, and their bodies say what the array code says."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from cupy_backends.cuda.libs import nvrtc

from minigrad.backends.kernels import KERNELS
from minigrad.backends.philox import Philox, Source, philox
from minigrad.backends.registry import HERE, OF_TYPE

C_TYPES = {"uint64": "unsigned long long"}


def parameters(text):
    return [part.split() for part in text.split(", ")]


def loop(name, head, index):
    """A C function that runs a kernel's body on arrays, for the element of an index."""
    inputs, outputs, body = KERNELS[name]
    given = [f"const {C_TYPES[kind]}* {word}_" for kind, word in parameters(inputs)]
    given += [f"{C_TYPES[kind]}* {word}_" for kind, word in parameters(outputs)]
    inner = [f"const {C_TYPES[kind]} {word} = {word}_[i];" for kind, word in parameters(inputs)]
    inner += [f"{C_TYPES[kind]} {word};" for kind, word in parameters(outputs)]
    stores = [f"{word}_[i] = {word};" for _, word in parameters(outputs)]
    return f"{head} void {name}({', '.join(given)}, long long n) {{ {index} {{\n" + "\n".join(
        [*inner, body, *stores]) + "\n} }\n"


@pytest.mark.parametrize("name", KERNELS)
def test_names_that_cupy_keeps_for_itself_are_not_used(name):
    words = re.findall(r"\b[A-Za-z_]\w*", " ".join(KERNELS[name]))
    assert not [word for word in words if word in ("i", "n") or word.startswith("_")]


@pytest.mark.parametrize("name", KERNELS)
def test_nvidias_compiler_takes_it(name):
    source = loop(name, 'extern "C" __global__', "long long i = blockIdx.x * 256LL + threadIdx.x; if (i < n)")
    try:
        nvrtc.getVersion()
    except (RuntimeError, ImportError) as error:
        pytest.skip(f"NVIDIA's compiler is not installed, the package nvidia-cuda-nvrtc brings it: {error}")
    program = nvrtc.createProgram(source, "kernel.cu", [], [])
    nvrtc.compileProgram(program, ["--gpu-architecture=compute_80"])
    assert f".visible .entry {name}(" in nvrtc.getPTX(program).decode()


@pytest.fixture(scope="module")
def on_the_host(tmp_path_factory):
    """The bodies, compiled with gcc."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("kernels")
    source = [loop(name, "", "for (long long i = 0; i < n; ++i)") for name in KERNELS]
    (folder / "kernels.c").write_text("\n".join(source))
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", folder / "kernels.so", folder / "kernels.c"], check=True)
    library = ctypes.CDLL(str(folder / "kernels.so"))

    def run(name, *inputs):
        arrays = [np.ascontiguousarray(each) for each in np.broadcast_arrays(*inputs)]
        found = [np.empty_like(arrays[0]) for _ in parameters(KERNELS[name].outputs)]
        pointers = [ctypes.c_void_p(each.ctypes.data) for each in (*arrays, *found)]
        getattr(library, name)(*pointers, ctypes.c_longlong(arrays[0].size))
        return found

    return run


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
    source = Source(stream, HERE, 512)
    wanted = source.draw(3000).tolist()
    monkeypatch.setitem(OF_TYPE, np.ndarray, Backend())
    stream.set_offset(0)
    assert source.draw(3000).tolist() == wanted
    assert asked == ["philox"]
