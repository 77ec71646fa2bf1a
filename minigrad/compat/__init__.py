"""Names that are here because programs for PyTorch use them, and that minigrad does not need."""
