"""Unit tests: the folders mirror `minigrad/`."""
