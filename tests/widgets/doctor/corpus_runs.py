"""Runs the programs of the corpus under a library, and says what was found of what was planted."""

from __future__ import annotations

import importlib
import inspect
import linecache
import re
import warnings
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from minigrad_widgets.doctor import Finding, checkup
from tests.widgets.doctor import corpus

__all__ = ["FAULTY", "HEALTHY", "LEARNING", "Planted", "alarms", "findings", "found", "mended", "planted_in"]

MARK = "# <-"
HELPERS = frozenset({"trained", "example", "digits", "sentences"})  # functions of the corpus that are no programs


class Planted(NamedTuple):
    """A program of the corpus, the rule of its fault, and the lines that may be named; a healthy one has no rule."""

    name: str
    program: Callable[[Any], Any]
    rule: str | None
    lines: tuple[int, ...]


def planted_in(module: ModuleType) -> list[Planted]:
    """The programs that a module of the corpus defines."""
    return [planted(name, value) for name, value in vars(module).items()
            if isinstance(value, FunctionType) and value.__module__ == module.__name__ and name not in HELPERS]


def planted(name: str, program: Callable[[Any], Any]) -> Planted:
    """A program with the rule that its name begins with and the lines that are marked."""
    rule = name.split("__")[0].replace("_", "-") if "__" in name else None
    source, start = inspect.getsourcelines(program)
    return Planted(name, program, rule, tuple(start + i for i, line in enumerate(source) if MARK in line))


def modules(*names: str) -> list[Planted]:
    return [each for name in names for each in planted_in(importlib.import_module(f"{corpus.__name__}.{name}"))]


FAULTY = modules("cuts", "effects", "order", "graphs", "numbers", "losses")
LEARNING = modules("learning_updates", "learning_losses", "learning_models")
HEALTHY = modules("healthy_models", "healthy_loops", "healthy_networks", "healthy_examples", "healthy_tricks")


def mended(text: str) -> str:
    """The healthy twin of a program: `#= code` takes the place of the line above it, and `#+ code` is added."""
    lines: list[str] = []
    for line in text.splitlines():
        known = re.match(r"( *)#([=+]) (.*)", line)
        if known is not None and known[2] == "=":
            lines.pop()
        lines.append(line if known is None else known[1] + known[3])
    return "\n".join(lines) + "\n"


def findings(program: Callable[[Any], Any], library: Any) -> list[Finding]:
    """What a checkup finds in a program."""
    library.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of some of the faults, too
        step, given = program(library)[:2]
        linecache.checkcache()
        return checkup(step, **given).findings


def found(each: Planted, library: Any) -> str | None:
    """None if the fault was found with its rule and its line, else what was found in its stead."""
    seen = findings(each.program, library)
    if any(f.rule == each.rule and f.where and f.where[0].line in each.lines for one in seen for f in (one, *one.also)):
        return None
    return f"{each.name}: wanted line {each.lines}, found " + "; ".join(
        f"{f.rule} {[(p.file, p.line) for p in f.where]}" for f in seen)


def alarms(each: Planted, library: Any) -> str | None:
    """What was wrongly found in a healthy program, or None."""
    wrong = [f for f in findings(each.program, library) if f.severity != "note"]
    return f"{each.name}: {', '.join(f'{f.rule}: {f.what}' for f in wrong)}" if wrong else None
