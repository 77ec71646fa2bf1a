"""Optimisers: mirrors `torch/optim/`. Each file is one rule, written once, under the formula that it computes."""

from minigrad.optim.adam import Adam
from minigrad.optim.adamw import AdamW
from minigrad.optim.optimizer import Optimizer
from minigrad.optim.sgd import SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer"]
