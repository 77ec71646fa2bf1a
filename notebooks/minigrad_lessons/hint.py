"""Hints in three steps: `hint("walk")` gives the next of the three hints of `check.walk`."""

import sys

from minigrad_lessons import check, notes

_given: dict[str, int] = {}


def hints_of(name: str) -> tuple[str, ...]:
    """The hints of a check: they stand in `HINTS`, in the module of exercises that holds the check."""
    return tuple(getattr(sys.modules[getattr(check, name).__module__], "HINTS", {}).get(name, ()))


def hint(name: str) -> None:
    """Print the next hint of a check, from a nudge to nearly the answer; after the last, the last again."""
    name = name.removeprefix("check.")
    if name not in check.__all__:
        raise KeyError(f"There is no check {name!r}. There are: {', '.join(check.__all__)}.")
    steps = hints_of(name)
    if not steps:
        print(f"check.{name} has no hints.")
        return
    number = _given[name] = min(_given.get(name, 0) + 1, len(steps))
    notes.note("hint", name, str(number))
    print(f"check.{name}, hint {number} of {len(steps)}: {steps[number - 1]}")
