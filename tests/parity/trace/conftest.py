"""The reader of PyTorch's graphs is tested with any PyTorch that it supports, not only with the reference."""

from __future__ import annotations

from tests.parity.reference import any_torch as torch

__all__ = ["torch"]
