"""Tensors saved for backward: versions, hooks, names."""
