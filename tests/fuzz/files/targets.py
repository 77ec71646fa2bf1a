"""What reads files: a whole file of each kind, and what may be done with one that is damaged."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import minigrad
from minigrad.recorder import Trace, record
from minigrad.serialization import LoadError
from tests.fuzz.files.damage import damaged

SECONDS = 5  # that one file may take


class Target(NamedTuple):
    """A reader: whole files, what reads and uses one, and the only error that it may raise."""

    whole: Callable[[], list[bytes]]
    use: Callable[[bytes], object]
    refuses: type[Exception]


@cache
def traces() -> list[bytes]:
    """A trace of most kinds of events, packed and plain."""
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with record() as trace:
        y = x * 2
        y[0].mul_(3)
        z = minigrad.utils.checkpoint.checkpoint(minigrad.sin, y, use_reentrant=False)
        z.retain_grad()
        z.sum().backward()
    return [trace.to_json().encode(), json.dumps(trace.to_dict()).encode()]


def use_trace(data: bytes) -> None:
    """All that an inspector asks of a trace."""
    trace = Trace.from_json(data.decode("utf-8", "surrogateescape"))
    for lens in ("all", "forward", "backward"):
        trace.steps(lens)
    for step in range(len(trace)):
        trace.frame(step)
        trace.text(step).encode()


@cache
def saved() -> list[bytes]:
    """What `save` writes, in both formats: a state dict of a module and of its optimiser."""
    model = minigrad.nn.Sequential(minigrad.nn.Linear(2, 3), minigrad.nn.BatchNorm1d(3))
    optimizer = minigrad.optim.Adam(model.parameters())
    model(minigrad.ones(2, 2)).sum().backward()
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "x.safetensors"), Path(folder, "x.pt")]
        for path in paths:
            minigrad.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
        return [path.read_bytes() for path in paths]


@cache
def archives() -> list[bytes]:
    """What `torch.save` writes of the same."""
    import torch  # noqa: PLC0415 - only this target needs it

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "shared": [model[0].weight, model[0].weight.t()], "epoch": 3}, file)
    return [file.getvalue()]


def use_saved(data: bytes) -> None:
    """Load it and look at all of it."""
    repr(minigrad.load(io.BytesIO(data)))


TARGETS = {
    "traces": Target(traces, use_trace, ValueError),
    "saved": Target(saved, use_saved, LoadError),
    "archives": Target(archives, use_saved, LoadError),
}


def damaged_file(target: Target, seed: int) -> bytes:
    """The damaged file of this seed."""
    random = Random(seed)
    return damaged(random, random.choice(target.whole()))


def failures(target: Target, seeds: Iterator[int], clock: Callable[[], float]) -> Iterator[tuple[int, str]]:
    """The seeds whose file ends in another error, or takes too long; and how."""
    for seed in seeds:
        data, start = damaged_file(target, seed), clock()
        try:
            target.use(data)
        except target.refuses:
            pass
        except Exception as error:  # noqa: BLE001 (whichever it is, it is what is looked for)
            yield seed, f"{type(error).__name__}: {str(error)[:200]}"
            continue
        if clock() - start > SECONDS:
            yield seed, f"it took {clock() - start:.0f} seconds"
