"""The graph of a trace: where its boxes are, what is folded, and its still picture."""
