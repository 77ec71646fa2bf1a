"""Prints what the installed PyTorch gives the reader, and what not: `python -m minigrad_widgets.torch_reader`."""

from __future__ import annotations

import os
import sys

import torch

from minigrad_widgets.torch_reader.private import table


def main() -> None:
    """Print a line for each private name, and what is lost for each that is missing."""
    rows = list(table())
    missing = [row for row in rows if row.lost]
    print(f"PyTorch {torch.__version__} gives {len(rows) - len(missing)} of the {len(rows)} private names that the "
          "reader uses.")
    for row in rows:
        print(f"{'missing' if row.lost else 'ok':8}{row.name:21}{row.use}")
        if row.lost:
            print(f"{'':8}{'':21}lost: {row.lost}\n{'':8}{'':21}({row.why})")


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of a pipe, such as `head`, has seen enough; nor may Python's last flush fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
