"""Turns the cyclic garbage collector off while minigrad is imported.

NOTE 8 (no collection during import). Importing makes 100,000 objects that stay; Python's cyclic collector, which runs
each time that some hundreds were made, finds nothing to collect among them. Not to look takes a seventh off the time.
"""

import gc

COLLECTING = gc.isenabled()
gc.disable()


def done() -> None:
    """Let the collector run again, if it ran before."""
    if COLLECTING:
        gc.enable()
