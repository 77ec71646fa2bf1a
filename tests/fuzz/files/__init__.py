"""Damaged files: each is refused by one kind of error, or read as something that can be used."""
