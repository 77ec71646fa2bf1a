"""The ops. Each is registered where it is defined (`@op`), as a function of `torch` and a method of Tensor."""

from minigrad.ops import backward_namespace, operators, public
from minigrad.ops._dispatch.overloads import aten
from minigrad.ops._dispatch.registration import DIRECT_METHODS, FUNCTIONS, METHODS

__all__ = ["DIRECT_METHODS", "FUNCTIONS", "METHODS", "aten", "backward_namespace", "operators", "public"]
