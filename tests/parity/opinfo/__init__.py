"""PyTorch's own samples of its ops, run through both libraries."""
