"""Issues warnings at the user's own line, some once per program. Mirrors `torch.set_warn_always`."""

import sys
import warnings

from minigrad._base.type_name import type_name

GIVEN: set[str] = set()
ALWAYS = [False]


def set_warn_always(b: bool, /) -> None:
    """Set whether once-per-program warnings are issued every time; for tests."""
    if not isinstance(b, bool):
        raise RuntimeError(f"setWarnOnlyOnce expects a bool, but got {type_name(b)}")
    ALWAYS[0] = b


def is_warn_always_enabled() -> bool:
    """Whether `set_warn_always` is on."""
    return ALWAYS[0]


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning about the line that called minigrad, however deep in minigrad it is issued."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "minigrad":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def warn_once(text: str) -> None:
    """`warn`, but only the first time that this text is issued in this program."""
    if text not in GIVEN or ALWAYS[0]:
        GIVEN.add(text)
        warn(text)
