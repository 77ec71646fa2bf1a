"""Reductions, and sorting or counting along a dimension."""
