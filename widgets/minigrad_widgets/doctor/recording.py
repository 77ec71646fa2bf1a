"""Runs a program under the recorder of its library, and keeps what the rules need."""

from __future__ import annotations

import gc
import os
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from minigrad.recorder import Trace
from minigrad_widgets.doctor.library import Library, is_installed
from minigrad_widgets.doctor.updates import Update
from minigrad_widgets.doctor.watch import Activation, At, Call, Loss, Watch

__all__ = ["Recording", "Told", "is_ours", "run"]

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# where the program is called: what is raised beyond these is the program's
DOORS = {(f"{PACKAGE}doctor{os.sep}recording.py", "repeat"), (f"{PACKAGE}doctor{os.sep}explain.py", "<lambda>"),
         (f"{PACKAGE}notebook{os.sep}explain.py", "program")}


class Told(NamedTuple):
    """A warning or an error: its class, its text, and the user's line at which it was raised."""

    kind: str
    text: str
    at: At | None


class Recording:
    """What was recorded from a program.

    `starts`: the index of the first event of each iteration; `alive`: how many nodes were alive at the end of each;
    `numbers`: the number in the trace of each requested tensor, by its id(); `assigned`: the id() of those with another
    `.grad` than before; `lines`: the user's lines that were running when the error was raised, the innermost first.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.trace = Trace()
        self.calls: list[Call] = []
        self.activations: list[Activation] = []
        self.losses: list[Loss] = []
        self.sequences: list[tuple[At | None, str, tuple[int, ...]]] = []
        self.updates: dict[int, list[Update]] = {}  # by id() of the optimizer: what its first step did
        self.rates: dict[int, list[list[float]]] = {}  # by id() of the optimizer: the rates of each step's groups
        self.fed: set[int] = set()  # the id() of each optimizer that has found a gradient other than 0 in a step
        self.changes: dict[int, Any] = {}  # by number of leaves that no optimizer holds: what the first iteration added
        self.starts: list[int] = []
        self.alive: list[int] = []
        self.numbers: dict[int, int] = {}
        self.assigned: set[int] = set()
        self.warnings: list[Told] = []
        self.error: BaseException | None = None
        self.told: Told | None = None
        self.lines: list[At] = []
        self.paths: list[str] = []  # where each file of the trace is
        self.callers: dict[At, list[At]] = {}  # by line of an installed package: the user's lines that led to it
        self.result: Any = None


def run(library: Library, program: Callable[[], Any], names: Mapping[str, Any], times: int,
        watched: Callable[[], Iterable[Any]] = tuple,
        look: Callable[[Any], list[Update]] = lambda optimizer: [],
        changed: Callable[[], list[tuple[Any, Any]]] = list) -> Recording:
    """Run a program `times` times under the recorder, up to the first error, which is kept.

    `watched` returns the tensors whose numbers will be needed, `look` what an optimizer's first step did, `changed`
    the leaves that the first iteration has changed without one, and by how much. Warnings are kept and shown again
    afterwards.
    """
    done = Recording(library)
    before = {id(t): t.grad for t in watched()}
    recorder = library.record(names)
    with warnings.catch_warnings(record=True) as warned, library.every_warning():
        warnings.simplefilter("always")
        trace = recorder.__enter__()
        observer = recorder._observer
        watch = Watch(library, observer)
        watch.look, watch.door = look, repeat.__code__
        try:
            watch.start()
            repeat(program, times, watch, done, changed)
        finally:
            watch.stop()
            done.assigned = {id(t) for t in watched() if t.grad is not None and t.grad is not before.get(id(t))}
            done.numbers = {id(t): n for t in watched() if (n := observer.seen.tensor_number(t)) is not None}
            error = done.error
            recorder.__exit__(None if error is None else type(error), error, None)
    done.trace, done.calls, done.activations, done.losses = trace, watch.calls, watch.activations, watch.losses
    done.updates, done.rates, done.sequences, done.fed = watch.updates, watch.rates, watch.sequences, watch.fed
    done.callers = {at: list(users) for at, users in watch.callers.items()}
    files = observer.builder.files
    done.paths = [path for path, index in sorted(files.items(), key=lambda item: item[1]) if index >= 0]
    if error is not None:
        done.lines = lines_of(error, files)
        done.told = Told(type(error).__name__, str(error), done.lines[0] if done.lines else None)
    for each in warned:
        index = files.get(each.filename, -1)
        at = (index, each.lineno) if index >= 0 else None
        done.warnings.append(Told(each.category.__name__, str(each.message), at))
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno, source=each.source)
    return done


def repeat(program: Callable[[], Any], times: int, watch: Watch, done: Recording,
           changed: Callable[[], list[tuple[Any, Any]]]) -> None:
    """Run a program `times` times, and note where each iteration begins and what is alive at its end."""
    for iteration in range(times):
        watch.iteration = iteration
        watch.observer.log.append(("marked", done.starts))  # the trace is made later, when no calls are watched
        try:
            done.result = program()
        except Exception as error:  # noqa: BLE001 - whatever the user's code raises is to be explained
            done.error = error
            return
        finally:
            watch.settle()
        if iteration == 0:
            done.changes = {watch.number(leaf): change for leaf, change in changed()}
        watch.seen.drop_copies()
        if done.alive and len(watch.seen.nodes) > done.alive[-1]:
            gc.collect()  # garbage in reference cycles is held by nobody
        done.alive.append(len(watch.seen.nodes))


def is_ours(error: BaseException | None) -> bool:
    """Return whether an error was raised in the code of the doctor or of a recorder, or in what that called, and not in
    what it only passes on: the program, and an op of PyTorch's behind the reader's door."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    ours = [i for i, frame in enumerate(frames) if frame.filename.startswith(PACKAGE)]
    if not ours:
        return False
    last, after = frames[ours[-1]], frames[ours[-1] + 1:]
    if after and (last.filename, last.name) in DOORS:
        return False
    return not last.filename.endswith("guard.py") and all(is_installed(frame.filename) for frame in after)


def lines_of(error: BaseException, files: Mapping[str, int]) -> list[At]:
    """Return the user's lines in an error's traceback, the innermost first."""
    found = [(files.get(frame.filename, -1), frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    return [at for at in reversed(found) if at[0] >= 0]
