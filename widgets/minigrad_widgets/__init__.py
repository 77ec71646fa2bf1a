"""The inspectors of minigrad: they turn traces into pictures to step through, and record nothing themselves.

`inspect` calls the recorder and shows the result; `explain` and `checkup` say what is wrong with a program, and need no
notebook. In a notebook, importing this package registers `%%inspect` and `%%explain`.

`inspector` steps through a trace, `lenses` are views for one question each, `graph` says where boxes and labels go, and
`pictures` draws what stays when no widget can run. `doctor` finds faults, `torch_reader` records PyTorch, `notebook`
has the magics, `widget` what all widgets share, `static` the front end's bundle.

A name is loaded when it is first used: the doctor runs where no widget is installed, and a program that shows nothing
does not wait for what draws. `__init__.pyi` says the same to type checkers; a test compares the two.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from minigrad._base.optional import optional
from minigrad.recorder import register_library
from minigrad_widgets.notebook import running_shell

MODULES = {
    "AliasView": "lenses.alias_view", "Comparison": "lenses.checkpoints", "CompiledStep": "lenses.compiled_step",
    "Inspector": "inspector.inspector", "ParameterLedger": "lenses.parameter_ledger", "RankLanes": "lenses.rank_lanes",
    "StateCard": "lenses.state_card", "StateExplorer": "lenses.state_explorer", "checkup": "doctor",
    "compare": "lenses.checkpoints", "depends": "doctor", "explain": "notebook.explain",
    "explore": "lenses.state_explorer", "inspect": "inspector.inspect", "state_card": "lenses.state_card",
}
__all__ = [*MODULES, "load_ipython_extension"]

register_library(str(Path(__file__).parent))


def __getattr__(name: str) -> Any:
    """Load a name; if it needs a package that is not installed, the error says which extra brings it."""
    if name not in MODULES:
        raise AttributeError(f"module 'minigrad_widgets' has no attribute '{name}'", name=name)
    found = getattr(optional(f"minigrad_widgets.{MODULES[name]}", "widgets"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """Register `%%inspect` and `%%explain`: for `%load_ext minigrad_widgets`, and when a notebook imports this."""
    import_module("minigrad_widgets.notebook.magics").register(shell)


if (shell := running_shell()) is not None:
    load_ipython_extension(shell)
