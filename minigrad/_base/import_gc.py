"""Turns the cyclic garbage collector off while minigrad is imported.

NOTE 8 (no collection during import). Importing creates 100,000 objects that stay; Python's cyclic collector, which runs
after every few hundred new objects, finds nothing to collect among them. Turning it off saves a seventh of the time.
"""

import gc

COLLECTING = gc.isenabled()
gc.disable()


def done() -> None:
    """Turn the collector on again, if it was on before."""
    if COLLECTING:
        gc.enable()
