"""What happens in PyTorch's backward passes, reported by hooks on its nodes.

Observed are: which node runs, what hooks leave, what goes along an edge, what a leaf's `.grad` becomes. When a node
becomes ready, and when it frees what it saved, is derived by the rule of minigrad's engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from threading import RLock, get_ident
from time import perf_counter
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

from minigrad.recorder import NOWHERE, Log
from minigrad_widgets.torch_reader.count import Plan
from minigrad_widgets.torch_reader.guard import guarded
from minigrad_widgets.torch_reader.private import PRIVATE
from minigrad_widgets.torch_reader.probes import put_among, take_out
from minigrad_widgets.torch_reader.seen import Hooked, Seen, known_by, memory

__all__ = ["Pass", "Passes"]

ENDED = ("Exception", "this backward pass did not come to its end")


class Pass:
    """A running pass.

    `thread`: the one that asked for it; `pending`: by node and output_nr, the gradient that waits there (only while
    more will come) and its copy; `begun`: the nodes that have run; `idle`: nodes whose gradients have arrived and are
    only captured; `received`: by node, copies of what hooks have left; `touched`: the dicts of hooks among which the
    reader has put its own.
    """

    def __init__(self, identity: int, thread: int, at: Any, depth: int, plan: Plan, keep: bool, create: bool) -> None:
        self.identity, self.thread, self.at, self.depth = identity, thread, at, depth
        self.plan, self.keep, self.create = plan, keep, create
        self.pending: dict[int, dict[int, tuple[Any, Any]]] = {}
        self.begun: set[int] = set()
        self.idle: list[int] = []
        self.received: dict[int, list[Any]] = {}
        self.accumulated: set[int] = set()
        self.node: int | None = None  # what ran last
        self.touched: list[Callable[[], Any]] = []


def alone(method: Callable[..., None]) -> Callable[..., None]:
    """Wrap a method of `Passes` that one thread at a time may run."""
    @wraps(method)
    def run(self: Passes, *args: Any) -> None:
        with self.lock:
            method(self, *args)
            if not self.running:
                self.level.listen_no_more()
            elif get_ident() != self.running[0].thread:
                self.level.listen()

    return run


class Passes:
    """Notes passes. `catch_up` reports what happened before; `level.depth` says how deep the program is.

    A graph on several devices runs in several threads at once: `lock` lets one of them in.
    """

    def __init__(self, log: Log, level: Any, times: bool = False, detail: str = "values") -> None:
        self.log, self.level, self.times, self.notes = log, level, times, level.notes
        self.begun: list[tuple[int, float]] = []  # the nodes that are running, and since when
        self.seen = Seen(log, self.before, self.after, level.notes, detail)
        self.collectives: Any = None  # what several ranks do in a pass
        self.running: list[Pass] = []
        self.lock = RLock()
        self.leaf_roots: list[Any] = []  # the edges of leaves at which a pass starts: nothing else keeps their nodes

    # begin and end
    def now(self) -> Pass:
        """Return the running pass, which may have begun just now."""
        self.level.catch_up()
        identity = PRIVATE.running_pass()
        if self.running and self.running[-1].identity == identity:
            return self.running[-1]
        self.leave_broken(identity)
        return self.task(identity) or self.begin(identity)

    def task(self, identity: int) -> Pass | None:
        """Return the pass of this number, if it has begun."""
        return next((task for task in reversed(self.running) if task.identity == identity), None)

    def creates_graph(self) -> bool:
        """Return whether the pass that is running in this thread makes a graph."""
        task = self.task(PRIVATE.running_pass()) if self.running else None
        return task is not None and task.create

    def leave_broken(self, identity: int, error: tuple[str, str] = ENDED) -> None:
        """Leave passes that are no longer running and have not finished: an error ended them.

        `identity`: the pass that is running in this thread, -1 if none is. What it asked for is over, and if the
        program's own thread runs none, all are.
        """
        here = get_ident()
        if identity == -1 or self.task(identity) is not None:
            for task in self.running[::-1]:
                if task.identity == identity:
                    break
                if here == task.thread or identity == -1 and here == self.running[0].thread:
                    self.log.event("error", task.at, task.depth, type=error[0], message=error[1])
                    self.finish(task)

    def begin(self, identity: int) -> Pass:
        """A pass begins: its arguments are those of the function that waits for it."""
        asked = self.level.stack.ask(identity)
        if asked is None:
            raise RuntimeError("no function of PyTorch's that asked for this backward pass is running")
        names, seen = asked.frame.f_locals, self.seen
        seen.at = at = self.level.look().at
        self.level.meet([t for t in names["t_outputs"] if isinstance(t, torch.Tensor)])
        roots, (grads, keep, create, inputs, *_) = names["t_outputs"], names["args"]
        starts = [self.gradient_location(root) for root in roots]
        wanted = [(*self.gradient_location(t), seen.tensor(t) if isinstance(t, torch.Tensor) else None)
                  for t in inputs or ()]
        plan = Plan(seen.next, starts, wanted, names["kwargs"].get("accumulate_grad", True))
        self.level.depth += 1
        task = Pass(identity, asked.thread, at, self.level.depth, plan, bool(keep), bool(create))
        self.running.append(task)
        copies = [seen.copied(g) for g in grads]
        for start, g in zip(starts, grads):
            self.log.wait(*start, None if g is None else memory(g))
        self.log.event("backward_start", at, task.depth,
                       roots=[(*start, copy) for start, copy in zip(starts, copies)],
                       needs=[[n, count] for n, count in plan.needs.items()], create_graph=task.create,
                       retain_graph=task.keep, inputs=[t for *_, t in wanted if t is not None] if wanted else None)
        self.timed()
        PRIVATE.queue_callback(partial(self.end, task))
        for (node, output_nr), grad, copy in zip(starts, grads, copies):
            self.arrive(task, node, output_nr, grad, copy)
            self.settle_ready(task, node)
        return task

    def gradient_location(self, t: Any) -> tuple[int, int]:
        """Return where the gradient of a tensor or a GradientEdge arrives."""
        if isinstance(t, torch.Tensor):
            self.seen.tensor(t)
        edge: GradientEdge = get_gradient_edge(t) if isinstance(t, torch.Tensor) else t
        return self.seen.node(edge.node), edge.output_nr

    @guarded
    @alone
    def end(self, task: Pass) -> None:
        """The pass is over, or only has to wait for other ranks: the callback that waits was queued after this one."""
        if task not in self.running:
            return
        self.level.catch_up()
        self.leave_broken(task.identity)
        self.tell_idle(task, None)
        if self.collectives.before_end():
            PRIVATE.queue_callback(partial(self.end, task))
            return
        for leaf in self.collectives.at_end():
            self.seen.known_grads[self.seen.tensor(leaf)] = None  # the reducer's writes increment no version
        self.seen.tell_grads(task.at, task.depth)
        self.log.event("backward_end", task.at, task.depth)
        self.timed()
        self.finish(task)

    def timed(self) -> None:
        """Note that the last event happened now."""
        if self.times:
            self.log.append(("timed", perf_counter() - self.collectives.origin))

    def finish(self, task: Pass) -> None:
        """Leave a pass, and remove the reader's hooks from among the user's."""
        for reference in task.touched:  # first, whatever fails afterwards
            self.notes.tried(partial(take_out_of, reference))
        self.running.remove(task)
        self.level.stack.asked.pop(task.identity, None)
        self.collectives.pass_left(bool(self.running))
        self.leaf_roots.clear()
        self.level.depth = task.depth - 1
        self.seen.at = self.running[-1].at if self.running else NOWHERE

    # gradients on their way
    def arrive(self, task: Pass, node: int, output_nr: int, gradient: Any, copy: Any) -> tuple[Any, Any]:
        """A gradient arrives at a node: return a copy of what is there now for that output, and its memory."""
        piled = task.pending.setdefault(node, {})
        total, shown = piled.get(output_nr, (None, None))
        if total is None:
            total, shown = gradient, copy
        elif gradient is not None:
            with torch.no_grad(), PRIVATE.without_dispatch():
                total = total + gradient
            shown = self.seen.copied(total)
        hold = None if total is None else memory(total)
        if not task.plan.take(node):
            with PRIVATE.without_dispatch():
                piled[output_nr] = (None if total is None else total.detach()), shown
            return shown, hold
        for nr, (_, each) in piled.items():
            piled[nr] = None, each
        piled[output_nr] = None, shown
        return shown, hold

    def settle_ready(self, task: Pass, node: int) -> None:
        """If its last gradient has arrived, a node is ready: its hooks are read before the engine reads them."""
        if task.plan.needs[node] == 0:
            self.log.event("ready", task.at, task.depth, node=node)
            if task.plan.chosen is not None and not task.plan.runs(node):
                task.idle.append(node)
            self.watch_hooks(task.touched, node)

    def flow(self, task: Pass, node: int, index: int, edge: tuple[int, int], gradient: Any) -> None:
        """A gradient goes along an edge."""
        to, output_nr = edge
        if to not in task.plan.needs:
            return
        given = self.seen.copied(gradient)
        total, hold = self.arrive(task, to, output_nr, gradient, given)
        self.log.wait(to, output_nr, hold)
        self.log.event("flow", task.at, task.depth, node=node, index=index, to=to, output_nr=output_nr, gradient=given,
                       sum=total)
        self.settle_ready(task, to)

    # a node runs
    def run(self, task: Pass, node: int, outputs: int) -> None:
        """The engine took a node from the queue, with one gradient per output."""
        if node not in task.begun:
            runs = task.plan.chosen is None or task.plan.runs(node)
            if runs and task.idle:
                self.tell_idle(task, node)
            task.begun.add(node)
            task.node = node
            piled = task.pending.pop(node, {})
            copies = [piled[nr][1] if nr in piled else None for nr in range(outputs)]
            task.received[node] = copies
            self.log.event("run", task.at, task.depth, node=node, gradient=copies)
            self.timed()
            if runs and task.plan.captures:
                self.capture(task, node, copies)

    def capture(self, task: Pass, node: int, copies: Sequence[Any]) -> None:
        """`autograd.grad` keeps the gradients of the inputs that arrive here."""
        for output_nr, tensor in task.plan.captures.get(node, ()):
            if tensor is not None:
                self.log.event("capture", task.at, task.depth, tensor=tensor, gradient=copies[output_nr])

    def tell_idle(self, task: Pass, node: int | None) -> None:
        """Report nodes whose gradients are only captured: those that the engine takes before this node."""
        order = self.seen.order
        for each in [n for n in task.idle if node is None or order[n] > order[node]]:
            task.idle.remove(each)
            self.run(task, each, self.seen.outputs(each))
            self.capture(task, each, task.received[each])

    @guarded
    @alone
    def before(self, node: int, grads: tuple[Any, ...]) -> None:
        """The reader's pre-hook, the first one: the hooks of the tensors have run."""
        task, seen = self.now(), self.seen
        self.run(task, node, len(grads))
        for output_nr, ref in seen.made.get(node, ()):
            tensor = ref()
            if tensor is not None and tensor.retains_grad and tensor.grad_fn is not None and tensor.grad is not None:
                seen.track_grad(tensor.grad, ref.number)
                self.log.event("hook", task.at, task.depth, node=node, hook="retain_grad", name="",
                               gradient=[seen.copied(grads[output_nr])], tensor=ref.number,
                               grad=seen.copied(tensor.grad))
        hooked, leaf = seen.hooked[node], seen.leaves.get(node)
        if len(hooked.post() or ()) != 1:
            put_among(task.touched, hooked.post, partial(self.hook, node, "post"), last=hooked.post_id)
        if leaf is not None:
            hooks = getattr(leaf(), "_post_accumulate_grad_hooks", None)
            if hooks:
                put_among(task.touched, partial(itself, hooks), partial(self.hook, node, "post_accumulate"),
                          front=partial(self.accumulated, node))
        if self.times:
            self.begun.append((node, perf_counter()))
        elif leaf is None and self.is_silent(task, node, hooked):
            PRIVATE.take_off(self.level.mode)  # the engine puts it back when the node has run, also if that fails

    def is_silent(self, task: Pass, node: int, hooked: Hooked) -> bool:
        """Return whether all ops of a node that runs now are the engine's own, which are of no interest. If values are
        kept, an op that writes to memory is of interest."""
        return (node in self.seen.silent and self.seen.previews.most is not None and not task.create
                and not self.collectives.open and len(hooked.pre() or ()) == len(hooked.post() or ()) == 1)

    @guarded
    @alone
    def after(self, node: int, made: Sequence[Any], received: Sequence[Any]) -> None:
        """The reader's post-hook of a node, the last one."""
        ended = perf_counter()
        task = self.now()
        while self.begun:  # those above were ended by an error
            number, since = self.begun.pop()
            if number == node:
                self.log.append(("took", node, True, ended - since))
                break
        if node in self.seen.leaves:
            self.accumulate(node)
            return
        if not task.keep:
            self.log.event("release", task.at, task.depth, node=node)
        for index, (edge, gradient) in enumerate(zip(self.seen.next[node], made)):
            if edge is not None:
                self.flow(task, node, index, edge, gradient)

    @guarded
    @alone
    def accumulated(self, node: int, *unused: Any) -> None:
        """Before the first of the user's hooks that see a leaf's new `.grad`."""
        self.accumulate(node)

    @guarded
    @alone
    def ran(self, node: int, *unused: Any) -> None:
        """Before the first of the user's hooks on a tensor."""
        self.run(self.now(), node, self.seen.outputs(node))

    def accumulate(self, node: int) -> None:
        """A leaf's `.grad` has been added to."""
        task, seen = self.now(), self.seen
        leaf = seen.leaves[node]()
        gradient = task.received[node][0]
        if node in task.accumulated or leaf is None or leaf.grad is None or gradient is None:
            return
        task.accumulated.add(node)
        seen.track_grad(leaf.grad, seen.tensor(leaf))
        seen.known_grads[seen.tensor(leaf)] = known_by(leaf.grad)
        self.log.event("accumulate", task.at, task.depth, node=node, tensor=seen.tensor(leaf), gradient=gradient,
                       grad=seen.copied(leaf.grad))

    def leaf_running(self) -> int | None:
        """Return the AccumulateGrad that ran last in a pass, if nothing has run since."""
        node = self.running[-1].node if self.running else None
        return node if node in self.seen.leaves else None

    def leaf_tensor(self) -> Any:
        """Return the leaf of the AccumulateGrad that `leaf_running` returns."""
        node = self.leaf_running()
        return None if node is None else self.seen.leaves[node]()

    # the user's hooks
    def watch_hooks(self, touched: list[Callable[[], Any]], node: int) -> None:
        """Report after each of the user's hooks that run before a node."""
        hooked = self.seen.hooked[node]
        if len(hooked.pre() or ()) != 1:
            put_among(touched, hooked.pre, partial(self.hook, node, "pre"), first=hooked.pre_id)
        leaf = self.seen.leaves.get(node)
        for ref in (leaf,) if leaf is not None else [w for _, w in self.seen.made.get(node, ())]:
            tensor = ref()
            hooks = None if tensor is None else tensor._backward_hooks
            if hooks:
                put_among(touched, partial(itself, hooks), partial(self.hook, node, "tensor"),
                          front=partial(self.ran, node))

    @guarded
    @alone
    def hook(self, node: int, kind: str, name: str, found: Any, received: Any = None) -> None:
        """One of the user's hooks has run, and left `found`."""
        task, seen = self.now(), self.seen
        if kind == "post_accumulate":
            copies, tensor = task.received[node], seen.tensor(found)
        else:
            copies, tensor = [seen.copied(g) for g in (found if isinstance(found, tuple) else (found,))], None
            if kind != "post":
                task.received[node] = copies
        self.log.event("hook", task.at, task.depth, node=node, hook=kind, name=name, gradient=copies, tensor=tensor)


def take_out_of(reference: Callable[[], Any]) -> None:
    """Remove the reader's hooks from the dict that a reference leads to."""
    take_out(reference())


def itself(hooks: Any) -> Any:
    """Return a dict, where a function that returns one is needed."""
    return hooks
