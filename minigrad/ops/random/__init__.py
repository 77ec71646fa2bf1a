"""Random numbers and the generators that they come from."""
