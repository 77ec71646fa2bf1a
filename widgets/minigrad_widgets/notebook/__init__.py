"""What a notebook gets besides widgets: its magics, and the card of an explanation."""

import sys
from typing import Any

__all__ = ["running_shell"]


def running_shell() -> Any:
    """Return IPython's shell, or None where there is none: what has not loaded IPython is no notebook."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()
