"""Losses: mirrors `torch/nn/modules/loss.py`.

`reduction` is 'mean', 'sum' or 'none'. The two flags `size_average` and `reduce`, PyTorch's old way, warn.
"""

import warnings
from collections.abc import Callable
from dataclasses import InitVar
from typing import Any

from minigrad.core import Tensor
from minigrad.nn import functional as F
from minigrad.nn.modules.distance import PairwiseDistance
from minigrad.nn.modules.utils import Layer
from minigrad.ops.nn.loss import reduction_of

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
           "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "MarginRankingLoss",
           "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d",
           "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss"]

Flag = bool | None


class _Loss(Layer, printed=()):
    size_average: InitVar[Flag] = None
    reduce: InitVar[Flag] = None
    reduction: str = "mean"

    def __post_init__(self, size_average: Flag, reduce: Flag) -> None:
        self.reduction = reduction_of(size_average, reduce, self.reduction, stacklevel=5)


class _LossOfPair(_Loss):
    """A loss of an input and a target, whose function gets the settings as keyword arguments."""

    def forward(self, input: Tensor, target: Tensor) -> Any:
        return self._function(input, target, **{name: getattr(self, name) for name in self._arguments})


class _WeightedLoss(_LossOfPair, arguments=("weight", "reduction")):
    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_LossOfPair, function=F.l1_loss):
    """|x - y|."""


class MSELoss(_LossOfPair, function=F.mse_loss):
    """(x - y)²."""


class SmoothL1Loss(_LossOfPair, function=F.smooth_l1_loss):
    """(x - y)² / (2 β) where |x - y| < β, else |x - y| - β / 2."""

    beta: float = 1.0


class HuberLoss(_LossOfPair, function=F.huber_loss, arguments=("reduction", "delta")):
    """(x - y)² / 2 where |x - y| < δ, else δ (|x - y| - δ / 2)."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta


class NLLLoss(_WeightedLoss, function=F.nll_loss, arguments=("weight", "ignore_index", "reduction")):
    """-x[target]: `input` holds log-probabilities (N, C, *), `target` classes (N, *); `ignore_index` does not count."""

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
                 reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index


class NLLLoss2d(NLLLoss):
    """The old name of NLLLoss, which warns."""

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
                 reduce: Flag = None, reduction: str = "mean") -> None:
        warnings.warn("`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
                      "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.", FutureWarning,
                      stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class CrossEntropyLoss(_WeightedLoss, function=F.cross_entropy,
                       arguments=("weight", "ignore_index", "reduction", "label_smoothing")):
    """-log softmax(x)[target]: `input` (N, C, *); `target` classes (N, *), or probabilities of the input's shape."""

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, ignore_index: int = -100,
                 reduce: Flag = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing


class PoissonNLLLoss(_Loss):
    """exp(x) - y x, or x - y log(x + eps) where `log_input` is False; `full` adds Stirling's term."""

    def __init__(self, log_input: bool = True, full: bool = False, size_average: Flag = None, eps: float = 1e-8,
                 reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(log_input, target, self.log_input, self.full, eps=self.eps, reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """(log(var) + (x - y)² / var) / 2, with var at least eps; `full` adds log(2π) / 2."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, self.full, self.eps, self.reduction)


class KLDivLoss(_LossOfPair, function=F.kl_div):
    """y (log y - x), where x is a logarithm, and y too if `log_target`; 'batchmean' is the mean over the batch."""

    log_target: bool = False


class BCELoss(_WeightedLoss, function=F.binary_cross_entropy):
    """-(y log x + (1 - y) log(1 - x)), with logarithms of at least -100."""


class BCEWithLogitsLoss(_WeightedLoss, function=F.binary_cross_entropy_with_logits,
                        arguments=("weight", "reduction", "pos_weight")):
    """BCELoss of sigmoid(x), without its overflow; `pos_weight` is the weight of positive targets."""

    def __init__(self, weight: Tensor | None = None, size_average: Flag = None, reduce: Flag = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.register_buffer("pos_weight", pos_weight)


class SoftMarginLoss(_LossOfPair, function=F.soft_margin_loss):
    """log(1 + exp(-y x)), where y is 1 or -1."""


class MultiLabelSoftMarginLoss(_WeightedLoss, function=F.multilabel_soft_margin_loss):
    """BCEWithLogitsLoss, the mean over classes: input and target (N, C)."""


class HingeEmbeddingLoss(_LossOfPair, function=F.hinge_embedding_loss, arguments=("margin", "reduction")):
    """x where y is 1, max(0, margin - x) where it is -1."""

    def __init__(self, margin: float = 1.0, size_average: Flag = None, reduce: Flag = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class _MarginLoss(_Loss):
    """A loss of two inputs and a target that says how they should compare."""

    def __init__(self, margin: float = 0.0, size_average: Flag = None, reduce: Flag = None,
                 reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Any:
        return self._function(input1, input2, target, self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss, function=F.cosine_embedding_loss):
    """1 - cos(x1, x2) where y is 1, max(0, cos(x1, x2) - margin) where it is -1."""


class MarginRankingLoss(_MarginLoss, function=F.margin_ranking_loss):
    """max(0, -y (x1 - x2) + margin), where y is 1 or -1."""


class MultiLabelMarginLoss(_LossOfPair, function=F.multilabel_margin_loss):
    """The sum over target classes j and all others i of max(0, 1 - (x[j] - x[i])), over the number of classes.

    The targets of a sample end at its first -1.
    """


class MultiMarginLoss(_WeightedLoss, function=F.multi_margin_loss, arguments=("p", "margin", "weight", "reduction")):
    """The mean over classes c ≠ y of max(0, margin - x[y] + x[c]) to the power p, 1 or 2."""

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Flag = None,
                 reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead")
        self.p, self.margin = p, margin


class TripletMarginLoss(_Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), where d is the distance in the p-norm."""

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False,
                 size_average: Flag = None, reduce: Flag = None, reduction: str = "mean") -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead")
        self.margin, self.p, self.eps, self.swap = margin, p, eps, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, self.margin, self.p, self.eps, self.swap,
                                     reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """TripletMarginLoss with your own distance."""

    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
                 swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(None, None, reduction)
        if margin <= 0:
            raise ValueError("TripletMarginWithDistanceLoss: expected margin to be greater than 0, "
                             f"got {margin} instead")
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(anchor, positive, negative,
                                                   distance_function=self.distance_function, margin=self.margin,
                                                   swap=self.swap, reduction=self.reduction)


class CTCLoss(_Loss):
    """-log of the probability of the targets, over all alignments with the sequence: log_probs (T, N, C) or (T, C).

    `zero_infinity`: 0, and no gradient, if the targets do not fit into the sequence.
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                          self.zero_infinity)
