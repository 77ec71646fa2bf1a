"""Neural networks: mirrors `torch/nn`."""

from minigrad.nn import functional, init, parameter
from minigrad.nn.layers import L1Loss, Linear, MSELoss, ReLU, Sigmoid, Tanh
from minigrad.nn.module import Module, Sequential
from minigrad.nn.parameter import Parameter

__all__ = ["L1Loss", "Linear", "MSELoss", "Module", "Parameter", "ReLU", "Sequential", "Sigmoid", "Tanh", "functional",
           "init", "parameter"]
