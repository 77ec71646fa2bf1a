"""The reader: an observer of PyTorch. It combines what the stack, the ops and the passes show.

Nothing in the program is replaced: a dispatch mode sees the ops, hooks on the nodes see the passes, PyTorch's own
functions on the stack show which checkpoint is running, and a profile function sees when a module is called and
returns. All of them only observe. (`waits.py` has the one exception, for programs with several ranks.)
"""

from __future__ import annotations

import inspect
import opcode
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from threading import get_ident
from time import perf_counter, time
from types import CodeType, FrameType
from typing import Any

import torch
from torch.autograd import forward_ad
from torch.autograd.graph import get_gradient_edge
from typing_extensions import deprecated

from minigrad import recorder
from minigrad.recorder import NOWHERE, RARER, Encoder, Log, Trace, register_library
from minigrad_widgets.torch_reader.arrivals import LateBuilder
from minigrad_widgets.torch_reader.collectives import Collectives, process_of
from minigrad_widgets.torch_reader.guard import Notes, Once, Watching, about_to_watch, insistent
from minigrad_widgets.torch_reader.ops import Facts, Ops, facts_of
from minigrad_widgets.torch_reader.passes import Passes
from minigrad_widgets.torch_reader.previews import DETAILS, is_jagged
from minigrad_widgets.torch_reader.private import PRIVATE
from minigrad_widgets.torch_reader.probes import take_out
from minigrad_widgets.torch_reader.profile import PAUSED, profile_function
from minigrad_widgets.torch_reader.stack import Call, Look, Stack, caller

__all__ = ["record"]

register_library(os.path.dirname(torch.__file__))
register_library(os.path.dirname(os.path.abspath(__file__)))
register_library(inspect.getfile(deprecated))  # what calls a deprecated function of PyTorch
COMPILED = frozenset({"compile_wrapper", "_fn"})  # what calls a compiled function; "_fn" before PyTorch 2.9
REMEMBERING = frozenset({"step", "_init_group", "load_state_dict"})  # after which an optimizer may remember more
READERS = frozenset({"numpy", "tolist"})  # methods that pass values to what is not an op
RETURNS = frozenset({number for name, number in opcode.opmap.items() if name.startswith("RETURN_")})
FUNCTION = type(torch.autograd.Function)
LEVEL_ENDS = forward_ad.exit_dual_level.__code__
WRAPPED = ("the tangents are not shown, since PyTorch keeps them in wrappers around what a recorder sees; the ops that "
           "compute them stand among the others")
BESIDE = "the ops that compute tangents stand among the others, as PyTorch runs them"
READING = threading.local()  # its `reader`: the one that is on in this thread


class Reader:
    """Notes what a program does with PyTorch, in the terms of minigrad's observer.

    Whatever fails while it is made or started is noted too: the program then runs with a reader that sees less.
    """

    def __init__(self, times: bool = False, detail: str = "values") -> None:
        self.log = Log()
        self.builder = LateBuilder()
        self.encoder = Encoder(self.builder, self.log)
        self.trace = Trace(f"torch {torch.__version__}", self.encoder)
        self.notes = Notes(self.trace)
        self.encoder.failed = self.notes.failure
        self.mode = Watching(self.dispatched, self.notes)
        self.watching = False  # whether the mode is on
        self.entering: Any = None  # the profile function
        self.stance: Any = None  # that keeps compiled functions from being compiled
        self.notes.tried(partial(self.prepare, times, detail))

    def prepare(self, times: bool, detail: str) -> None:
        """Make what sees the ops, the passes and the calls."""
        PRIVATE.ask()
        self.times = times
        self.depth = -1  # that of the innermost pass or recomputation
        self.passes = Passes(self.log, self, times, detail)
        self.seen = self.passes.seen
        if detail != "modules":
            self.seen.bindings.files = self.builder.files
        self.ops = Ops(self.seen, self.log, times)
        self.collectives = self.passes.collectives = Collectives(self.seen, self.log, self, times)
        self.entering = profile_function(self.role_of, READERS | {"apply"}, self.entering_c, self.notes.failure)
        self.open: list[Call] = []
        self.modules: list[FrameType] = []  # the running calls of modules
        self.transforms: list[FrameType] = []  # the running transforms of torch.func
        self.ops.on_tangent = self.tangent_seen
        self.touched: list[Any] = []  # see Pass
        self.listening: dict[int, Elsewhere] = {}  # by thread of the engine's: its profile function
        self.filled: dict[int, int] = {}  # by number of a call that runs again: how many tensors it has found

    def start(self, base: FrameType) -> Trace:
        """Begin to observe; return the trace, which grows from now on. `base`: the frame of the program around it.

        Raises:
            RuntimeError: if a reader already observes this thread.
        """
        if getattr(READING, "reader", None) is not None:
            raise RuntimeError("a recorder is on already in this thread: record() cannot be used inside record()")
        READING.reader = self
        self.notes.tried(partial(self.begin, base))
        return self.trace

    def begin(self, base: FrameType) -> None:
        """Watch from now on, also where this has failed halfway before."""
        self.seen.base = base
        self.stack = Stack(self.builder, base)
        RARER.start(self)
        self.ops.applied = self.stack.applied
        if not self.watching:
            self.mode.__enter__()
            self.watching = True
        PAUSED.profile = None
        if sys.getprofile() is None:
            sys.setprofile(self.entering)
            self.stack.brief = True
        self.began, self.collectives.origin = time(), perf_counter()
        self.tell_process()

    def tell_process(self) -> None:
        """Note in the trace which of several processes this is."""
        self.trace.process = process_of() or self.trace.process
        if self.times and self.trace.process is not None:
            self.trace.process["began"] = self.began

    @insistent
    def detach(self) -> None:
        """Stop observing, whether or not `start` was completed; a second call does nothing."""
        if getattr(READING, "reader", None) is self:
            READING.reader = None
        if sys.getprofile() == self.entering:
            sys.setprofile(None)
        if self.watching:
            self.watching = False
            self.mode.__exit__(None, None, None)
        if self.stance is not None:
            self.stance, stance = None, self.stance
            stance.__exit__(None, None, None)
        RARER.stop(self)
        self.seen.base = None
        self.collectives.stop()

    @insistent
    def stop(self, error: BaseException | None, names: Mapping[str, Any]) -> None:
        """Stop observing; name the tensors that these variables hold; note an error that ended the block."""
        self.detach()
        told = None if error is None else (type(error).__name__, str(error))
        for step in (partial(self.caught_up, Look(NOWHERE, None, [])), partial(self.seen.tell_grads, NOWHERE, -1),
                     partial(self.tell_end, told), partial(self.seen.name_tensors, names), self.clean_up,
                     self.seen.previews.arrivals.wait):
            self.notes.tried(step)
        self.notes.close()

    def tell_end(self, told: tuple[str, str] | None) -> None:
        """Note how the block ended, with the error that ended it, if any."""
        if self.trace.process is None:  # the group may be one that the block has made
            self.tell_process()
        if told is not None and not self.passes.running:
            self.log.event("error", NOWHERE, -1, type=told[0], message=told[1])
        self.passes.leave_broken(-1, *(() if told is None else (told,)))
        self.log.extend([("formula", name, cls) for name, cls in self.seen.classes.items()])

    def clean_up(self) -> None:
        """Remove the reader's hooks, and forget what was seen."""
        while self.touched:
            take_out(self.touched[-1]())
            self.touched.pop()
        self.seen.forget()

    def look(self) -> Look:
        """Return where the program is, seen from a function that PyTorch called."""
        return self.stack.look(2)

    def line(self) -> Any:
        """Return the user's line that is running."""
        return self.stack.look(1).at

    def dispatched(self, op: Once) -> Any:
        """Run a dispatched op, and note it if it is the user's."""
        facts = facts_of(op.func)
        try:
            if not self.passes.running:
                return self.run_op(op, facts)
            if self.is_derivative(facts):
                return op()
            with self.passes.lock:
                op.lock = self.passes.lock
                try:
                    return self.run_op(op, facts)
                finally:
                    op.lock = None
        finally:
            if facts.mutable:
                self.seen.previews.forget()
            if self.times:
                self.collectives.mark = perf_counter()

    def is_derivative(self, facts: Facts) -> bool:
        """Return whether an op that runs in a pass is of no interest: the engine's own, as most are."""
        task, origin = self.passes.running[-1], caller(3)
        return (origin is not None and origin.f_code is PRIVATE.engine and not task.create and not facts.collective
                and not self.collectives.open and task.identity == PRIVATE.running_pass())

    def run_op(self, op: Once, facts: Facts) -> Any:
        """Run an op; report it if it is the user's."""
        func = op.func
        origin = caller(3) or next(self.stack.waiting(None), None)
        if origin is None:
            return op()
        if facts.collective:
            return self.run_collective(op, origin)
        if self.collectives.open:
            self.collectives.touched(origin, func, op.args)
        create = self.passes.creates_graph()
        if not create and origin.f_code is PRIVATE.engine or origin.f_code in self.collectives.silent:
            return op()
        if not op.profiled:  # another profile function is on: what it hides may be running
            self.stack.brief = False
        look = self.stack.look(3)
        code = None if look.inside is None else look.inside.f_code
        if code is None or code is PRIVATE.engine and create:
            self.caught_up(look, settle=facts.name != "detach")
            if self.passes.running:
                self.passes.leave_broken(PRIVATE.running_pass())
                self.seen.several = self.seen.several or get_ident() in self.listening
            if self.ops.moving:
                self.ops.tell_tangents()
            return self.ops.run(op, facts, look.at, self.depth + 1)
        if code is PRIVATE.pack:
            if len(look.calls) > len(self.open):  # nothing has run in this call yet, and maybe nothing will
                self.caught_up(look, settle=False)
            self.refill(look.calls[-1], op.args[0])
        return op()

    def run_collective(self, op: Once, origin: FrameType) -> Any:
        """Run an operation of several ranks, after reporting what came before: the program or PyTorch calls it."""
        self.caught_up(self.stack.look(4))
        self.passes.leave_broken(PRIVATE.running_pass())
        leaf = self.passes.leaf_running()
        if leaf is not None:  # the reducer's hook comes before the reader's
            self.passes.accumulate(leaf)
        return self.collectives.run(op, origin, self.passes.leaf_tensor())

    def listen(self) -> None:
        """A pass runs in a thread of the engine's: from now on, note calls of modules there too."""
        if get_ident() not in self.listening:
            self.listening[get_ident()] = Elsewhere(self)
            if sys.getprofile() is None or isinstance(sys.getprofile(), Elsewhere):
                sys.setprofile(self.listening[get_ident()])

    def listen_no_more(self) -> None:
        """A pass has ended in this thread, perhaps one of the engine's."""
        listener = self.listening.pop(get_ident(), None)
        if listener is not None:
            listener.over = True  # the door that this is called in does not put it back

    def meet(self, roots: list[Any]) -> None:
        """A pass begins at these tensors: find what no op has reported about them."""
        self.ops.find_functions(roots, self.look().at, self.depth + 1)

    def role_of(self, code: CodeType) -> tuple[Any, Any]:
        """Return what to do when Python calls a function with this code, and when it returns from it."""
        if code is PRIVATE.module_call:
            return self.module_called, self.module_returned
        if code is PRIVATE.engine:
            return self.engine_called, self.engine_returned
        if code in PRIVATE.transforms:
            return self.transform_called, self.transform_returned
        if code is LEVEL_ENDS:
            return self.level_ends, None
        if id(code) in self.stack.special:
            self.stack.brief = False
        if code is PRIVATE.dispatch_rule:
            return about_to_watch, None
        if code.co_name in COMPILED and "callback" in code.co_freevars:
            return self.run_eagerly, None
        if code.co_name in REMEMBERING:
            return self.remembering, self.remembering
        inside = self.builder.is_library(code.co_filename) or self.seen.bindings.files is not self.builder.files
        return None, None if inside else self.returned

    def watched_by(self, role_of: Callable[[CodeType], Any], names: frozenset[str],
                   called: Callable[[FrameType, Any], None]) -> Callable[..., None]:
        """Make a profile function that tells somebody else too, after the reader: what `role_of` returns for a code, of
        its calls and returns, and `called` of calls of functions of C that have one of these names."""
        def roles(code: CodeType) -> tuple[Any, Any]:
            own, other = self.role_of(code), role_of(code)
            return own if other is None else (in_turn(own[0], other, "call"), in_turn(own[1], other, "return"))

        def both(frame: FrameType, function: Any) -> None:
            self.entering_c(frame, function)
            called(frame, function)

        return profile_function(roles, READERS | {"apply"} | names, both, self.notes.failure)

    def remembering(self, frame: FrameType, arg: Any) -> None:
        """A function is called or returns in which an optimizer may begin to remember something."""
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.optim.Optimizer):
            self.seen.hold_state(owner)
        self.returned(frame, arg)

    def returned(self, frame: FrameType, arg: Any) -> None:
        """A function returns: what its names hold is not to be had any more."""
        if self.seen.bindings.is_running(frame) and not self.open and torch.is_grad_enabled():
            self.ops.settle()
            self.seen.leave(frame)

    def engine_called(self, frame: FrameType, arg: Any) -> None:
        """A pass is about to start: note its graph, and the hooks of its roots."""
        self.catch_up()
        self.seen.tell_grads(NOWHERE, self.depth + 1)
        self.seen.look_at_names(frame)
        self.seen.drop_copies()
        self.passes.leave_broken(PRIVATE.running_pass())
        roots = frame.f_locals["t_outputs"]
        if self.stack.is_loading(3) or any(isinstance(root, torch.Tensor) and is_jagged(root) for root in roots):
            return
        self.meet([t for t in roots if isinstance(t, torch.Tensor)])
        for root in roots:
            if isinstance(root, torch.Tensor) and not root.requires_grad:
                continue  # PyTorch is about to refuse it
            if isinstance(root, torch.Tensor) and root.is_leaf:
                self.passes.leaf_roots.append(get_gradient_edge(root))
            self.passes.watch_hooks(self.touched, self.passes.gradient_location(root)[0])

    def engine_returned(self, frame: FrameType, arg: Any) -> None:
        """A pass is over."""
        self.stack.returned(frame)

    def run_eagerly(self, frame: FrameType, arg: Any) -> None:
        """A compiled function is called: its ops and its graph would not be PyTorch's, so none is compiled for now."""
        if self.stance is None:
            self.stance = torch.compiler.set_stance("force_eager")
            self.notes.add("what torch.compile was given runs eagerly while it is recorded", "torch.compile")

    def module_called(self, frame: FrameType, arg: Any) -> None:
        """A module is called."""
        self.caught_up(self.stack.look(3) if self.open else None)
        self.modules.append(frame)
        self.seen.module_begin(frame.f_locals["self"])

    def module_returned(self, frame: FrameType, arg: Any) -> None:
        """A module returns."""
        if self.modules and self.modules[-1] is frame:
            self.caught_up(self.stack.look(3) if self.open else None)
            self.modules.pop()
            given = frame.f_locals
            self.seen.module_end((given.get("args"), given.get("kwargs")), arg, arg is None and not returns(frame))
            self.collectives.forward_ended(frame.f_locals["self"])

    def transform_called(self, frame: FrameType, arg: Any) -> None:
        """A transform of torch.func begins to run its function."""
        self.caught_up(self.stack.look(3) if self.open else None)
        self.transforms.append(frame)
        self.ops.wrapped += 1
        name = PRIVATE.transforms[frame.f_code]
        self.seen.transform_begin(f"vmap ×{frame.f_locals['batch_size']}" if name == "vmap" else name)
        if name == "jvp":
            self.notes.add(WRAPPED, "torch.func.jvp")

    def transform_returned(self, frame: FrameType, arg: Any) -> None:
        """It has run."""
        if self.transforms and self.transforms[-1] is frame:
            self.caught_up(self.stack.look(3) if self.open else None)
            self.transforms.pop()
            self.ops.wrapped -= 1
            self.seen.transform_end(arg is None and not returns(frame))

    def tangent_seen(self) -> None:
        """A result has a tangent: say once how it is shown."""
        self.ops.on_tangent = lambda: None
        self.notes.add(BESIDE, "torch.autograd.forward_ad")

    def level_ends(self, frame: FrameType, arg: Any) -> None:
        """A level of forward mode is about to end, and with it the tangents of the op that waits."""
        self.caught_up(None)
        self.ops.tell_tangents()
        self.ops.moving.clear()

    def entering_c(self, frame: FrameType, function: Any) -> None:
        """Python calls a function of C++."""
        if function.__name__ in READERS and isinstance(function.__self__, torch.Tensor):
            self.leaving_for_numpy(function.__self__)
        elif function.__name__ == "apply" and isinstance(function.__self__, FUNCTION):
            self.stack.applied[function.__self__] = self.stack.look(2).at

    def leaving_for_numpy(self, tensor: torch.Tensor) -> None:
        """The program reads the values of a tensor, as an array or as lists."""
        self.catch_up()
        self.ops.read([tensor])

    # checkpoints
    def catch_up(self) -> None:
        """Report what has happened before a hook in a pass."""
        self.caught_up(self.stack.look(3) if self.open else None)

    def caught_up(self, look: Look | None, settle: bool = True) -> None:
        """Report the op that waits, and which checkpointed calls have ended or begun since."""
        if self.open and self.open[-1].again and not self.open[-1].reentrant:
            self.refill(self.open[-1])
            if stopped(self.open[-1].frame):
                self.ops.drop()
        if settle and self.ops.waiting is not None:
            self.ops.settle()
        new = [] if look is None or not (self.open or look.calls) else self.leave(look.calls)
        if self.ops.returned:
            self.ops.tell_functions(self.depth + 1)
        for call in new:
            self.enter(call)

    def leave(self, calls: list[Call]) -> list[Call]:
        """Close the calls that are no longer running; return the new ones."""
        same = 0
        for old, new in zip(self.open, calls):
            if old.frame is not new.frame or old.again != new.again:
                break
            same += 1
        if len(self.open) > same or len(calls) > same:
            self.ops.settle()
        while len(self.open) > same:
            self.close(self.open.pop())
        return calls[same:]

    def enter(self, call: Call) -> None:
        """A run of a checkpointed function has begun."""
        number = self.seen.call(call.frame)
        self.open.append(call)
        if call.again:
            self.depth += 1
            self.log.event("recompute_begin", self.pass_at(), self.depth, call=number)
        else:
            self.log.event("checkpoint_begin", call.at, self.depth + 1, call=number, name=call.name,
                           reentrant=call.reentrant)

    def close(self, call: Call) -> None:
        """A run of a checkpointed function is over."""
        number = self.seen.call(call.frame)
        if not call.again:
            self.log.event("checkpoint_end", call.at, self.depth + 1, call=number)
            return
        at = self.pass_at()
        self.filled.pop(number, None)
        self.ops.tell_fills(self.depth + 1)
        if not call.reentrant and stopped(call.frame):
            self.log.event("early_stop", at, self.depth + 1, call=number)
        self.log.event("recompute_end", at, self.depth, call=number)
        self.depth -= 1

    def refill(self, call: Call, found: Any = None) -> None:
        """Report the saved tensors that a run has found again; `found`: the next one, which PyTorch stores now."""
        frame, number = call.frame, self.seen.call(call.frame)
        identity = PRIVATE.running_pass()
        done = frame.recomp_counter.get(identity, 0)
        for index in range(self.filled.get(number, 0), done + (found is not None)):
            self.filled[number] = index + 1
            holder = frame.weak_holders[index]() if index < len(frame.weak_holders) else None
            if holder is None:
                continue
            tensor = found
            if index < done:
                tensor = frame.recomputed[identity].get(holder.handles.get(identity))
            if tensor is not None:
                self.seen.keep(tensor, [(tensor.untyped_storage()._cdata, tensor.untyped_storage().nbytes())])
            self.ops.fills.append((self.pass_at(), number, index, self.seen.copied(tensor)))

    def pass_at(self) -> Any:
        """Return the user's line that started the running pass."""
        return self.passes.running[-1].at if self.passes.running else NOWHERE


def in_turn(own: Callable[[FrameType, Any], None] | None, other: Callable[[FrameType, str, Any], None],
            event: str) -> Callable[[FrameType, Any], None]:
    """Return a function that calls these two."""
    def act(frame: FrameType, arg: Any) -> None:
        if own is not None:
            own(frame, arg)
        other(frame, event, arg)

    return act


class Elsewhere:
    """The profile function of one of the engine's threads. It takes itself off when it finds its recording over.

    `over`: the pass for which it was put on has ended.
    """

    over = False

    def __init__(self, reader: Reader) -> None:
        self.reader = weakref.ref(reader)

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        reader = self.reader()
        if self.over or reader is None or not reader.watching:
            sys.setprofile(None)
        else:
            reader.entering(frame, event, arg)


def stopped(frame: Any) -> bool:
    """Return whether a function that runs again has found everything that it saved, and is stopped at once."""
    count = frame.recomp_counter.get(PRIVATE.running_pass(), 0)
    return bool(frame.early_stop and count and count == len(frame.weak_holders))


def returns(frame: FrameType) -> bool:
    """Return whether a function that is left returns; it may raise, of which a profile function is told the same."""
    return frame.f_code.co_code[frame.f_lasti] in RETURNS


class record(recorder.record):
    """Record what a program does with PyTorch in this thread: minigrad's `record`, for real tensors.

    with record() as trace:
        loss = model(x).sum()
        loss.backward()

    Args:
        names: the variables to name tensors by, if not those of the code around the block.
        times: whether nodes note the seconds that they took.
        detail: how much of the values is kept, which determines the cost of a recording. "values": copies of small
            tensors and the statistics of large ones; "ops": only shape and dtype of large tensors; "modules": only
            values of scalars, and no arithmetic; "arrays": all values of all tensors, in memory, equal ones once, for
            `trace["h.0"].output.numpy()`.

    Raises:
        RuntimeError: if a recorder is already on in this thread. Inside the block, whatever goes wrong in the recorder
            is in the `notes` of the trace, and the program goes on.
        ValueError: if there is no such detail.
    """

    DETAILS = tuple(DETAILS)

    def __init__(self, names: Mapping[str, Any] | None = None, *, times: bool = False, detail: str = "values") -> None:
        super().__init__(names, times=times, detail=detail)

    def _new_observer(self) -> Reader:
        try:
            return Reader(self._times, self._detail)
        except Exception as error:  # noqa: BLE001 - none may reach the program
            reader = Reader(self._times, self._detail)
            reader.notes.failure(error)
            return reader

    def _stop(self, observer: Reader, frame: FrameType, error: BaseException | None) -> None:
        try:
            super()._stop(observer, frame, error)
        except Exception as failure:  # noqa: BLE001 - none may reach the program
            observer.notes.failure(failure)
