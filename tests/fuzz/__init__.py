"""Fuzzers that run as long as one likes: `python -m tests.fuzz autograd --minutes 60`."""
