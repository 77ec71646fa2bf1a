"""Every class of torch.nn is in minigrad.nn, made and called with the same arguments; or it is named here, with why."""

from __future__ import annotations

import importlib
import inspect

import pytest

from minigrad import nn

pytestmark = pytest.mark.torch

LEFT_OUT = {
    "several devices": ["SyncBatchNorm"],
    "old names": ["Container", "CrossMapLRN2d"],
    "their functions are not here": ["FractionalMaxPool2d", "FractionalMaxPool3d"],
    "for vocabularies too large for memory": [
        "AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions"],
}
HIDDEN = {"NLLLoss2d"}  # its decorator hides its arguments
# Their files here are attention.py and lazy.py.
APART = {"MultiheadAttention", *(name for name in nn.modules.__all__ if name.startswith("Lazy"))}


def classes(lib):
    """The names of the classes of a library's nn."""
    return {name for name in dir(lib) if inspect.isclass(getattr(lib, name)) and name[0].isupper()}


def arguments(call):
    """What a function takes: names, kinds, defaults."""
    return [(p.name, p.kind.name, getattr(p.default, "__name__", str(p.default)))
            for p in inspect.signature(call).parameters.values()]


def test_every_class_is_here_or_left_out(torch):
    left_out = {name for names in LEFT_OUT.values() for name in names}
    missing = classes(torch.nn) - classes(nn)
    assert (sorted(missing - left_out), sorted(left_out - missing)) == ([], [])
    assert classes(nn) <= classes(torch.nn)


def test_modules_names_them_all():
    apart = {"DataParallel", "Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer"}
    assert classes(nn) - apart <= set(nn.modules.__all__) <= set(nn.__all__)


@pytest.mark.parametrize("name", sorted(classes(nn)))
def test_a_class_takes_the_same_arguments(torch, name):
    ours, theirs = getattr(nn, name), getattr(torch.nn, name)
    place = importlib.import_module(theirs.__module__.replace("torch", "minigrad", 1))
    assert name in APART or getattr(place, name) is ours
    if name not in HIDDEN:
        assert arguments(ours) == arguments(theirs)
