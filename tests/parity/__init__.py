"""Parity: the same programs, ops and errors under PyTorch 2.13 and under minigrad."""
