"""Optimisers: mirrors `torch/optim/`. Each file has one rule, written once, below the formula that it computes."""

from typing import TYPE_CHECKING

from minigrad._base.optional import module_getattr
from minigrad.optim import lr_scheduler, swa_utils
from minigrad.optim._matrices import Adafactor, Muon
from minigrad.optim.adadelta import Adadelta
from minigrad.optim.adagrad import Adagrad
from minigrad.optim.adam import Adam
from minigrad.optim.adamax import Adamax
from minigrad.optim.adamw import AdamW
from minigrad.optim.asgd import ASGD
from minigrad.optim.lbfgs import LBFGS
from minigrad.optim.nadam import NAdam
from minigrad.optim.optimizer import Optimizer
from minigrad.optim.radam import RAdam
from minigrad.optim.rmsprop import RMSprop
from minigrad.optim.rprop import Rprop
from minigrad.optim.sgd import SGD

__all__ = ["ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam",
           "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler", "swa_utils"]

if not TYPE_CHECKING:  # a type checker reports missing names by itself
    __getattr__ = module_getattr(__name__)
