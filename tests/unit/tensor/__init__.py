"""Tensors: memory, versions, printing."""
