"""What layers refuse, and of what they warn: the same program under both libraries."""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.outcome import Programs

pytestmark = pytest.mark.torch


def size_of(m, *sizes, **words):
    """The shape that a transposed convolution comes to."""
    layer = m.nn.ConvTranspose2d(1, 1, 3, **words)
    return list(layer(m.ones(1, 1, 4, 4), output_size=list(sizes)).shape)


def loaded(m, layer, *without):
    """Load a state that lacks some names and has no version."""
    state = {name: value for name, value in layer.state_dict().items() if name not in without}
    return str(layer.load_state_dict(state))


def noted(m, layer, *batches):
    """The state after a few batches."""
    for batch in batches:
        layer(batch)
    return list(layer.state_dict().items())


CASES = Programs({
    # linear
    "bilinear of nothing": lambda m: m.nn.Bilinear(0, 2, 3),
    "linear of other features": lambda m: m.nn.Linear(3, 2)(m.ones(2, 4)),
    "linear of nothing": lambda m: m.nn.Linear(0, 2).weight.shape,
    "linear without features": lambda m: m.nn.Linear(3),
    "linear of a negative size": lambda m: m.nn.Linear(-1, 2),
    "linear of float64": lambda m: m.nn.Linear(2, 2)(m.ones(2, 2, dtype=m.float64)),
    # conv
    "no groups": lambda m: m.nn.Conv2d(4, 4, 3, groups=0),
    "input channels": lambda m: m.nn.Conv1d(3, 4, 3, groups=2),
    "output channels": lambda m: m.nn.Conv2d(4, 3, 3, groups=2),
    "word of padding": lambda m: m.nn.Conv2d(4, 4, 3, padding="full"),
    "same with strides": lambda m: m.nn.Conv2d(4, 4, 3, 2, padding="same"),
    "padding mode transposed": lambda m: m.nn.ConvTranspose1d(4, 4, 3, padding_mode="circular"),
    "conv of other channels": lambda m: m.nn.Conv2d(4, 4, 3)(m.ones(1, 3, 5, 5)),
    "conv too large": lambda m: m.nn.Conv2d(4, 4, 7)(m.ones(1, 4, 5, 5)),
    "conv of other dimensions": lambda m: m.nn.Conv2d(4, 4, 3)(m.ones(1, 1, 4, 5, 5)),
    "output sizes": lambda m: [size_of(m, n, n + 1, stride=2) for n in (9,)],
    "output sizes, all dimensions": lambda m: size_of(m, 1, 1, 10, 9, stride=2),
    "output sizes, too many": lambda m: size_of(m, 1, 10, 9, stride=2),
    "output sizes, too large": lambda m: size_of(m, 11, 9, stride=2),
    "output sizes, too small": lambda m: size_of(m, 9, 6, stride=2, dilation=2, padding=1),
    # norms
    "batch norm of one": lambda m: m.nn.BatchNorm1d(3)(m.ones(1, 3)),
    "batch norm 1d dimensions": lambda m: m.nn.BatchNorm1d(3)(m.ones(3)),
    "batch norm 2d dimensions": lambda m: m.nn.BatchNorm2d(3)(m.ones(2, 3)),
    "batch norm 3d dimensions": lambda m: m.nn.BatchNorm3d(3)(m.ones(2, 3, 1, 1)),
    "batch norm channels": lambda m: m.nn.BatchNorm2d(3)(m.ones(2, 4, 1, 1)),
    "instance norm dimensions": lambda m: m.nn.InstanceNorm2d(3)(m.ones(2, 3)),
    "instance norm channels": lambda m: m.nn.InstanceNorm2d(3)(m.arange(16.0).view(2, 2, 2, 2)),
    "instance norm channels alone": lambda m: m.nn.InstanceNorm1d(3)(m.arange(8.0).view(2, 4)),
    "instance norm channels with weights": lambda m: m.nn.InstanceNorm2d(3, affine=True)(m.ones(2, 4, 2, 2)),
    "group norm channels": lambda m: m.nn.GroupNorm(3, 4),
    "layer norm shape": lambda m: m.nn.LayerNorm([2, 3])(m.ones(3, 3)),
    # dropout
    "dropout below": lambda m: m.nn.Dropout(-0.1),
    "dropout above": lambda m: m.nn.FeatureAlphaDropout(1.5),
    "dropout2d of a picture alone": lambda m: m.nn.Dropout2d(0.0)(m.ones(2, 3, 3)),
    # sparse
    "padding index above": lambda m: m.nn.Embedding(3, 2, 3),
    "padding index below": lambda m: m.nn.Embedding(3, 2, -4),
    "weight of another shape": lambda m: m.nn.Embedding(3, 2, _weight=m.ones(2, 3)),
    "pretrained of one dimension": lambda m: m.nn.Embedding.from_pretrained(m.ones(3)),
    "index above": lambda m: m.nn.Embedding(3, 2)(m.tensor([3])),
    "index of floats": lambda m: m.nn.Embedding(3, 2)(m.tensor([1.0])),
    # activations
    "hardtanh bounds": lambda m: m.nn.Hardtanh(1, -1),
    "hardtanh old words": lambda m: repr(m.nn.Hardtanh(min_value=-2, max_value=3)),
    "softmax2d dimensions": lambda m: m.nn.Softmax2d()(m.ones(2, 3)),
    "softmax without a dimension": lambda m: m.nn.Softmax()(m.ones(2, 3)),
    "log_softmax without a dimension": lambda m: m.nn.LogSoftmax()(m.ones(3)),
    "softmin without a dimension": lambda m: m.nn.Softmin()(m.ones(1, 2, 3)),
    "prelu of other channels": lambda m: m.nn.PReLU(3)(m.ones(2, 2)),
    "glu of an odd dimension": lambda m: m.nn.GLU()(m.ones(3)),
    "relu in place on a leaf": lambda m: m.nn.ReLU(True)(m.ones(3, requires_grad=True)),
    # padding
    "circular dimensions": lambda m: m.nn.CircularPad2d(1)(m.ones(2, 3)),
    "reflection too wide": lambda m: m.nn.ReflectionPad1d(3)(m.ones(1, 2, 3)),
    "upsample nothing": lambda m: m.nn.Upsample()(m.ones(1, 1, 2, 2)),
    "upsample both": lambda m: m.nn.Upsample(4, 2.0)(m.ones(1, 1, 2, 2)),
    # losses
    "size_average": lambda m: m.nn.L1Loss(size_average=False).reduction,
    "reduce": lambda m: m.nn.CrossEntropyLoss(reduce=False).reduction,
    "size_average and reduce": lambda m: m.nn.MSELoss(True, True).reduction,
    "unknown reduction": lambda m: m.nn.MSELoss(reduction="most")(m.ones(2), m.ones(2)),
    "huber delta": lambda m: m.nn.HuberLoss(delta="1"),
    "multi margin power": lambda m: m.nn.MultiMarginLoss(3),
    "multi margin weight": lambda m: m.nn.MultiMarginLoss(weight=m.ones(2, 2)),
    "triplet margin": lambda m: m.nn.TripletMarginLoss(-1.0),
    "triplet margin with distance": lambda m: m.nn.TripletMarginWithDistanceLoss(margin=0),
    "mean of the batch": lambda m: m.nn.KLDivLoss()(m.ones(2, 2), m.ones(2, 2)),
    "nll 2d": lambda m: repr(m.nn.NLLLoss2d(ignore_index=3)),
    "classes out of range": lambda m: m.nn.CrossEntropyLoss()(m.ones(2, 3), m.tensor([0, 3])),
    "no chance for what is ignored": lambda m: m.nn.NLLLoss()(
        m.tensor([[-float("inf"), 1.0], [2.0, 3.0]]), m.tensor([-100, 1])),
    "mse of other shapes": lambda m: m.nn.MSELoss()(m.ones(2, 1), m.ones(2)),
    # state
    "a state without batches": lambda m: loaded(m, m.nn.BatchNorm1d(2), "num_batches_tracked"),
    "a state without a mean": lambda m: loaded(m, m.nn.BatchNorm1d(2), "running_mean"),
    "statistics that are not tracked": lambda m: m.nn.InstanceNorm1d(2).load_state_dict(
        {"running_mean": m.zeros(2), "running_var": m.ones(2)}),
    "batches noted": lambda m: noted(m, m.nn.BatchNorm1d(2), m.ones(2, 2), m.arange(6.0).view(3, 2)),
    "the mean of batches": lambda m: noted(
        m, m.nn.BatchNorm1d(2, momentum=None), m.ones(2, 2), m.arange(6.0).view(3, 2), m.zeros(3, 2)),
    "batches forgotten": lambda m: [noted(m, norm := m.nn.BatchNorm1d(2), m.arange(6.0).view(3, 2)),
                                    norm.reset_running_stats(), noted(m, norm)],
    "old versions": lambda m: [m.nn.BatchNorm1d(2).state_dict()._metadata, m.nn.Linear(1, 1).state_dict()._metadata],
})


@pytest.mark.parametrize("name", CASES)
def test_both_refuse_alike(torch, name):
    alike(torch, CASES[name])


def test_padding_mode(torch):
    """The modes are printed as a set, whose order is that of hashes."""
    def said(m):
        with pytest.raises(ValueError) as caught:
            m.nn.Conv2d(4, 4, 3, padding_mode="constant")
        return sorted(str(caught.value).replace("{", " ").replace("}", " ").replace(",", " ").split())

    assert said(minigrad) == said(torch)
