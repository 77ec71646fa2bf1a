"""The reading path: a tensor, its graph, and one backward pass."""
