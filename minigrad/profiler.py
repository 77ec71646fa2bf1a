"""Profiles of whole training steps: mirrors `torch/profiler`. `autograd/profiler.py` says what is measured."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from minigrad._base.optional import module_getattr
from minigrad._base.warnings import warn_once
from minigrad.autograd.profiler import profile as one_profile
from minigrad.autograd.profiler import record_function
from minigrad.autograd.profiler_util import EventList

__all__ = ["ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]

CLEARED = (
    "Warning: Profiler clears events at the end of each cycle. Only events from the current cycle will be reported. To "
    "keep events across cycles, set acc_events=True.")


class ProfilerActivity(enum.Enum):
    """What can be measured: here only the CPU."""

    CPU = 0
    CUDA = 2


class ProfilerAction(enum.Enum):
    """What a schedule does with a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """What can be measured."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Whether PyTorch's profiling library is available: always False."""
    return False


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
             skip_first_wait: int = 0) -> Callable[[int], ProfilerAction]:
    """The action for each step: skip `skip_first`, then repeatedly wait, warm up, and record `active` steps.

    `repeat`: how often, 0 without limit. `skip_first_wait`: not 0 to skip the first wait.
    """
    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        if repeat and step // length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0).")
    return action


def always(step: int) -> ProfilerAction:
    """Record every step: the default without a schedule."""
    return ProfilerAction.RECORD


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None,
                              use_gzip: bool = False) -> Callable[[Any], None]:
    """A function for `on_trace_ready` that writes each profile as a separate file into a folder."""
    if use_gzip:
        raise NotImplementedError("minigrad does not compress profiles: omit use_gzip.")

    def handler(finished: Any) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        finished.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json"))

    return handler


class profile:
    """A block whose ops are timed, step by step if there is a `schedule`; afterwards this object has the events.

    Args:
        activities: what to measure; only the CPU is available.
        schedule: a function from a step to an action; `step()` ends a step.
        on_trace_ready: called with this object whenever the last step of a cycle, or the block, ends.
        record_shapes: record the shapes of each op's tensors.
        acc_events: keep the events of earlier cycles too.
    """

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None,
                 schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
                 with_modules: bool = False, acc_events: bool = False) -> None:
        self.activities = set(activities) if activities is not None else supported_activities()
        self.schedule, self.on_trace_ready, self.step_num = schedule or always, on_trace_ready, 0
        self.options: dict[str, Any] = {
            "record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
            "with_flops": with_flops, "with_modules": with_modules}
        self.record_steps, self.acc_events = schedule is not None, acc_events
        self.profiler: one_profile | None = None  # of the last recorded steps
        self.kept: list[Any] = []  # events of earlier cycles, with `acc_events`
        self.running: one_profile | None = None
        self.step_event: record_function | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin the first step."""
        self.current_action = self.schedule(self.step_num)
        self.follow()

    def stop(self) -> None:
        """End the last step."""
        self.finish(ready=self.running is not None)

    def step(self) -> None:
        """End a step, and begin the next one."""
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self.finish(ready=True)
        elif self.step_event is not None:
            self.step_event.__exit__()
        self.follow()

    def follow(self) -> None:
        """Start measuring if the step is recorded."""
        if self.current_action not in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            return
        if self.running is None:
            if self.profiler is not None and not self.acc_events:
                warn_once(CLEARED)
            self.running = self.profiler = one_profile(**self.options)
            self.running.__enter__()
        if self.record_steps:
            self.step_event = record_function(f"ProfilerStep#{self.step_num}").__enter__()

    def finish(self, ready: bool) -> None:
        """Stop measuring, and pass the profile on."""
        if self.running is None:
            return
        if self.step_event is not None:
            self.step_event.__exit__()
        self.running.__exit__()
        if self.acc_events:
            self.kept += self.running.finished()
            self.running.function_events = EventList(self.kept)
        self.running = self.step_event = None
        if ready and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def finished(self) -> one_profile:
        """The profile of the last recorded steps. Raises AssertionError if there is none."""
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized before this: no step was recorded.")
        return self.profiler

    def events(self) -> EventList:
        """The events, in the order in which they began."""
        return self.finished().finished()

    def key_averages(self, group_by_input_shape: bool = False, **options: Any) -> EventList:
        """The sums of events by name."""
        return self.finished().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a file for `chrome://tracing`, Perfetto and similar viewers."""
        self.finished().export_chrome_trace(path)


__getattr__ = module_getattr(__name__)
