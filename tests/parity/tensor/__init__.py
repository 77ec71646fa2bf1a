"""Tensors as objects: how they are made, copied, printed and shared with NumPy."""
