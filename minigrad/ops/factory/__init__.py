"""Tensors from sizes, from values and from ranges."""
