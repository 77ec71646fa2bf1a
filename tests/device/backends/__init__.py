"""CuPy's backend: memory, kernels, products, random bits."""
