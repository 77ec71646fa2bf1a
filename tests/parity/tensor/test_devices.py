"""What scripts ask about GPUs, and the switches that they set: answered as by PyTorch on a machine without a GPU."""

from __future__ import annotations

import importlib
import inspect

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
ASKED = ["is_available", "is_initialized", "is_bf16_supported", "device_count", "seed", "seed_all", "empty_cache",
         "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "synchronize",
         "current_device", "get_device_name", "get_device_capability", "get_device_properties"]
MODULES = ["accelerator", "backends.cuda", "backends.cudnn", "backends.mps", "cuda"]

programs = Programs({
    **{f"cuda.{name}": lambda m, name=name: getattr(m.cuda, name)() for name in ASKED},
    "seeds": lambda m: [m.cuda.manual_seed(3), m.cuda.manual_seed_all(3)],
    "no seed": lambda m: m.cuda.manual_seed("a"),
    "no seeds": lambda m: m.cuda.manual_seed_all("a"),
    "the usual line": lambda m: str(m.device("cuda" if m.cuda.is_available() else "cpu")),
    "accelerator": lambda m: [m.accelerator.is_available(), m.accelerator.device_count(),
                              m.accelerator.current_accelerator(), m.accelerator.current_accelerator(True)],
    "mps": lambda m: [m.backends.mps.is_available(), m.backends.mps.is_built()],
    "built": lambda m: m.backends.cuda.is_built(),
    "on an XPU": lambda m: m.zeros(1, device="xpu"),
    "to an XPU": lambda m: m.ones(1).to("xpu"),
    "tf32": lambda m: m.backends.cuda.matmul.allow_tf32,
    "cudnn": lambda m: [m.backends.cudnn.is_available(), m.backends.cudnn.version()],
    "cudnn as it is": lambda m: [getattr(m.backends.cudnn, name)
                                 for name in ("enabled", "benchmark", "deterministic", "allow_tf32")],
})


@programs
def cudnn_is_switched(m):
    kept = m.backends.cudnn.benchmark, m.backends.cudnn.deterministic
    m.backends.cudnn.benchmark, m.backends.cudnn.deterministic = False, True
    told = m.backends.cudnn.benchmark, m.backends.cudnn.deterministic
    m.backends.cudnn.benchmark, m.backends.cudnn.deterministic = kept
    return told


@programs
def deterministic_algorithms(m):
    told = []
    for mode in (True, False):
        m.use_deterministic_algorithms(mode)
        told.append(m.are_deterministic_algorithms_enabled())
    return told


@programs
def deterministic_by_number_or_word(m):
    told = []
    for mode in (1, "error", "warn", 2, 3, "seldom", None, 1.0, 0, "default"):
        try:
            m.set_deterministic_debug_mode(mode)
        except (RuntimeError, TypeError) as error:
            told.append(str(error))
        told.append((m.get_deterministic_debug_mode(), m.are_deterministic_algorithms_enabled(),
                     m.is_deterministic_algorithms_warn_only_enabled()))
    return told


@programs
def precision_of_products(m):
    told = [m.get_float32_matmul_precision()]
    for precision in ("high", "unheard of", "highest"):
        m.set_float32_matmul_precision(precision)
        told.append(m.get_float32_matmul_precision())
    return told


@pytest.mark.parametrize("name", programs)
def test_answers(torch, every_warning, global_flags, name):
    assert outcome(programs[name], minigrad) == outcome(programs[name], torch)


@pytest.mark.parametrize("module", MODULES)
def test_modules_are_imported_by_name_and_functions_take_what_theirs_take(torch, module):
    mine, theirs = (importlib.import_module(f"{lib}.{module}") for lib in ("minigrad", "torch"))
    for name in mine.__all__:
        own = getattr(mine, name)
        if inspect.isfunction(own):
            assert [*inspect.signature(own).parameters] == [*inspect.signature(getattr(theirs, name)).parameters], name
        else:
            assert hasattr(theirs, name)
