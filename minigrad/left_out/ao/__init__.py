"""Where PyTorch keeps `quantization`."""

from minigrad._base.optional import module_getattr

__getattr__ = module_getattr(__name__)
