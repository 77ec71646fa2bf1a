"""What a recording of PyTorch costs: `python -m benchmarks.recording` prints it for each detail, beside its target.

One training step without its update of a 12-layer encoder (d = 256), recorded, against the same step alone. Processor
time of one thread, taken in turns, the least of several rounds: other programs on the machine then count for little.
`--profile DETAIL` shows where the time of a recording goes.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable
from typing import Any

import torch

from minigrad_widgets.torch_reader import record

TARGETS = {"modules": 1.5, "ops": 3.0, "values": 6.0}  # times the plain step, at most


def encoder(batch: int, length: int) -> tuple[Any, Any]:
    """The model and its input."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False), torch.randn(batch, length, 256)


def seconds(run: Callable[[], Any]) -> float:
    """Processor time of one call."""
    before = time.process_time()
    run()
    return time.process_time() - before


def measured(batch: int, length: int, rounds: int) -> tuple[float, dict[str, float]]:
    """The seconds of the plain step, and by detail those of the recorded one."""
    model, x = encoder(batch, length)

    def step() -> None:
        model.zero_grad()
        model(x).square().mean().backward()

    def recorded(detail: str) -> Callable[[], None]:
        def run() -> None:
            with record(detail=detail):
                step()

        return run

    ways = {"plain": step, **{detail: recorded(detail) for detail in TARGETS}}
    for run in ways.values():
        run()
    times = [{name: seconds(run) for name, run in ways.items()} for _ in range(rounds)]
    least = {name: min(each[name] for each in times) for name in ways}
    return least.pop("plain"), least


def profiled(batch: int, length: int, detail: str) -> None:
    """Print the functions in which a recording spends its time."""
    model, x = encoder(batch, length)
    profile = cProfile.Profile()
    for _ in range(2):
        with record(detail=detail):
            profile.enable()
            model(x).square().mean().backward()
            profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def main() -> None:
    """Measure and print, or profile."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording", description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", choices=TARGETS)
    given = parser.parse_args()
    if given.profile:
        profiled(given.batch, given.length, given.profile)
        return
    plain, found = measured(given.batch, given.length, given.rounds)
    print(f"12 layers, d = 256, batch {given.batch} x {given.length}: the plain step takes {plain:.2f} s")
    for detail, took in found.items():
        ratio, target = took / plain, TARGETS[detail]
        print(f"{detail:8} {took:6.2f} s, {ratio:.2f} times; target {target}: {'met' if ratio <= target else 'missed'}")


if __name__ == "__main__":
    main()
