"""One node of a backward pass: mirrors `evaluate_function` of PyTorch's `engine.cpp`.

`differentiate` is the straight case, a formula and nothing else. `evaluate` and `evaluate_leaf` are the same with all
that can happen at a node or a leaf: hooks, captured gradients, several outputs, user code, an observer that tells the
story. In which order these come is NOTE 1 in engine.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import Any

from numpy import empty_like, generic

from minigrad.autograd.hooks import HookDict, NodeHooks, call_post_accumulate, checked, checked_tuple
from minigrad.autograd.views import repeats
from minigrad.backends.registry import OF_TYPE, Several, device_of, in_use, lies_in, name_of, put_in_use
from minigrad.core import saved
from minigrad.core.grad_mode import LOCAL
from minigrad.core.graph import CALL, AccumulateGrad, Node, hooks_at
from minigrad.core.graph_task import GraphTask
from minigrad.core.saved import REGISTRY

__all__ = ["accumulate", "call", "check_place", "differentiate", "evaluate", "evaluate_leaf"]

ACCUMULATING = RLock()  # two threads may add to one `.grad`, and NumPy lets go of the interpreter's lock in an addition


def differentiate(node: Node, grad: Any, xp: Any, first_order: bool, fit: bool = True) -> Any:
    """The gradients of a node's inputs: its formula, summed and cast to `fit` them."""
    if grad is None:
        return (None,) * len(node.next)
    if first_order:
        grads = node.formula(xp, grad)
    else:
        grads = node.backward(xp, grad, *saved.tensors(node), *node.const)
    return fitted(node, grads, xp) if fit and node._notes is not None else grads


def differentiate_on_tensors(task: GraphTask, node: Node, grad: Any, fit: bool) -> Any:
    """The same where hooks unpack what was saved, and may give anything: the words on Tensors check what they get.

    An observer is told what the hooks run (a whole function, maybe), not what the formula does on Tensors.
    """
    if grad is None:
        return (None,) * len(node.next)
    kept = saved.tensors(node)
    observer, LOCAL.observer = LOCAL.observer, None if task.first_order else LOCAL.observer
    try:
        found = node.backward(REGISTRY.words, task.wrapped(grad), *kept, *node.const)
    finally:
        LOCAL.observer = observer
    parts = found if type(found) is tuple else (found,)
    for index, (g, like) in enumerate(zip(parts, node.input_metadata or ())):
        if g is not None and like is not None:
            check_gradient(node, index, g, like[0])
    made = tuple([task.unwrapped(g) for g in parts])
    return fitted(node, made, task.xp) if fit else made


def check_gradient(node: Node, index: int, grad: Any, shape: tuple[int, ...]) -> None:
    """PyTorch's error for a gradient that cannot be summed to the shape of its input."""
    got = grad.array.shape
    lead = len(got) - len(shape)
    if got != shape and (lead < 0 or any(n not in (1, got[lead + i]) for i, n in enumerate(shape))):
        raise RuntimeError(f"Function {node.name()} returned an invalid gradient at index {index} - got "
                           f"{list(got)} but expected shape compatible with {list(shape)}")


def check_place(grad: Any, place: Any, index: int, xp: Any, who: str = "") -> Any:
    """A gradient, an array or a Tensor, where its input or its root lies: a number goes there, and PyTorch's error is
    for all else."""
    array = grad.array if saved.is_tensor(grad) else grad
    if lies_in(array, place):
        return grad
    if array.ndim:
        raise RuntimeError(f"{who}invalid gradient at index {index} - expected device {name_of(place)} but got "
                           f"{device_of(array)}")
    return xp.moved(grad, place)


def fitted(node: Node, grads: Any, xp: Any) -> Any:
    """Gradients in the shapes and dtypes of the inputs (`Node.fit`)."""
    input_metadata = node.input_metadata
    if input_metadata is None:
        return grads
    parts = grads if type(grads) is tuple else (grads,)
    return tuple([g if g is None or like is None or edge is None else sum_to(g, like, xp)
                  for edge, g, like in zip(node.next, parts, input_metadata, strict=True)])


def sum_to(grad: Any, like: tuple[Any, ...], xp: Any) -> Any:
    """Sum a gradient to the shape, and cast it to the dtype, of an input that was broadcast: the only place. That of a
    number on the CPU, which met a device's tensor, goes there."""
    shape, dtype = like[0], like[1]
    if grad.shape != shape:
        lead = grad.ndim - len(shape)
        axes = tuple(range(lead)) + tuple([lead + i for i, n in enumerate(shape) if n == 1 != grad.shape[lead + i]])
        if axes:
            grad = xp.sum(grad, axes, True)
        if lead:
            grad = xp.reshape(grad, shape)
    grad = grad if xp.dtype(grad) is dtype else xp.cast(grad, dtype)
    return grad if len(like) == 2 else xp.moved(grad, like[2])


def derivatives(task: GraphTask, node: Node, grads: Sequence[Any], fit: bool = True) -> tuple[Any, ...]:
    """The gradients of a node's inputs, as user code sees them: None where the input has no edge, or where this pass
    leaves out what the edge leads to. User code has the last word about its own."""
    if node.special:
        found = node.in_pass(grads, task)
        if task.runs is None or not node.prunes:
            return found  # type: ignore[no-any-return]  # several classes of nodes have `in_pass`
    else:
        hooked = node.rare is not None and any(type(s) is saved.Packed for s in node.saved or ())
        found = (differentiate_on_tensors(task, node, grads[0], fit) if hooked else
                 differentiate(node, grads[0], task.xp, task.first_order, fit))
    parts = found if type(found) is tuple else (found,)
    needs = task.needs if node.prunes and task.runs is not None else {}
    return tuple([None if edge is None or needs.get(edge, 0) is None else g
                  for edge, g in zip(node.next, parts, strict=True)])


def evaluate(task: GraphTask, node: Node, grad: Any) -> tuple[Any, ...]:
    """A node with all that can happen at one: captures, hooks, several outputs, user code, an observer."""
    grads = list(grad) if node.outputs != 1 else [grad]
    if Several.known:
        run_beside(grads)
    hooks = None if node.rare is None else node.node_hooks() if node.special else node.rare.hooks
    if task.observer is not None:
        task.observer.run(node, grads)
    if task.runs is not None and node not in task.runs:
        if hooks is not None:
            grads = [task.unwrapped(g) for g in call_tensor_hooks(task, node, hooks, grads)]
        capture(task, node, grads)
        return ()
    capture(task, node, grads)
    found = derivatives(task, node, grads) if hooks is None else with_hooks(task, node, hooks, grads)
    if not task.keep:
        held = bool(node.saved)  # not the tensors: they go now
        node.release()
        if held and task.observer is not None:
            task.observer.release(node)
    return found


def run_beside(grads: Sequence[Any]) -> None:
    """Let what comes run on the device of a node's gradients; PyTorch has a thread for each device."""
    for grad in grads:
        if grad is not None:
            put_in_use(getattr(grad, "array", grad))
            return


def with_hooks(task: GraphTask, node: Node, hooks: NodeHooks, grads: Sequence[Any]) -> tuple[Any, ...]:
    """A node between its hooks: all of them get the same tensors."""
    received = call_pre_hooks(task, node, hooks, tuple(call_tensor_hooks(task, node, hooks, grads)))
    found = derivatives(task, node, [task.unwrapped(g) for g in received])
    if not hooks.post:
        return found
    made = call_post_hooks(task, node, hooks, tuple([task.wrapped(g) for g in found]), received)
    return tuple([task.unwrapped(g) for g in made])


def capture(task: GraphTask, target: Any, grads: Sequence[Any]) -> None:
    """Keep the gradients of those inputs of `autograd.grad` that are found at this node or leaf."""
    for output_nr, index in task.captures.get(target, ()):
        task.captured[index] = grads[output_nr]
        if task.observer is not None and task.inputs is not None and saved.is_tensor(task.inputs[index]):
            task.observer.capture(task.inputs[index], grads[output_nr])


def evaluate_leaf(task: GraphTask, leaf: Any, grad: Any, own: bool) -> None:
    """A leaf with all that can happen at one: hooks, captures, an observer."""
    rare, observer = leaf._rare, task.observer
    if Several.known:
        run_beside([grad])
    if observer is not None:
        observer.run(leaf, [grad])
    if rare is not None and rare.hooks:
        grad, own = task.unwrapped(run_tensor_hooks(task, leaf, rare.hooks, task.wrapped(grad))), False
    if task.runs is not None and leaf not in task.runs:
        capture(task, leaf, [grad])
        return
    hooks = None if rare is None else hooks_at(leaf, task.needs)
    if hooks is None:
        accumulate_grad(task, leaf, grad, own)
        return
    received = call_pre_hooks(task, leaf, hooks, (task.wrapped(grad),))
    accumulate_grad(task, leaf, task.unwrapped(received[0]), False)
    call_post_hooks(task, leaf, hooks, (), received)


def accumulate_grad(task: GraphTask, leaf: Any, grad: Any, own: bool) -> None:
    """What a leaf's AccumulateGrad does, between its hooks: add to `.grad`, then call the post-accumulate hooks."""
    accumulate(leaf, grad, own, task.first_order)
    if task.observer is not None and grad is not None and leaf._requires_grad:
        task.observer.accumulate(leaf, grad)
    if leaf._rare is not None and leaf._rare.post_accumulate:
        for hook in list(leaf._rare.post_accumulate.values()):
            call_post_accumulate(hook, leaf)
            if task.observer is not None:
                task.observer.hook(leaf, "post_accumulate", hook, [grad], leaf)


def accumulate(leaf: Any, grad: Any, own: bool, first_order: bool) -> None:
    """Add a gradient to `leaf.grad`: in place in a first-order pass, by a recorded op otherwise.

    A leaf that has ceased to require grad gets none.
    """
    if leaf._grad_fn is not None:
        raise RuntimeError("leaf variable has been moved into the graph interior")
    if grad is None or not leaf._requires_grad:
        return
    lay = laid_there if type(leaf.array) in OF_TYPE else laid
    with ACCUMULATING:
        old = leaf._grad
        if not first_order:
            leaf._grad = REGISTRY.words.copy(grad) if old is None else old + grad
            if old is None:
                leaf._grad.array = lay(leaf._grad.array, leaf.array, True)
        elif old is None:
            leaf._grad = REGISTRY.tensor(grad if isinstance(grad, generic) else lay(grad, leaf.array, own))
        else:
            if old._rare is not None:
                saved.refuse_outside(old)
            counter = saved.counter_of(old)
            if counter.before_write is not None:
                counter.before_write()
            if isinstance(old.array, generic):
                old.array = old.array + grad
            elif not repeats(old.array):
                old.array += grad
            else:
                raise RuntimeError(saved.WRITTEN_TWICE)
            counter.value += 1


def laid(grad: Any, like: Any, own: bool) -> Any:
    """A gradient as its leaf keeps it: row by row, or with the strides of a leaf that is dense in another order; itself
    if it is the leaf's `own` and lies so, else a copy. PyTorch calls this the gradient layout contract."""
    if like.flags.c_contiguous:
        return grad if own and grad.flags.c_contiguous else grad.copy()
    made = empty_like(like, grad.dtype)
    if made.strides != like.strides:
        return grad if own and grad.flags.c_contiguous else grad.copy()
    if own and grad.strides == like.strides:
        return grad
    made[...] = grad
    return made


def laid_there(grad: Any, like: Any, own: bool) -> Any:
    """The same on the device of the gradient, which need not be the one in use."""
    backend = OF_TYPE[type(grad)]
    with backend.on(backend.index_of(grad)):
        return laid(grad, like, own)


def retain(tensor: Any, grad: Any, first_order: bool) -> None:
    """Add a gradient, a tensor, to the `.grad` of a non-leaf: always a new tensor; by an op only in a recorded pass."""
    with ACCUMULATING:
        old = tensor._grad
        if not first_order:
            tensor._grad = grad.clone() if old is None else old + grad
        else:
            tensor._grad = REGISTRY.tensor(grad.array.copy() if old is None else old.array + grad.array)


def run_tensor_hooks(task: GraphTask, target: Any, hooks: HookDict, grad: Any) -> Any:
    """The hooks of one tensor; each may put another gradient in the place of what it is given."""
    for hook in list(hooks.values()):
        grad = checked(hook(grad), grad, hook)
        if task.observer is not None:
            task.observer.hook(target, "tensor", hook, [grad])
    return grad


def call_tensor_hooks(task: GraphTask, node: Node, hooks: NodeHooks, grads: Sequence[Any]) -> list[Any]:
    """The hooks of the tensors that a node made, then retain_grad; gives the gradients as tensors."""
    given = [task.wrapped(g) for g in grads]
    for output_nr, fns in list(hooks.tensor.items()):
        given[output_nr] = run_tensor_hooks(task, node, fns, given[output_nr])
    for output_nr, reference in list(hooks.retains.items()):
        tensor, grad = reference(), given[output_nr]
        if tensor is not None and grad is not None:
            retain(tensor, grad, task.first_order)
            if task.observer is not None:
                task.observer.hook(node, "retain_grad", None, [grad], tensor)
    return given


def call_pre_hooks(task: GraphTask, target: Any, hooks: NodeHooks, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """The pre-hooks of a node; each may return a tuple in the place of the gradients."""
    for hook in list(hooks.pre.values()):
        grads = checked_tuple(hook(grads), grads, hook)
        if task.observer is not None:
            task.observer.hook(target, "pre", hook, grads)
    return grads


def call_post_hooks(task: GraphTask, target: Any, hooks: NodeHooks, found: tuple[Any, ...],
                    received: tuple[Any, ...]) -> tuple[Any, ...]:
    """The hooks of a node, with what it computed and what it had received; each may replace what it computed."""
    for hook in list(hooks.post.values()):
        found = checked_tuple(hook(found, received), found, hook)
        if task.observer is not None:
            task.observer.hook(target, "post", hook, found)
    return found


def call(node: Node, given: tuple[Any, ...]) -> Any:
    """Run one node by hand, under the caller's grad mode: recorded if it is on, and saved tensors are kept.

    Gives what PyTorch gives: a tensor for a node with one input, else a tuple; `()` from an AccumulateGrad.
    """
    if len(given) != node.outputs:
        raise TypeError(f"expected {node.outputs} arguments, got {len(given)} instead")
    for i, g in enumerate(given):
        if g is not None and not saved.is_tensor(g):
            raise TypeError(f"argument {i} is not a Variable")
    task = GraphTask(LOCAL.grad_enabled, keep=True)
    observer, task.observer = task.observer, None
    grads = [task.unwrapped(g) for g in given]
    if isinstance(node, AccumulateGrad):
        accumulate_grad(task, node.variable, grads[0], False)
        if observer is not None:
            observer.call(node.variable, grads, ())
        return ()
    results = derivatives(task, node, grads, fit=False)  # the engine sums what was broadcast, the node does not
    if observer is not None:
        observer.call(node, grads, results)
    wrapped = tuple([task.wrapped(g) for g in results])
    return wrapped[0] if len(wrapped) == 1 else wrapped


def call_there(node: Node, given: tuple[Any, ...]) -> Any:
    """The same on the device of its gradients, where there are several."""
    if not Several.known:
        return call(node, given)
    with in_use():
        run_beside(given)
        return call(node, given)


CALL.append(call_there)
