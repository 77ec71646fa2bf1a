"""The engine: mirrors PyTorch's `engine.cpp`.

One backward pass: count how many gradients each node is going to receive, then run what is ready, newest first. One
loop serves both kinds of pass. In a first-order pass gradients are arrays; in a pass that is itself recorded
(`create_graph=True`) they are tensors.

NOTE 1 (engine order). A node runs when all its gradients have arrived, which is why a recursion will not do: it would
run a node once per path, with partial sums. Of several ready nodes the one with the highest sequence number runs first,
that is, the one recorded last; leaves that are ready go before all nodes (`flush`). At a node: hooks of the tensor that
it made (first registered first), retain_grad, the node's pre-hooks, the node, its hooks, release of what it saved. At a
leaf: hooks of the tensor, pre-hooks, accumulation, post-accumulate hooks, hooks. Only then do the gradients go on.

NOTE 3 (who may keep a gradient). A gradient that arrives at a leaf becomes its `.grad`, and one that waits is added to
in place, both without a copy: but only if the formula made it new (it is not the gradient that came in, and it is no
view of another array) and no user code has seen it. All of a new one, seen in another shape by a node with one input
(as by TBackward0 below a Linear), is still nobody else's. Formulas keep their part of this: they never write into what
they are given, never return a saved value, and never return one new array twice.

NOTE 5 (passes inside of passes). A hook or a custom Function may start another pass, and that one a third. Each of them
takes a dozen frames of Python's stack, which has room for a thousand. So every 32nd pass of such a tower runs in a
thread of its own, with a fresh stack and with the modes of the thread that waits for it (PyTorch does the same, at 60).
An error ends all of them where they are: leaves that were reached keep what they got, nodes that ran have let go of
what they saved, all others are as they were, and nothing that was queued for the end is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from heapq import heappop, heappush, heapreplace
from threading import Thread
from typing import Any

from numpy import ndarray

from minigrad.autograd.anomaly_mode import ANOMALY, watched
from minigrad.backends.numpy import quiet
from minigrad.backends.registry import Several, in_use, put_in_use
from minigrad.core.evaluate import accumulate, differentiate, evaluate, evaluate_leaf
from minigrad.core.grad_mode import LOCAL, switch
from minigrad.core.graph import Node, accumulator_of
from minigrad.core.graph_task import Edge, GraphRoot, GraphTask, count, select

__all__ = ["execute", "queue_callback"]

Entry = tuple[int, int, Node, Any]
MAX_DEPTH = 32  # so many passes, each started inside of the one before, run in one thread (NOTE 5)


def execute(edges: Sequence[Edge], grads: Sequence[Any], *, create_graph: bool, keep: bool, inputs: Sequence[Any] = (),
            accumulate: bool = True) -> list[Any]:
    """Run a backward pass from `edges` (node or leaf, output number) with the tensors `grads`.

    With `inputs` (tensors or GradientEdges) only what leads to them runs. `accumulate=False` returns their gradients,
    as tensors (None where none arrived); else leaves add to `.grad`.
    """
    task = GraphTask(create_graph, keep)
    root = GraphRoot(edges)
    if inputs or not accumulate:
        select(task, root, inputs, accumulate)
    count(task, root)
    if task.depth and task.depth % MAX_DEPTH == 0:
        in_another_thread(task, root, grads)
    elif Several.known:
        with in_use():  # each node puts its own device in use
            process(task, root, grads)
    else:
        process(task, root, grads)
    return [task.wrapped(g) for g in task.captured]


def in_another_thread(task: GraphTask, root: GraphRoot, grads: Sequence[Any]) -> None:
    """Run a pass in a thread of its own, with the modes of this one, which waits (NOTE 5)."""
    state = {name: value for name, value in vars(LOCAL).items() if name != "share"}

    failures: list[BaseException] = []

    def work() -> None:
        vars(LOCAL).update(state)
        try:
            process(task, root, grads)
        except BaseException as error:  # noqa: BLE001 (raised again in the thread that waits)
            failures.append(error)

    thread = Thread(target=copy_context().run, args=(work,))
    thread.start()
    thread.join()
    if failures:
        raise failures.pop()


def process(task: GraphTask, root: GraphRoot, grads: Sequence[Any]) -> None:
    """Run a pass with grad mode as it asks for, then what was queued for its end."""
    before, observer = LOCAL.grad_enabled, task.observer
    try:
        switch(not task.first_order)
        LOCAL.graph_task = task
        if observer is not None:
            observer.backward_start([(n, nr, g.array) for n, nr, g in zip(root.next, root.output_nrs or (), grads)],
                                    {target: abs(n) for target, n in task.needs.items() if n}, not task.first_order,
                                    task.keep, task.inputs)
        with quiet():
            run(task, root, tuple([task.unwrapped(g) for g in grads]))
        for callback in task.callbacks:  # a callback may queue more
            callback()
        if observer is not None:
            observer.backward_end()
    except BaseException as error:
        if observer is not None:
            observer.error(error)
        raise
    finally:
        LOCAL.graph_task = task.outer
        switch(before)


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call this at the end of the pass that is running in this thread, the innermost one, if it ends without an error.

    Raises:
        RuntimeError: outside of a backward pass.
    """
    if LOCAL.graph_task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    LOCAL.graph_task.callbacks.append(callback)


def run(task: GraphTask, node: Node, grads: tuple[Any, ...]) -> None:
    """The loop: hand on what a node computed, take the next ready node, run it (NOTE 1)."""
    needs, pending, owned, due, ready = task.needs, task.pending, task.owned, task.due, task.ready
    left, xp, first_order, straight, keep = needs.get, task.xp, task.first_order, task.straight, task.keep
    mine, sole, grad, hand_on = False, False, None, deliver_there if Several.known else deliver
    while True:
        ahead, index = None, -1
        for target, given in zip(node.next, grads):
            index += 1
            if target is None:
                continue
            if (n := left(target, 0)) != 1 or target in pending or not straight:
                if straight and target in owned and n is not None and n < -1 and given is not None:
                    pending[target] += given  # a leaf that goes on waiting
                    needs[target] = n + 1
                    continue
                if not hand_on(task, node, index, target, given, mine and given is not grad, grad if sole else None):
                    continue
                given, task.total = task.total, None
            if ahead is None:
                ahead, ahead_grad = target, given
            else:
                ahead, ahead_grad = newer(ready, ahead, ahead_grad, target, given)
        if due:
            flush(task)
        if ahead is not None and not (ready and ready[0][0] < -ahead.sequence_nr):
            sole, node, grad = mine and ahead_grad is not grad, ahead, ahead_grad  # `sole`: new, straight to here
        elif ready:
            _, _, node, grad = heappop(ready) if ahead is None else heapreplace(ready, entry(ahead, ahead_grad))
            sole = False
        else:
            return
        grads, given, ahead_grad = (), None, None  # nothing that is done with stays while the node runs
        if not straight or node.rare is not None:
            grads, mine = watched(node, evaluate, task, node, grad), False
        else:
            bare = first_order and grad is not None and node._notes is None  # one call less for most nodes
            mine, grads = first_order, node.formula(xp, grad) if bare else differentiate(node, grad, xp, first_order)
            if not keep and node.saved:
                node.saved = None
        grads = grads if type(grads) is tuple else (grads,)


def entry(node: Node, grad: Any) -> Entry:
    """A ready node as the heap holds it: newest first, and the id settles it where a user gave two one number."""
    return -node.sequence_nr, id(node), node, grad


def newer(ready: list[Entry], a: Node, a_grad: Any, b: Node, b_grad: Any) -> tuple[Node, Any]:
    """The newer of two ready nodes; the other one goes onto the heap."""
    if a.sequence_nr < b.sequence_nr:
        a, a_grad, b, b_grad = b, b_grad, a, a_grad
    heappush(ready, entry(b, b_grad))
    return a, a_grad


def deliver(task: GraphTask, node: Node, index: int, target: Any, given: Any, new: bool, sole: Any) -> bool:
    """Add a gradient to what waits at `target`; True if a node became ready, with `task.total` for it.

    A leaf that has all its gradients goes into `task.due`. What nobody else holds is added to in place (NOTE 3).
    """
    needs, pending, owned = task.needs, task.pending, task.owned
    edge, left = target, needs.get(target, 0)
    if left == 0:
        target = target.variable
        left = needs[target]
    if left is None:
        return False
    total = pending.get(target)
    if total is None or given is None or type(total) is list:
        total = begun(task, node, index, target, given, new, sole)
    elif target in owned:
        total += given
    else:
        total = total + given
        if task.first_order:
            owned.add(target)
    last = left == 1 or left == -1
    if task.observer is not None:
        output_nr = output_nr_of(node, index)
        task.observer.flow(None if type(node) is GraphRoot else node, index, edge, output_nr, given,
                           total[output_nr] if type(total) is list else total, last)
    if not last:
        pending[target] = total
        needs[target] = left - 1 if left > 0 else left + 1
        return False
    pending.pop(target, None)
    if left == -1:
        task.due.append((target, total, target in owned))
    else:
        task.total = total
    owned.discard(target)
    return left == 1


def deliver_there(task: GraphTask, node: Node, index: int, target: Any, given: Any, new: bool, sole: Any) -> bool:
    """The same on the device that the gradient lies on, where there are several."""
    put_in_use(getattr(given, "array", given))
    return deliver(task, node, index, target, given, new, sole)


def begun(task: GraphTask, node: Node, index: int, target: Any, given: Any, new: bool, sole: Any) -> Any:
    """What waits at `target` with a gradient that is the first there, or none, or for one of several outputs.

    `new`: a formula gave it and was not given it; `sole`: what that formula was given, if nobody else holds that.
    """
    total = task.pending.get(target)
    if type(total) is list:
        if given is not None:
            output_nr = output_nr_of(node, index)
            total[output_nr] = given if total[output_nr] is None else total[output_nr] + given
        return total
    if given is None:
        return total
    if new and type(given) is ndarray and (given.base is None or (
            given.base is sole and len(node.next) == 1 and given.flags.c_contiguous and given.size == sole.size)):
        task.owned.add(target)
    return given


def output_nr_of(node: Node, index: int) -> int:
    """Which output of the node behind it an edge leads to."""
    return 0 if node.output_nrs is None else node.output_nrs[index]


def flush(task: GraphTask) -> None:
    """Run the leaves that have become ready: they come before every other node."""
    due = task.due[:]
    task.due.clear()
    for leaf, total, own in due:
        rare = leaf._rare
        if task.straight and (rare is None or not (rare.hooks or rare.accumulator or rare.kept_hooks
                                                   or rare.post_accumulate)):
            accumulate(leaf, total, own, task.first_order)
        elif ANOMALY.enabled:
            watched(accumulator_of(leaf), evaluate_leaf, task, leaf, total, own)
        else:
            evaluate_leaf(task, leaf, total, own)
