"""Modules take PyTorch's arguments: every class of `nn` that is here has its methods, with their names and defaults."""

from __future__ import annotations

import inspect

import pytest

import minigrad

pytestmark = pytest.mark.torch

# Devices and numbers that are not here, processes, the compiler, several GPUs, and a part of attention in C++.
ABSENT = {"compile", "gather", "ipu", "merge_masks", "mtia", "parallel_apply", "replicate", "scatter",
          "share_memory", "xpu"}
CLASSES = sorted(name for name, value in vars(minigrad.nn).items() if inspect.isclass(value))


def arguments(function):
    """Names, kinds and defaults."""
    return [(each.name, each.kind.name, str(each.default).replace("minigrad", "torch").split(" at 0x")[0])
            for each in inspect.signature(function).parameters.values()]


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_") and inspect.isfunction(getattr(cls, name))}


@pytest.mark.parametrize("name", CLASSES)
def test_methods(torch, name):
    theirs, ours = getattr(torch.nn, name), getattr(minigrad.nn, name)
    if issubclass(ours, minigrad.Tensor):
        assert arguments(ours.__new__) == arguments(theirs.__new__)
        return
    assert public(theirs) - public(ours) <= ABSENT
    for method in [*sorted(public(theirs) & public(ours) - {"forward"}), "__init__"]:
        assert arguments(getattr(ours, method)) == arguments(getattr(theirs, method)), method
    if theirs.forward is not torch.nn.Module.forward:
        assert arguments(ours.forward) == arguments(theirs.forward)


def test_hooks_of_all_modules(torch):
    theirs, ours = torch.nn.modules.module, minigrad.nn.modules.module
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in set(ours.__all__) - {"Module"}:
        assert arguments(getattr(ours, name)) == arguments(getattr(theirs, name)), name
