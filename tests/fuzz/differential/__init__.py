"""Random programs about autograd, run side by side under minigrad and PyTorch."""
