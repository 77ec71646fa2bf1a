"""Backends: an array module, and the few functions in which array modules differ.

`cuda`, `cudnn`, `mkl`, `mkldnn`, `mps`, `openmp` and `quantized` are here because PyTorch has their switches in its
`backends`.
"""

from minigrad.backends import cuda as cuda
from minigrad.backends import cudnn as cudnn
from minigrad.backends import mkl as mkl
from minigrad.backends import mkldnn as mkldnn
from minigrad.backends import mps as mps
from minigrad.backends import openmp as openmp
from minigrad.backends import quantized as quantized
