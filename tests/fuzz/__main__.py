"""`python -m tests.fuzz autograd --minutes 60`: random programs until the time is over; prints those that differ."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator

import torch

import minigrad
from tests.fuzz.differential.program import replayed, shortened
from tests.fuzz.differential.search import differences, new_seed


def autograd(seed: int, programs: int | None, minutes: float) -> int:
    """Programs about autograd, run under minigrad and PyTorch; gives how many differ in what must be equal."""
    kinds: Counter[str] = Counter()
    found, end = 0, time.monotonic() + 60 * minutes

    def seeds() -> Iterator[int]:
        number = seed
        while time.monotonic() < end if programs is None else number < seed + programs:
            yield number
            number += 1

    for number, pair, difference in differences(minigrad, torch, seeds()):
        kinds[difference.kind] += 1
        if difference.hard:
            found += 1
            short = shortened(minigrad, torch, number, pair.statements)
            difference = replayed(minigrad, torch, number, short) or difference
            print(f"\nseed {number}: {difference.kind} {difference.name}", *short, f"minigrad: {difference.mine}",
                  f"PyTorch:  {difference.theirs}", sep="\n    ", flush=True)
    print(f"\n{found} programs differ in what must be equal; all differences by kind:", dict(kinds.most_common()))
    return found


TARGETS = {"autograd": autograd}


def main() -> int:
    """Run a target; the exit status says whether it found anything."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seed", type=int, default=None, help="of the first program (default: a new one)")
    parser.add_argument("--programs", type=int, default=None, help="how many (default: as many as fit into --minutes)")
    parser.add_argument("--minutes", type=float, default=1.0)
    options = parser.parse_args()
    seed = new_seed() if options.seed is None else options.seed
    print(f"the first seed is {seed}")
    return int(TARGETS[options.target](seed, options.programs, options.minutes) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
