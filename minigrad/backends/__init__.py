"""Backends: an array module, and the few functions in which array modules differ.

`cuda`, `cudnn`, `mkl`, `mkldnn`, `mps`, `openmp` and `quantized` are here because PyTorch has their switches in its
`backends`.
"""

from minigrad._base.optional import module_getattr
from minigrad.backends import cuda as cuda
from minigrad.backends import cudnn as cudnn
from minigrad.backends import mps as mps

__getattr__ = module_getattr(__name__)
