"""Backends: an array module, and the few functions in which array modules differ.

`cuda`, `cudnn` and `mps` are here because PyTorch has their switches in its `backends`.
"""

from minigrad.backends import cuda as cuda
from minigrad.backends import cudnn as cudnn
from minigrad.backends import mps as mps
