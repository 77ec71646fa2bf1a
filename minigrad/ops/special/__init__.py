"""Special functions, as `torch.special` has them."""
