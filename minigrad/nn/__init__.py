"""Neural networks: mirrors `torch/nn`."""

from minigrad.nn import functional, init, modules, parameter
from minigrad.nn.layers import L1Loss, Linear, MSELoss, ReLU, Sigmoid, Tanh
from minigrad.nn.modules import Module, Sequential
from minigrad.nn.parameter import Parameter

__all__ = ["L1Loss", "Linear", "MSELoss", "Module", "Parameter", "ReLU", "Sequential", "Sigmoid", "Tanh", "functional",
           "init", "modules", "parameter"]
