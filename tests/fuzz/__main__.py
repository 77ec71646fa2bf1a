"""`python -m tests.fuzz TARGET --minutes 60`: tries random inputs until the time is over, and prints what fails.

`autograd`: random programs, under minigrad and PyTorch; `training`: those that also train, load data and
differentiate twice; `transforms`: random compositions of `torch.func`. `traces` (byte by byte), `schema` (traces in
which a value is another one), `saved`, `archives`, `progress` and `manifests`: damaged files. `pages`: damaged
exported pages, in Chromium. `folders`: commands that run at once in a folder of lessons. What fails is kept in
tests/fuzz/files/cases, and tried from then on by the tests and at the beginning of each run. `--engine atheris` has
atheris choose the damages, where it is installed.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import torch

import minigrad
from tests.fuzz import transforms
from tests.fuzz.differential.program import replayed, shortened
from tests.fuzz.differential.search import differences, new_seed
from tests.fuzz.differential.statements import Draw
from tests.fuzz.differential.training import MORE
from tests.fuzz.files import coverage_guided
from tests.fuzz.files.targets import CASES, cases, damaged_file, failure
from tests.fuzz.files.targets import TARGETS as FILES

SLOW, MUCH = 5.0, 5  # a file is told of, too, that takes so many seconds and so many times what a whole one takes


def seeds(first: int, count: int | None, minutes: float) -> Iterator[int]:
    """The seeds of a run: so many, or as many as fit into the time."""
    end = time.monotonic() + 60 * minutes
    for number in itertools.count(first) if count is None else range(first, first + count):
        if count is None and time.monotonic() > end:
            return
        yield number


def autograd(tried: Iterator[int], more: Sequence[tuple[int, Draw]] = ()) -> int:
    """Programs about autograd, run under minigrad and PyTorch; gives how many differ in what must be equal."""
    kinds: Counter[str] = Counter()
    found = 0
    for number, pair, difference in differences(minigrad, torch, tried, more):
        kinds[difference.kind] += 1
        if difference.hard:
            found += 1
            short = shortened(minigrad, torch, number, pair.statements)
            difference = replayed(minigrad, torch, number, short) or difference
            print(f"\nseed {number}: {difference.kind} {difference.name}", *short, f"minigrad: {difference.mine}",
                  f"PyTorch:  {difference.theirs}", sep="\n    ", flush=True)
    print(f"\n{found} programs differ in what must be equal; all differences by kind:", dict(kinds.most_common()))
    return found


def files(name: str, tried: Iterator[int]) -> int:
    """Damaged files of a kind; gives how many end in another error than the one that is meant for it."""
    found = count = 0
    for path in cases():
        if path.parent.name == name and (how := failure(FILES[name], path.read_bytes())):
            found += 1
            print(f"{path.name}, which failed before: {how}", flush=True)
    whole = FILES[name].whole()[0]
    start = time.monotonic()
    FILES[name].use(whole)
    limit = max(SLOW, MUCH * (time.monotonic() - start))
    for seed in tried:
        count += 1
        start, data = time.monotonic(), damaged_file(FILES[name], seed)
        how = failure(FILES[name], data)
        if how is None and (took := time.monotonic() - start) > limit:
            how = f"it took {took:.0f} seconds"
        if how:
            found += 1
            (CASES / name).mkdir(parents=True, exist_ok=True)
            (CASES / name / str(seed)).write_bytes(data)
            print(f"seed {seed}: {how}", flush=True)
    print(f"{found} failures; {count} new damaged files")
    return found


def compositions(tried: Iterator[int]) -> int:
    """Compositions of transforms, run under minigrad and PyTorch; gives how many differ without an error."""
    kinds: Counter[str] = Counter()
    for number in tried:
        composition = transforms.drawn(number)
        kind, what = transforms.compared(composition, torch, minigrad)
        kinds[kind] += 1
        if kind not in ("equal", "refused"):
            print(f"seed {number}: {kind}: {', '.join(composition.steps)} in {', '.join(composition.around)}: {what}",
                  flush=True)
    print(f"\n{kinds['different']} compositions differ silently; all by kind:", dict(kinds.most_common()))
    return kinds["different"]


TARGETS = {"autograd": autograd, "training": partial(autograd, more=MORE), "transforms": compositions,
           **{name: partial(files, name) for name in FILES}}


def main() -> int:
    """Run a target; the exit status says whether it found anything."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seed", type=int, default=None, help="the first one (default: a new one)")
    parser.add_argument("--programs", "--files", type=int, default=None,
                        help="how many inputs (default: as many as fit into --minutes)")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--engine", choices=["random", "atheris"], default="random")
    options = parser.parse_args()
    if options.engine == "atheris":
        if options.target not in FILES:
            parser.error(f"atheris runs the targets {', '.join(FILES)}")
        coverage_guided.run(options.target, FILES[options.target], options.minutes)
        return 0
    seed = new_seed() if options.seed is None else options.seed
    print(f"the first seed is {seed}")
    return int(TARGETS[options.target](seeds(seed, options.programs, options.minutes)) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
