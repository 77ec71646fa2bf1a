"""Names that PyTorch programs use, but that minigrad does not need."""
