"""Elementwise ops: arithmetic, comparison, rounding, elementary functions."""
