"""Functions of the user's own."""
