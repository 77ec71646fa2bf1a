"""The doctor in a notebook: `explain()` after a cell that raised, and what `%%explain` runs.

The work is done in `minigrad_widgets.doctor`, which shows nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from minigrad_widgets.doctor import Explanation
from minigrad_widgets.doctor import explain as explain_call
from minigrad_widgets.doctor.explain import explained
from minigrad_widgets.doctor.library import library_of
from minigrad_widgets.doctor.recording import run
from minigrad_widgets.notebook import running_shell

__all__ = ["changed_and_read", "explain", "explained_cell"]


def explain(fn: Callable[..., Any] | None = None, *args: Any, rerun: bool = False, **kwargs: Any) -> Explanation:
    """Say in plain words why a program raised, what caused that, and what to do about it.

    explain(train, model, batch)   # runs train(model, batch), and explains what it raises
    explain()                      # in a notebook: runs the cell before, which has raised, once more

    A cell that changes variables that it also reads may do something else when it runs again: then `explain()` asks for
    `rerun=True`.

    Raises:
        RuntimeError: without `fn`, if there is no notebook, if the cell before raised nothing, or if running it again
            needs `rerun=True`.
        TypeError: if `fn` cannot be called.
        Exception: what the program raises, if the doctor does not know it, with a note that says so.
    """
    if fn is not None:
        return explain_call(fn, *args, **({"rerun": rerun} if rerun else {}), **kwargs)
    shell = running_shell()
    if shell is None:
        raise RuntimeError("explain() without a function explains the cell before, and this is no notebook. Call "
                           "explain(fn, *args)")
    last = shell.last_execution_result
    if last is None or last.error_in_exec is None:
        raise RuntimeError("the cell before has raised nothing. Write %%explain as the first line of a cell, or call "
                           "explain(fn, *args)")
    cell = last.info.raw_cell
    again = changed_and_read(shell.transform_cell(cell))
    if again and not rerun:
        raise RuntimeError(f"the cell before changes {', '.join(again)}, which it also reads: run again, it may do "
                           "something else. If that is fine, call explain(rerun=True)")
    print("explain runs the cell before once more, under the recorder.")
    return explained_cell(shell, cell)


def explained_cell(shell: Any, cell: str) -> Explanation:
    """Run a cell under the recorder; explain what it raises."""
    names = {name: value for name, value in shell.user_ns.items() if not name.startswith("_")}
    known = [names["torch"]] if "torch" in names else list(names.values())

    def program() -> None:
        with quiet(shell):
            shell.run_cell(cell, store_history=False).raise_error()

    recording = run(library_of(known), program, shell.user_ns, 1)
    return explained(recording, names, None)


@contextmanager
def quiet(shell: Any) -> Iterator[None]:
    """A block in which no traceback is shown: the error is explained, or shown again by the caller."""
    shell.showtraceback = lambda *args, **kwargs: None
    try:
        yield
    finally:
        del shell.showtraceback


def changed_and_read(source: str) -> list[str]:
    """Return the variables that a cell reads before it rebinds them, or changes by `+=` and the like."""
    read: dict[str, None] = {}
    bound: set[str] = set()
    changed: list[str] = []
    for statement in ast.parse(source).body:
        nodes = list(ast.walk(statement))
        updated = {n.target.id for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
        loads = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} | updated
        stores = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        read.update(dict.fromkeys(sorted(loads - bound)))
        changed += [name for name in sorted(stores) if name in read and name not in changed]
        bound |= stores
    return changed
