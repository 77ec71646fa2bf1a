"""Products and factorisations of matrices, norms and distances."""
