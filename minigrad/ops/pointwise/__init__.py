"""Ops that look at each element by itself: arithmetic, comparison, rounding, elementary functions."""
