"""Looks for programs in which the libraries differ."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from types import ModuleType

from tests.fuzz.differential.program import Difference, Pair, shaky, started
from tests.fuzz.differential.statements import Draw, Scope, backward_of_all, drawn, factory


def new_seed() -> int:
    """A seed that nobody has tried; a run prints it, so that it can be tried again."""
    return secrets.randbelow(10**9)


@contextmanager
def every_warning(*libs: ModuleType) -> Iterator[None]:
    """Each library warns each time, so that a program warns alike wherever it stands among others."""
    before = [lib.is_warn_always_enabled() for lib in libs]
    for lib in libs:
        lib.set_warn_always(True)
    try:
        yield
    finally:
        for lib, always in zip(libs, before, strict=True):
            lib.set_warn_always(always)


def program(mine: ModuleType, theirs: ModuleType, seed: int,
            more: Sequence[tuple[int, Draw]] = ()) -> tuple[Pair, Difference | None]:
    """The program of this seed, up to the statement after which the sides differ."""
    random = Random(seed)
    pair = started(mine, theirs, seed)
    if found := pair.step(f"v0 = {factory(Scope(random, {}, 0))}"):
        return pair, found
    count = 0
    for _ in range(random.randint(2, 14)):
        scope = Scope(random, pair.theirs.variables, count)
        statement = drawn(scope, more)
        count = scope.count
        if found := pair.step(statement):
            return pair, found
        if pair.ended:
            return pair, None
    last = backward_of_all(Scope(random, pair.theirs.variables, count)) if random.random() < 0.7 else None
    if last and (found := pair.step(last)):
        return pair, found
    return pair, pair.end()


def written_behind_hooks(statements: list[str]) -> bool:
    """Whether a program writes to tensors after some were saved by `save_on_cpu`, which keeps those of the CPU as they
    are, and whose versions nobody checks."""
    first = next((i for i, statement in enumerate(statements) if "save_on_cpu" in statement), len(statements))
    return any(re.search(r"_\(|Negated|\] [-+*/]?= |\.data\b", statement) for statement in statements[first + 1:])


def differences(mine: ModuleType, theirs: ModuleType, seeds: Iterable[int],
                more: Sequence[tuple[int, Draw]] = ()) -> Iterator[tuple[int, Pair, Difference]]:
    """The programs of these seeds in which the sides differ, and not by rounding alone."""
    with every_warning(mine, theirs):
        for seed in seeds:
            pair, found = program(mine, theirs, seed, more)
            if found and any("inference_mode" in statement for statement in pair.statements):
                found = replace(found, kind="after inference_mode")
            if found and found.kind in ("values", "log") and any("(written)" in each for each in pair.statements):
                found = replace(found, kind="written gradient")
            if found and found.kind in ("values", "log", "error") and written_behind_hooks(pair.statements):
                found = replace(found, kind="written behind hooks")
            if found and found.kind == "log" and any(".data = " in each for each in pair.statements):
                found = replace(found, kind="hooks after .data")
            if found and not (found.hard and shaky(theirs, seed, pair.statements)):
                yield seed, pair, found
