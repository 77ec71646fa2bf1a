"""The command `minigrad`, also `python -m minigrad`: it passes control to the lessons, and `run` to the launcher.

It is here because the lessons cannot be imported without the packages of their extra, and the command must then
say so. The launcher needs none of them.
"""

import importlib
import sys

from minigrad._base.optional import MissingExtra, optional


def main() -> int:
    """Run the command; return the exit status: 0, or 1 after an error that was explained."""
    if sys.argv[1:2] == ["run"]:
        ended: int = importlib.import_module("minigrad.distributed.launch").main(sys.argv[2:])
        return ended
    try:
        status: int = optional("minigrad_lessons.cli", extra="lessons").main()
    except MissingExtra as error:
        print(f"minigrad: {error}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
