"""The switches of CUDA's libraries: mirrors part of `torch/backends/cuda`.

They are stored, but change nothing: minigrad computes in the precision of the dtype. (CuPy, which does the work, uses
TF32 if the environment variable CUPY_TF32 is 1.)
"""

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from minigrad._base.contexts import contextmanager
from minigrad.backends.registry import count

__all__ = ["cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
           "flash_sdp_enabled", "is_built", "is_flash_attention_available", "math_sdp_enabled", "matmul",
           "mem_efficient_sdp_enabled", "sdp_kernel"]

matmul = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True,
                         allow_bf16_reduced_precision_reduction=True, allow_fp16_accumulation=False,
                         fp32_precision="none")
ATTENTION = {"cudnn": True, "flash": True, "math": True, "mem_efficient": True}  # also set by `nn.attention`
DEPRECATED = (
    "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
    "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.")


def is_built() -> bool:
    """Whether minigrad can use CUDA here: CuPy is installed, and there is a GPU for it."""
    return count("cuda") > 0


def is_flash_attention_available() -> bool:
    """Whether PyTorch's kernels for attention are there: False."""
    return False


def enable_flash_sdp(enabled: bool) -> None:
    """Store whether flash attention may be used."""
    ATTENTION["flash"] = bool(enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Store whether attention may be computed from other ops."""
    ATTENTION["math"] = bool(enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Store whether attention in little memory may be used."""
    ATTENTION["mem_efficient"] = bool(enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Store whether the attention of cuDNN may be used."""
    ATTENTION["cudnn"] = bool(enabled)


def flash_sdp_enabled() -> bool:
    """Whether flash attention may be used."""
    return ATTENTION["flash"]


def math_sdp_enabled() -> bool:
    """Whether attention may be computed from other ops."""
    return ATTENTION["math"]


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention in little memory may be used."""
    return ATTENTION["mem_efficient"]


def cudnn_sdp_enabled() -> bool:
    """Whether the attention of cuDNN may be used."""
    return ATTENTION["cudnn"]


@contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> Iterator[dict[str, Any]]:
    """A block with these choices; deprecated in favour of `nn.attention.sdpa_kernel`."""
    warnings.warn(DEPRECATED, FutureWarning, stacklevel=3)
    before = dict(ATTENTION)
    ATTENTION.update(cudnn=enable_cudnn, flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient)
    try:
        yield {}
    finally:
        ATTENTION.update(before)
