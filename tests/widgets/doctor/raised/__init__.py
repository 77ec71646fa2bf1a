"""The errors that people who train with PyTorch ask about most, each raised by a program that looks like theirs.

`# <-` marks the line that `explain` has to name first, and `# made` the line of the layer that is to be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["PROGRAMS", "Raised", "raises"]


class Raised(NamedTuple):
    """A program that raises: the rule that explains it, what its explanation must say, and code its mends must have."""

    program: Callable[[], Any]
    rule: str
    says: tuple[str, ...]
    mend: str


PROGRAMS: dict[str, Raised] = {}


def raises(rule: str, *says: str, mend: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Keep a program, with what its explanation must say."""
    def keep(program: Callable[[], Any]) -> Callable[[], Any]:
        PROGRAMS[program.__name__] = Raised(program, rule, says, mend)
        return program
    return keep
