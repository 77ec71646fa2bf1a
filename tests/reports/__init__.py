"""Public reports of faults of PyTorch, and of programs that train with it, each as a small program in our own words."""
