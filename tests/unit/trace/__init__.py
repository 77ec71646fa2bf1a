"""Recording, traces as data, their files."""
