"""What reads files: a whole file of each kind, and what may be done with one that is damaged."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import NamedTuple

import minigrad
from minigrad.recorder import Trace, record
from minigrad.serialization import LoadError
from tests.fuzz.files import pages
from tests.fuzz.files.damage import by_schema, damaged

CASES = Path(__file__).with_name("cases")


class Target(NamedTuple):
    """A reader: whole files, what reads and uses one, the only error that it may raise, and how a file is damaged."""

    whole: Callable[[], list[bytes]]
    use: Callable[[bytes], object]
    refuses: type[Exception] | tuple[()] = ()
    damage: Callable[[Random, bytes], bytes] = damaged


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
    "schema": Target(lambda: traces()[1:], use_trace, ValueError, by_schema),
    "saved": Target(saved, use_saved, LoadError),
    "archives": Target(archives, use_saved, LoadError),
}
if find_spec("nbformat"):  # a student's folder needs the extra `lessons`
    from tests.fuzz.files import folders

    TARGETS |= {
        "progress": Target(folders.progress, folders.use_progress),
        "manifests": Target(folders.manifests, folders.use_manifest),
        "folders": Target(lambda: [b""], folders.use_plan, (), folders.plan),
    }
TARGETS["pages"] = Target(pages.states, pages.use_state, (), pages.damaged_state)


def damaged_file(target: Target, seed: int) -> bytes:
    """The damaged file of this seed."""
    random = Random(seed)
    return target.damage(random, random.choice(target.whole()))


def failure(target: Target, data: bytes) -> str | None:
    """In which other error a file ends than in the one that is meant for it; None if all is well."""
    try:
        target.use(data)
    except target.refuses:
        return None
    except Exception as error:  # noqa: BLE001 (whichever it is, it is what is looked for)
        return f"{type(error).__name__}: {str(error)[:400]}"
    return None


def failures(target: Target, seeds: Iterator[int]) -> Iterator[tuple[int, str]]:
    """The seeds whose file ends in another error; and in which."""
    for seed in seeds:
        if how := failure(target, damaged_file(target, seed)):
            yield seed, how


def cases() -> list[Path]:
    """The files that failed once, kept as `cases/TARGET/SEED`."""
    return sorted(path for path in CASES.glob("*/*") if path.is_file())
