"""Notes what the names of a program hold while it runs: in `h = layer(h)` the two `h` are two tensors.

Python does not report that a variable is assigned. So at each op the running functions are inspected: for those that
have reached another line since the last op, the variables that now hold another tensor are noted.
"""

from collections.abc import Mapping
from types import FrameType
from typing import Any

from minigrad.recording.names import OPTIMIZED, Copies, empty

__all__ = ["Bindings"]

MOST = 10_000  # after this many entries of a log no more are noted
DEEPEST = 60  # how many functions, from the op outwards, are inspected: a deeper recursion is not
PASSING = frozenset({"<lambda>", "<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"})  # their names are seen nowhere


class Call:
    """A running function: where it is, and the tensors that its names hold."""

    __slots__ = ("anew", "changed", "code", "file", "frame", "held", "last", "line", "moved", "number")

    def __init__(self, frame: FrameType, file: int, number: int) -> None:
        self.frame, self.code, self.file, self.number = id(frame), frame.f_code, file, number
        self.line, self.last = 0, -1  # the line, and the instruction in it
        self.held: dict[str, int] = {}
        self.changed: list[list[Any]] = []  # what was new at the last inspection
        self.moved = self.anew = True

    def go_to(self, frame: FrameType) -> None:
        """Note where the function is: whether it moved to another line, or back, so that it may run again."""
        line, last = frame.f_lineno or 0, frame.f_lasti
        self.anew = last < self.last or self.last < 0
        self.moved = line != self.line or self.anew
        self.line, self.last = line, last


class Bindings:
    """What the names of the running functions hold, as of the last inspection.

    `tensors` are the tensors that were seen, by `id()`; `files` maps a path to the index of its source in the trace.
    """

    def __init__(self, log: list[tuple[Any, ...]], tensors: Mapping[int, Any]) -> None:
        self.log, self.tensors = log, tensors
        self.files: Mapping[str, int] = {}
        self.running: list[Call] = []  # outermost first
        self.count, self.left = 0, MOST
        self.rebound: set[str] = set()  # names where the recording began that have held several tensors
        self.within: int | None = None  # the frame where the recording began, if it is the user's

    def look(self, frame: FrameType | None, base: FrameType, copies: Copies) -> None:
        """An op runs, called from this frame: find which functions have reached another line."""
        frames: list[FrameType] = []
        known = self.files.get
        while frame is not None and len(frames) < DEEPEST:
            code = frame.f_code
            if known(code.co_filename, -1) >= 0 and code.co_name not in PASSING:
                frames.append(frame)
            if frame is base:
                break
            frame = frame.f_back
        else:
            return
        if not self.left or not frames:
            return
        if frames[-1] is base:
            self.within = id(base)
        frames.reverse()
        seen, running = self.count, self.running
        for at, each in enumerate(frames):
            call = running[at] if at < len(running) else None
            if call is not None and call.frame == id(each) and call.last == each.f_lasti and call.code is each.f_code:
                call.moved = call.anew = False  # as most are: an op runs several others, and a step many functions
            else:
                self.come_to(at, each)
        del running[len(frames):]
        self.look_into(frames, copies, seen)
        for call in running:
            if call.changed or (call.moved and call is not running[-1]):
                self.left -= 1
                self.log.append(("bound", call.number, call.file, call.line, call.changed))

    def come_to(self, at: int, frame: FrameType) -> None:
        """Note where the function at a depth is. If it is at another instruction, what it called has returned."""
        call = self.running[at] if at < len(self.running) else None
        if call is None or call.frame != id(frame) or call.code is not frame.f_code:
            call = self.new(frame)
            self.running[at:] = [call]
        elif call.last != frame.f_lasti:
            del self.running[at + 1:]
        call.go_to(frame)

    def new(self, frame: FrameType) -> Call:
        """Make a call of a function that was not seen yet."""
        self.count += 1
        return Call(frame, self.files[frame.f_code.co_filename], self.count - 1)

    def look_into(self, frames: list[FrameType], copies: Copies, seen: int) -> None:
        """Inspect the variables of functions that may have assigned one, from the innermost outwards.

        A function whose caller has not moved may still be another call, as in a loop of the caller; it is one if the
        caller's variables have changed. `seen`: how many calls had been seen before.
        """
        look = True
        for at in range(len(frames) - 1, -1, -1):
            call, frame = self.running[at], frames[at]
            call.changed = []
            if not look and not call.moved:
                continue
            names = frame.f_locals
            call.changed = self.changed(call, names)
            empty(frame, names, copies)
            if call.changed and not call.moved:
                for inner in [each for each in self.running[at + 1:] if each.number < seen]:
                    inner.number, inner.changed = self.count, [[name, tensor] for name, tensor in inner.held.items()]
                    self.count += 1
            look = call.anew or bool(call.changed)

    def changed(self, call: Call, names: Mapping[str, Any]) -> list[list[Any]]:
        """Return the names that hold another tensor than before, or no longer hold one."""
        named = names.items() if call.code.co_flags & OPTIMIZED else [
            (name, names[name]) for name in call.code.co_names if name in names]
        known = self.tensors.get
        now = {name: ref.number for name, value in named if (ref := known(id(value))) is not None
               and ref.number is not None and ref() is value}
        before, call.held = call.held, now
        if now == before:
            return []
        if call.frame == self.within:
            self.rebound.update([name for name, number in before.items() if now.get(name, number) != number])
        return [*[[name, number] for name, number in now.items() if before.get(name) != number],
                *[[name, None] for name in before if name not in now]]

    def is_running(self, frame: FrameType) -> bool:
        """Return whether this is the innermost function that was seen."""
        last = self.running[-1] if self.running else None
        return last is not None and last.frame == id(frame) and last.code is frame.f_code

    def leave(self, frame: int | None, names: Mapping[str, Any]) -> None:
        """A function, identified by the `id()` of its frame, is about to end: note what it assigned last."""
        at = next((at for at, call in enumerate(self.running) if call.frame == frame), None)
        if at is None or not self.left:
            return
        call = self.running[at]
        changed = self.changed(call, names)
        del self.running[at:]
        if changed:
            self.left -= 1
            self.log.append(("bound", call.number, call.file, None, changed))
