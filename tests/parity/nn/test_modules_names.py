"""Every class of torch.nn is in minigrad.nn, made and called with the same arguments; or it is named here, with why."""

from __future__ import annotations

import importlib
import inspect

import pytest

from minigrad import nn

pytestmark = pytest.mark.torch

LEFT_OUT = {
    "layers that learn their sizes from the first input": [
        *(f"Lazy{kind}{n}d" for kind in ("BatchNorm", "Conv", "ConvTranspose", "InstanceNorm") for n in (1, 2, 3)),
        "LazyLinear", "UninitializedBuffer", "UninitializedParameter"],
    "several devices": ["DataParallel", "SyncBatchNorm"],
    "old names": ["Container", "CrossMapLRN2d"],
    "their functions are not here": [
        "AvgPool3d", "EmbeddingBag", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d",
        "LocalResponseNorm", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "MultiLabelMarginLoss"],
    "for vocabularies too large for memory": [
        "AdaptiveLogSoftmaxWithLoss", "LinearCrossEntropyLoss", "LinearCrossEntropyOptions"],
}
HIDDEN = {"NLLLoss2d"}  # its decorator hides its arguments
APART = {"MultiheadAttention"}  # its file here is attention.py


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
    assert classes(nn) - {"Parameter", "Buffer"} <= set(nn.modules.__all__) <= set(nn.__all__)


@pytest.mark.parametrize("name", sorted(classes(nn)))
def test_a_class_takes_the_same_arguments(torch, name):
    ours, theirs = getattr(nn, name), getattr(torch.nn, name)
    place = importlib.import_module(theirs.__module__.replace("torch", "minigrad", 1))
    assert name in APART or getattr(place, name) is ours
    if name not in HIDDEN:
        assert arguments(ours) == arguments(theirs)
