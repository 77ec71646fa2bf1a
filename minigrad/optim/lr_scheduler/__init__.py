"""Schedules of learning rates: mirrors `torch/optim/lr_scheduler.py`.

A schedule changes `group["lr"]` of an optimiser's groups each time that its `step()` is called, after the optimiser's.
"""

from minigrad.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from minigrad.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from minigrad.optim.lr_scheduler.cycles import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from minigrad.optim.lr_scheduler.factors import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from minigrad.optim.lr_scheduler.functions import LambdaLR, MultiplicativeLR
from minigrad.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
           "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler"]
