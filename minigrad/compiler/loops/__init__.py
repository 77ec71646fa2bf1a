"""Statements over the same elements as one loop, which numba compiles."""
