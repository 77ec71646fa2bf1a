"""Layers: printed, drawn from a seed, and run in training and in evaluation, under both libraries."""

from __future__ import annotations

import pytest

from tests.parity.compare import Input, frozen, leaf
from tests.parity.nn.modules import Layer, same_run, same_start

pytestmark = pytest.mark.torch

PICTURE, SIGNAL = leaf(2, 4, 5, 6), leaf(2, 4, 7)
INDICES = Input((2, 3), "int64", positive=True, grad=False)  # 1 and 2


def table(m):
    """Four rows."""
    return m.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])


def untracked(m, layer):
    """A norm whose running statistics were thrown away."""
    layer.running_mean = layer.running_var = None
    return layer


LAYERS: dict[str, Layer] = {
    # linear
    "Identity": (lambda m: m.nn.Identity(54, unused=1), [leaf(2, 3)]),
    "Linear": (lambda m: m.nn.Linear(3, 2), [leaf(4, 3)]),
    "Linear without bias": (lambda m: m.nn.Linear(3, 2, False), [leaf(2, 4, 3)]),
    "Linear of float64": (lambda m: m.nn.Linear(3, 2, dtype=m.float64, device="cpu"), [Input((4, 3), "float64")]),
    "Bilinear": (lambda m: m.nn.Bilinear(3, 2, 4), [leaf(5, 3), leaf(5, 2)]),
    "Bilinear without bias": (lambda m: m.nn.Bilinear(3, 2, 4, bias=False), [leaf(5, 3), leaf(5, 2)]),
    # conv
    "Conv1d": (lambda m: m.nn.Conv1d(4, 6, 3), [SIGNAL]),
    "Conv1d all": (lambda m: m.nn.Conv1d(4, 6, [3], (2,), 1, 2, 2, False), [SIGNAL]),
    "Conv1d circular": (lambda m: m.nn.Conv1d(4, 6, 3, padding=2, padding_mode="circular"), [leaf(4, 7)]),
    "Conv2d": (lambda m: m.nn.Conv2d(4, 6, 3), [PICTURE]),
    "Conv2d all": (lambda m: m.nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), 2, True), [PICTURE]),
    "Conv2d alone": (lambda m: m.nn.Conv2d(4, 6, 3, groups=2, dtype=m.float32), [leaf(4, 5, 6)]),
    "Conv2d same": (lambda m: m.nn.Conv2d(4, 2, (3, 5), padding="same"), [PICTURE]),
    "Conv2d valid": (lambda m: m.nn.Conv2d(4, 2, 3, stride=2, padding="valid"), [PICTURE]),
    "Conv2d same, reflected": (lambda m: m.nn.Conv2d(4, 2, (4, 3), padding="same", padding_mode="reflect"), [PICTURE]),
    "Conv2d valid, replicated": (lambda m: m.nn.Conv2d(4, 2, 3, padding="valid", padding_mode="replicate"), [PICTURE]),
    "Conv2d replicated": (lambda m: m.nn.Conv2d(4, 2, 3, padding=(1, 2), padding_mode="replicate"), [PICTURE]),
    "Conv2d by channel": (lambda m: m.nn.Conv2d(4, 8, 3, groups=4, bias=False), [PICTURE]),
    "Conv2d of many": (lambda m: m.nn.Conv2d(4, 6, 3, padding=1, groups=2), [leaf(150, 4, 12, 12)]),
    "Conv2d of many, strided": (lambda m: m.nn.Conv2d(4, 6, 3, 2, 1, 2), [leaf(331, 4, 12, 12)]),
    "ConvTranspose2d of many": (lambda m: m.nn.ConvTranspose2d(4, 6, 3, 2, groups=2), [leaf(150, 4, 7, 7)]),
    "Conv3d": (lambda m: m.nn.Conv3d(2, 4, 2, 2, 1), [leaf(1, 2, 3, 4, 5)]),
    "Conv3d circular": (lambda m: m.nn.Conv3d(2, 2, 2, padding=1, padding_mode="circular"), [leaf(1, 2, 3, 3, 2)]),
    "ConvTranspose1d": (lambda m: m.nn.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), [SIGNAL]),
    "ConvTranspose2d": (lambda m: m.nn.ConvTranspose2d(4, 6, 3), [PICTURE]),
    "ConvTranspose2d all": (lambda m: m.nn.ConvTranspose2d(4, 6, (3, 2), 3, 1, (1, 0), 2, False, 2), [PICTURE]),
    "ConvTranspose3d": (lambda m: m.nn.ConvTranspose3d(2, 2, 2, stride=2), [leaf(1, 2, 2, 3, 2)]),
    # pooling
    "MaxPool1d": (lambda m: m.nn.MaxPool1d(3, 2, 1), [SIGNAL]),
    "MaxPool1d indices": (lambda m: m.nn.MaxPool1d(2, return_indices=True), [SIGNAL]),
    "MaxPool2d": (lambda m: m.nn.MaxPool2d(2), [PICTURE]),
    "MaxPool2d all": (lambda m: m.nn.MaxPool2d((2, 3), (1, 2), (1, 1), 1, True, True), [PICTURE]),
    "MaxPool2d dilated": (lambda m: m.nn.MaxPool2d(2, dilation=2, stride=1), [leaf(4, 5, 6)]),
    "AvgPool1d": (lambda m: m.nn.AvgPool1d(3), [SIGNAL]),
    "AvgPool1d all": (lambda m: m.nn.AvgPool1d(3, 2, 1, True, False), [SIGNAL]),
    "AvgPool2d": (lambda m: m.nn.AvgPool2d(2), [PICTURE]),
    "AvgPool2d all": (lambda m: m.nn.AvgPool2d((2, 3), (1, 2), 1, True, False, 5), [PICTURE]),
    "AdaptiveAvgPool1d": (lambda m: m.nn.AdaptiveAvgPool1d(3), [SIGNAL]),
    "AdaptiveAvgPool2d": (lambda m: m.nn.AdaptiveAvgPool2d((None, 4)), [PICTURE]),
    "AdaptiveAvgPool2d to one": (lambda m: m.nn.AdaptiveAvgPool2d(1), [PICTURE]),
    "AdaptiveAvgPool3d": (lambda m: m.nn.AdaptiveAvgPool3d((1, 2, 3)), [leaf(1, 2, 3, 4, 5)]),
    "AdaptiveMaxPool1d": (lambda m: m.nn.AdaptiveMaxPool1d(3), [SIGNAL]),
    "AdaptiveMaxPool2d": (lambda m: m.nn.AdaptiveMaxPool2d((None, 4), True), [PICTURE]),
    "AdaptiveMaxPool3d": (lambda m: m.nn.AdaptiveMaxPool3d(2), [leaf(1, 2, 3, 4, 5)]),
    # padding
    "CircularPad1d": (lambda m: m.nn.CircularPad1d((1, 2)), [SIGNAL]),
    "CircularPad2d": (lambda m: m.nn.CircularPad2d(2), [PICTURE]),
    "CircularPad3d": (lambda m: m.nn.CircularPad3d(1), [leaf(1, 2, 2, 3, 2)]),
    "ConstantPad1d": (lambda m: m.nn.ConstantPad1d(2, 3.5), [SIGNAL]),
    "ConstantPad2d": (lambda m: m.nn.ConstantPad2d((1, 0, 2, -1), 1), [PICTURE]),
    "ConstantPad3d": (lambda m: m.nn.ConstantPad3d(1, -2.0), [leaf(1, 2, 2, 3, 2)]),
    "ReflectionPad1d": (lambda m: m.nn.ReflectionPad1d(2), [SIGNAL]),
    "ReflectionPad2d": (lambda m: m.nn.ReflectionPad2d((1, 2, 3, 0)), [PICTURE]),
    "ReflectionPad3d": (lambda m: m.nn.ReflectionPad3d(1), [leaf(1, 2, 2, 3, 2)]),
    "ReplicationPad1d": (lambda m: m.nn.ReplicationPad1d(2), [SIGNAL]),
    "ReplicationPad2d": (lambda m: m.nn.ReplicationPad2d((1, 2, 3, 0)), [PICTURE]),
    "ReplicationPad3d": (lambda m: m.nn.ReplicationPad3d(1), [leaf(1, 2, 2, 3, 2)]),
    "ZeroPad1d": (lambda m: m.nn.ZeroPad1d(2), [SIGNAL]),
    "ZeroPad2d": (lambda m: m.nn.ZeroPad2d((1, 1, 2, 0)), [PICTURE]),
    "ZeroPad3d": (lambda m: m.nn.ZeroPad3d(1), [leaf(1, 2, 2, 3, 2)]),
    # upsampling, fold, shuffles
    "Upsample": (lambda m: m.nn.Upsample(scale_factor=2), [PICTURE]),
    "Upsample to a size": (lambda m: m.nn.Upsample((7, 4), mode="bilinear", align_corners=False), [PICTURE]),
    "Upsample by two factors": (lambda m: m.nn.Upsample(scale_factor=(2, 1.5), mode="bicubic"), [PICTURE]),
    "UpsamplingNearest2d": (lambda m: m.nn.UpsamplingNearest2d(size=(7, 9)), [PICTURE]),
    "UpsamplingBilinear2d": (lambda m: m.nn.UpsamplingBilinear2d(scale_factor=2), [PICTURE]),
    "Unfold": (lambda m: m.nn.Unfold((2, 3), padding=1), [PICTURE]),
    "Fold": (lambda m: m.nn.Fold((4, 5), kernel_size=2, stride=(1, 3)), [leaf(2, 8, 6)]),
    "PixelShuffle": (lambda m: m.nn.PixelShuffle(2), [PICTURE]),
    "PixelUnshuffle": (lambda m: m.nn.PixelUnshuffle(2), [leaf(1, 2, 4, 6)]),
    "ChannelShuffle": (lambda m: m.nn.ChannelShuffle(2), [PICTURE]),
    # norms
    "BatchNorm1d": (lambda m: m.nn.BatchNorm1d(3), [leaf(5, 3)]),
    "BatchNorm1d all": (lambda m: m.nn.BatchNorm1d(4, 0.1, 0.3, False, True), [SIGNAL]),
    "BatchNorm1d without bias": (lambda m: m.nn.BatchNorm1d(4, bias=False), [SIGNAL]),
    "BatchNorm2d": (lambda m: m.nn.BatchNorm2d(4), [PICTURE]),
    "BatchNorm2d, mean of all": (lambda m: m.nn.BatchNorm2d(4, momentum=None), [PICTURE]),
    "BatchNorm2d untracked": (lambda m: m.nn.BatchNorm2d(4, track_running_stats=False), [PICTURE]),
    "BatchNorm2d thrown away": (lambda m: untracked(m, m.nn.BatchNorm2d(4)), [PICTURE]),
    "BatchNorm3d": (lambda m: m.nn.BatchNorm3d(2), [leaf(2, 2, 2, 3, 2)]),
    "InstanceNorm1d": (lambda m: m.nn.InstanceNorm1d(4), [SIGNAL]),
    "InstanceNorm1d alone": (lambda m: m.nn.InstanceNorm1d(4, affine=True), [leaf(4, 7)]),
    "InstanceNorm2d": (lambda m: m.nn.InstanceNorm2d(4, 0.1, 0.2, True, True), [PICTURE]),
    "InstanceNorm2d mean": (lambda m: m.nn.InstanceNorm2d(4, momentum=None, track_running_stats=True), [PICTURE]),
    "InstanceNorm3d": (lambda m: m.nn.InstanceNorm3d(2, affine=True, bias=False), [leaf(2, 2, 2, 3, 2)]),
    "LayerNorm": (lambda m: m.nn.LayerNorm(6), [PICTURE]),
    "LayerNorm all": (lambda m: m.nn.LayerNorm([5, 6], 0.1, True, False), [PICTURE]),
    "LayerNorm plain": (lambda m: m.nn.LayerNorm((5, 6), elementwise_affine=False), [PICTURE]),
    "GroupNorm": (lambda m: m.nn.GroupNorm(2, 4), [PICTURE]),
    "GroupNorm plain": (lambda m: m.nn.GroupNorm(4, 4, 0.1, affine=False), [SIGNAL]),
    "GroupNorm without bias": (lambda m: m.nn.GroupNorm(2, 4, bias=False), [SIGNAL]),
    "RMSNorm": (lambda m: m.nn.RMSNorm(6), [PICTURE]),
    "RMSNorm all": (lambda m: m.nn.RMSNorm([5, 6], 0.1, elementwise_affine=False), [PICTURE]),
    # dropout
    "Dropout": (lambda m: m.nn.Dropout(), [PICTURE]),
    "Dropout in place": (lambda m: m.nn.Dropout(0.25, inplace=True), [frozen(5, 6)]),
    "Dropout1d": (lambda m: m.nn.Dropout1d(0.4), [SIGNAL]),
    "Dropout2d": (lambda m: m.nn.Dropout2d(0.4), [PICTURE]),
    "Dropout3d": (lambda m: m.nn.Dropout3d(), [leaf(2, 2, 2, 3, 2)]),
    "AlphaDropout": (lambda m: m.nn.AlphaDropout(0.2), [PICTURE]),
    "FeatureAlphaDropout": (lambda m: m.nn.FeatureAlphaDropout(0.3), [PICTURE]),
    # sparse
    "Embedding": (lambda m: m.nn.Embedding(4, 2), [INDICES]),
    "Embedding padded": (lambda m: m.nn.Embedding(4, 2, padding_idx=-2), [INDICES]),
    "Embedding all": (lambda m: m.nn.Embedding(4, 2, 0, 0.5, 1.0, True), [INDICES]),
    "Embedding frozen": (lambda m: m.nn.Embedding.from_pretrained(table(m)), [INDICES]),
    "Embedding learns": (
        lambda m: m.nn.Embedding.from_pretrained(table(m), freeze=False, padding_idx=1), [INDICES]),
    # distance
    "CosineSimilarity": (lambda m: m.nn.CosineSimilarity(), [leaf(3, 4), leaf(3, 4)]),
    "CosineSimilarity last": (lambda m: m.nn.CosineSimilarity(-1, 0.5), [leaf(2, 3, 4), leaf(2, 3, 4)]),
    "PairwiseDistance": (lambda m: m.nn.PairwiseDistance(), [leaf(3, 4), leaf(3, 4)]),
    "PairwiseDistance all": (lambda m: m.nn.PairwiseDistance(1.0, 0.1, True), [leaf(3, 4), leaf(3, 4)]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_starts_alike(torch, name):
    same_start(torch, LAYERS[name][0])


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_computes_alike(torch, name, training):
    same_run(torch, *LAYERS[name], training)
