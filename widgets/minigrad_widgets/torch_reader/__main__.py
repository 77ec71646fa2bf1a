"""Prints what the installed PyTorch gives the reader, and what not: `python -m minigrad_widgets.torch_reader`."""

from __future__ import annotations

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
    main()
