"""Activations and losses: printed alike and computed alike, in training and in evaluation."""

from __future__ import annotations

import pytest

from tests.parity.compare import Input, frozen, leaf, positive
from tests.parity.nn.modules import Layer, same_run, same_start

pytestmark = pytest.mark.torch

X = [leaf(3, 4)]
PAIR = [leaf(3, 4), frozen(3, 4)]
CLASSES = Input((3,), "int64", positive=True, grad=False)  # 1 and 2
PLACES = Input((2, 3), "int64", positive=True, grad=False)
SHARES = Input((3, 4), positive=True, grad=False)


SIGNS = Input((3,), "int64", grad=False)  # 1, -1, 2, -2


def of_shares(m, loss):
    """A loss on numbers in (0, 1)."""
    class OfShares(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.loss = loss

        def forward(self, *inputs):
            return self.loss(*[value.sigmoid() for value in inputs])

    return OfShares()


def of_texts(m, loss):
    """A loss of texts of three and of two letters."""
    class OfTexts(m.nn.Module):
        def __init__(self):
            super().__init__()
            self.loss = loss

        def forward(self, x, letters):
            return self.loss(x.log_softmax(-1), letters, (len(x), len(x) - 1), (3, 2))

    return OfTexts()


ACTIVATIONS: dict[str, Layer] = {
    "CELU": (lambda m: m.nn.CELU(1.5), X),
    "ELU": (lambda m: m.nn.ELU(alpha=0.5), X),
    "GELU": (lambda m: m.nn.GELU(), X),
    "GELU tanh": (lambda m: m.nn.GELU("tanh"), X),
    "GLU": (lambda m: m.nn.GLU(), X),
    "GLU of rows": (lambda m: m.nn.GLU(0), [leaf(4, 3)]),
    "Hardshrink": (lambda m: m.nn.Hardshrink(), X),
    "Hardsigmoid": (lambda m: m.nn.Hardsigmoid(), X),
    "Hardswish": (lambda m: m.nn.Hardswish(), X),
    "Hardtanh": (lambda m: m.nn.Hardtanh(), X),
    "Hardtanh all": (lambda m: m.nn.Hardtanh(-0.5, 2, True), [frozen(3, 4)]),
    "LeakyReLU": (lambda m: m.nn.LeakyReLU(), X),
    "LeakyReLU in place": (lambda m: m.nn.LeakyReLU(0.2, True), [frozen(3, 4)]),
    "LogSigmoid": (lambda m: m.nn.LogSigmoid(), X),
    "LogSoftmax": (lambda m: m.nn.LogSoftmax(dim=1), X),
    "Mish": (lambda m: m.nn.Mish(), X),
    "PReLU": (lambda m: m.nn.PReLU(), X),
    "PReLU by channel": (lambda m: m.nn.PReLU(4, 0.5, "cpu", m.float32), X),
    "RReLU": (lambda m: m.nn.RReLU(), X),
    "RReLU in place": (lambda m: m.nn.RReLU(0.1, 0.2, inplace=True), [frozen(3, 4)]),
    "ReLU": (lambda m: m.nn.ReLU(), X),
    "ReLU in place": (lambda m: m.nn.ReLU(inplace=True), [frozen(3, 4)]),
    "ReLU6": (lambda m: m.nn.ReLU6(), X),
    "ReLU6 in place": (lambda m: m.nn.ReLU6(True), [frozen(3, 4)]),
    "SELU": (lambda m: m.nn.SELU(), X),
    "SELU in place": (lambda m: m.nn.SELU(True), [frozen(3, 4)]),
    "SiLU": (lambda m: m.nn.SiLU(), X),
    "SiLU in place": (lambda m: m.nn.SiLU(True), [frozen(3, 4)]),
    "Sigmoid": (lambda m: m.nn.Sigmoid(), X),
    "Softmax": (lambda m: m.nn.Softmax(-1), X),
    "Softmax2d": (lambda m: m.nn.Softmax2d(), [leaf(2, 3, 2, 2)]),
    "Softmin": (lambda m: m.nn.Softmin(dim=0), X),
    "Softplus": (lambda m: m.nn.Softplus(2, 1.5), X),
    "Softshrink": (lambda m: m.nn.Softshrink(0.4), X),
    "Softsign": (lambda m: m.nn.Softsign(), X),
    "Tanh": (lambda m: m.nn.Tanh(), X),
    "Tanhshrink": (lambda m: m.nn.Tanhshrink(), X),
    "Threshold": (lambda m: m.nn.Threshold(0.1, 20), X),
    "Threshold in place": (lambda m: m.nn.Threshold(0.1, -2.5, True), [frozen(3, 4)]),
}
LOSSES: dict[str, Layer] = {
    "BCELoss": (lambda m: of_shares(m, m.nn.BCELoss()), [positive(3, 4), SHARES]),
    "BCELoss weighted": (
        lambda m: of_shares(m, m.nn.BCELoss(m.tensor([1.0, 2.0, 3.0, 4.0]), reduction="sum")),
        [positive(3, 4), SHARES]),
    "BCEWithLogitsLoss": (lambda m: m.nn.BCEWithLogitsLoss(), [leaf(3, 4), SHARES]),
    "BCEWithLogitsLoss weighted": (
        lambda m: m.nn.BCEWithLogitsLoss(m.ones(4), reduction="none", pos_weight=m.tensor([1.0, 2.0, 0.5, 1.0])),
        [leaf(3, 4), SHARES]),
    "CTCLoss": (lambda m: of_texts(m, m.nn.CTCLoss()), [leaf(7, 2, 4), PLACES]),
    "CTCLoss all": (lambda m: of_texts(m, m.nn.CTCLoss(3, "none", True)), [leaf(5, 2, 4), PLACES]),
    "CosineEmbeddingLoss": (lambda m: m.nn.CosineEmbeddingLoss(0.2), [leaf(3, 4), leaf(3, 4), SIGNS]),
    "CrossEntropyLoss": (lambda m: m.nn.CrossEntropyLoss(), [leaf(3, 4), CLASSES]),
    "CrossEntropyLoss all": (
        lambda m: m.nn.CrossEntropyLoss(m.tensor([1.0, 2.0, 0.5]), ignore_index=2, label_smoothing=0.1),
        [leaf(2, 3, 3), PLACES]),
    "CrossEntropyLoss of shares": (lambda m: m.nn.CrossEntropyLoss(reduction="sum"), [leaf(3, 4), SHARES]),
    "GaussianNLLLoss": (lambda m: m.nn.GaussianNLLLoss(), [leaf(3, 4), frozen(3, 4), positive(3, 4)]),
    "GaussianNLLLoss all": (lambda m: m.nn.GaussianNLLLoss(full=True, eps=0.5, reduction="none"),
                            [leaf(3, 4), frozen(3, 4), positive(3, 4)]),
    "HingeEmbeddingLoss": (lambda m: m.nn.HingeEmbeddingLoss(1.2), [leaf(3), SIGNS]),
    "HuberLoss": (lambda m: m.nn.HuberLoss("sum", 0.7), PAIR),
    "KLDivLoss": (lambda m: m.nn.KLDivLoss(reduction="batchmean"), [leaf(3, 4), SHARES]),
    "KLDivLoss of logarithms": (lambda m: m.nn.KLDivLoss(reduction="sum", log_target=True), PAIR),
    "L1Loss": (lambda m: m.nn.L1Loss(), PAIR),
    "MSELoss": (lambda m: m.nn.MSELoss(), PAIR),
    "MSELoss apart": (lambda m: m.nn.MSELoss(reduction="none"), PAIR),
    "MarginRankingLoss": (lambda m: m.nn.MarginRankingLoss(0.3), [leaf(3), leaf(3), SIGNS]),
    "MultiLabelSoftMarginLoss": (lambda m: m.nn.MultiLabelSoftMarginLoss(m.ones(4)), [leaf(3, 4), SHARES]),
    "MultiMarginLoss": (lambda m: m.nn.MultiMarginLoss(2, 0.5, m.tensor([1.0, 2.0, 3.0, 1.0])), [leaf(3, 4), CLASSES]),
    "NLLLoss": (lambda m: m.nn.NLLLoss(), [leaf(3, 4), CLASSES]),
    "NLLLoss all": (lambda m: m.nn.NLLLoss(m.tensor([1.0, 2.0, 0.5]), ignore_index=1, reduction="sum"),
                    [leaf(2, 3, 3), PLACES]),
    "PoissonNLLLoss": (lambda m: m.nn.PoissonNLLLoss(), [leaf(3, 4), SHARES]),
    "PoissonNLLLoss all": (lambda m: m.nn.PoissonNLLLoss(False, True, eps=0.1), [positive(3, 4), SHARES]),
    "SmoothL1Loss": (lambda m: m.nn.SmoothL1Loss(beta=0.5), PAIR),
    "SoftMarginLoss": (lambda m: m.nn.SoftMarginLoss(), [leaf(3), SIGNS]),
    "TripletMarginLoss": (lambda m: m.nn.TripletMarginLoss(), [leaf(3, 4)] * 3),
    "TripletMarginLoss all": (lambda m: m.nn.TripletMarginLoss(0.5, 1.0, 0.1, True, reduction="none"),
                              [leaf(3, 4)] * 3),
    "TripletMarginWithDistanceLoss": (lambda m: m.nn.TripletMarginWithDistanceLoss(margin=0.5), [leaf(3, 4)] * 3),
    "TripletMarginWithDistanceLoss of one's own": (
        lambda m: m.nn.TripletMarginWithDistanceLoss(distance_function=m.nn.CosineSimilarity(), swap=True),
        [leaf(3, 4)] * 3),
}
ALL = ACTIVATIONS | LOSSES


@pytest.mark.parametrize("name", ALL)
def test_it_starts_alike(torch, name):
    same_start(torch, ALL[name][0])


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("name", ALL)
def test_it_computes_alike(torch, name, training):
    same_run(torch, *ALL[name], training)
