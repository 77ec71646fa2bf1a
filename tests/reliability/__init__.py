"""Attacks on running programs. `python -m tests.reliability` interrupts each kind of work at every point."""
