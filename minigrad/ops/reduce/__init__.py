"""Reductions, and what sorts or counts along a dimension."""
