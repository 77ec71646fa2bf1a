"""Random numbers and their generators."""
