"""Atheris as the engine of a target: inputs are chosen by what they reach in the code. It needs `pip install atheris`.

It is imported when it is asked for, since it installs on Linux alone, and not for every Python.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.fuzz.files.targets import Target, failure


def run(name: str, target: Target, minutes: float) -> None:
    """Try inputs until the time is over, or one fails: atheris prints it, keeps it in a file, and ends the program."""
    import atheris  # noqa: PLC0415 - see above

    with tempfile.TemporaryDirectory() as corpus:
        for at, whole in enumerate(target.whole()):
            Path(corpus, str(at)).write_bytes(whole)

        def one(data: bytes) -> None:
            how = failure(target, data)
            if how:
                raise AssertionError(f"{name}: {how}")

        for module in [module for module in sys.modules if module.startswith(("minigrad.trace", "minigrad.serial"))]:
            for value in list(vars(sys.modules[module]).values()):
                if callable(value) and hasattr(value, "__code__") and value.__module__ == module:
                    setattr(sys.modules[module], value.__name__, atheris.instrument_func(value))
        longest = 2 * max(map(len, target.whole()))
        atheris.Setup([sys.argv[0], f"-max_total_time={int(60 * minutes)}", f"-max_len={longest}", corpus], one)
        atheris.Fuzz()
