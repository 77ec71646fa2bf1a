"""`%%inspect` and `%%explain`, and the card of an explanation: registered with a shell, loaded when they are used."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.display import display

__all__ = ["explain_magic", "inspect_magic", "register"]


class Options(argparse.ArgumentParser):
    """The options of `%%inspect`; a wrong one is an error of the cell, not the end of the kernel."""

    def __init__(self, lenses: Sequence[str]) -> None:
        super().__init__(prog="%%inspect", add_help=False)
        self.add_argument("name", nargs="?", help="the variable that is to hold the inspector")
        self.add_argument("--lens", choices=lenses, default="backward", help="what is shown first")
        self.add_argument("--torch", action="store_true", help="the cell uses PyTorch")

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.format_usage()}{message}")


def inspect_magic(line: str, cell: str) -> None:
    """Record a cell, and show it in an inspector: `%%inspect [name] [--lens LENS] [--torch]`.

    The cell runs as usual: it prints, shows its last value, and its variables stay. With `name`, a variable of that
    name holds the inspector. PyTorch is recorded if the variable `torch` is PyTorch, or with --torch.
    """
    tools: Any = import_module("minigrad_widgets.inspector.inspect")
    given = Options(tools.LENSES).parse_args(shlex.split(line))
    shell: Any = get_ipython()
    torch = given.torch or tools.uses_torch([shell.user_ns.get("torch")])
    with suppress(Exception), tools.recorder(shell.user_ns, torch) as trace:  # run_cell has already shown the error
        shell.run_cell(cell).raise_error()
    inspector = tools.Inspector(trace, lens=given.lens)
    if given.name:
        shell.user_ns[given.name] = inspector
    display(inspector)  # type: ignore[no-untyped-call]  # IPython has no type for it


def explain_magic(line: str, cell: str) -> None:
    """Run a cell under the recorder, and show why it raised: `%%explain`.

    The cell runs as usual: it prints, shows its last value, and its variables stay. Instead of a traceback there is a
    card; an error that is not autograd's is shown as usual.
    """
    if line.strip():
        raise UsageError(f"%%explain takes no options, and got {line.strip()!r}")
    explained = import_module("minigrad_widgets.notebook.explain").explained_cell(get_ipython(), cell)
    display(explained)  # type: ignore[no-untyped-call]  # IPython has no type for it


def card(explanation: Any, **kwargs: Any) -> Any:
    """Return an explanation as a notebook shows it: with a button that opens an inspector."""
    return import_module("minigrad_widgets.notebook.explanation_card").bundle(explanation, **kwargs)


def register(shell: Any) -> None:
    """Register the magics with a shell and, where widgets are installed, the card with the button."""
    shell.register_magic_function(inspect_magic, "cell", "inspect")
    shell.register_magic_function(explain_magic, "cell", "explain")
    if find_spec("anywidget"):
        formatter = shell.display_formatter.mimebundle_formatter
        formatter.for_type_by_name("minigrad_widgets.doctor.explain", "Explanation", card)
