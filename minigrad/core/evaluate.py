"""Evaluates a node with everything that can happen at a node: hooks, captures, an observer, edges that are left out.

Mirrors `evaluate_function` of PyTorch's `engine.cpp`. A node comes here if it or its leaf has hooks, or if the whole
pass has `inputs=` or an observer; `engine.evaluate_function` is the fast path for all others. NOTE 1 in engine.py says
in which order things happen.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from minigrad._base.contexts import contextmanager
from minigrad._base.hooks import HookDict, NodeHooks, call_post_accumulate, check_result, check_results
from minigrad.backends.registry import MultiDevice, device_guard, device_of, lies_on, name_of, use_device_of
from minigrad.core.grad_mode import LOCAL, switch
from minigrad.core.graph import ACCUMULATING, AccumulateGrad, Node, target_of
from minigrad.core.input_buffer import GraphTask, InputBuffer
from minigrad.core.saved import Packed, as_arrays, is_tensor, saved_arrays, saved_tensors
from minigrad.core.tensor import Tensor, extras_of, plain

__all__ = ["call_function", "call_node", "check_device", "check_gradient", "evaluate_fully", "on_device_of", "sum_to",
           "sum_to_inputs"]


def evaluate_fully(task: GraphTask, buffer: InputBuffer) -> tuple[Any, ...]:
    """Evaluate a node with its hooks, captures and calls of the observer; return the gradients of its inputs.

    A mode that a hook switches lasts until this node is done: then the thread's modes are as they were before.
    """
    grad_enabled, inference, hooks = LOCAL.grad_enabled, LOCAL.inference, LOCAL.saved_tensors_hooks
    try:
        return evaluate_in_order(task, buffer)
    finally:
        if (grad_enabled, inference) != (LOCAL.grad_enabled, LOCAL.inference):
            switch(grad_enabled, inference)
        if LOCAL.saved_tensors_hooks is not hooks:
            LOCAL.saved_tensors_hooks = hooks
            LOCAL.update()


def evaluate_in_order(task: GraphTask, buffer: InputBuffer) -> tuple[Any, ...]:
    """Do all that happens at a node, in the order of NOTE 1 in engine.py."""
    node, can_steal = buffer.node, buffer.owns_grad()
    if isinstance(node, AccumulateGrad):
        node.restore_hooks(task.dependencies)
    grads, buffer.grad = list(buffer.grad) if node.outputs != 1 else [buffer.grad], None
    hooks = None if node._extras is None else node._extras.hooks
    if task.observer is not None:
        task.observer.run(node, grads)
    if task.nodes_to_run is not None and target_of(node) not in task.nodes_to_run:
        capture(task, node, [task.unwrapped(g) for g in call_tensor_hooks(task, node, hooks, grads)])
        return ()
    capture(task, node, grads)
    if hooks is None and not (isinstance(node, AccumulateGrad) and node.has_leaf_hooks()):
        results = call_function(task, node, grads, can_steal=can_steal)
    else:
        results = call_function_with_hooks(task, node, hooks or NodeHooks(), grads)
    if not task.keep_graph:
        had_saved = bool(node.saved)
        node.release()
        if had_saved and task.observer is not None:
            task.observer.release(node)
    return results


def call_function_with_hooks(task: GraphTask, node: Node, hooks: NodeHooks, grads: Sequence[Any]) -> tuple[Any, ...]:
    """Evaluate a node between its hooks. Each gets what the one before returned, post-hooks also what was received."""
    received = call_pre_hooks(task, node, hooks, tuple(call_tensor_hooks(task, node, hooks, grads)))
    results = call_function(task, node, [task.unwrapped(g) for g in received])
    if not hooks.post:
        return results
    wrapped = call_post_hooks(task, node, hooks, tuple([task.wrapped(g) for g in results]), received)
    return tuple([task.unwrapped(g) for g in wrapped])


def call_function(task: GraphTask, node: Node, grads: Sequence[Any], sum_broadcast: bool = True,
             can_steal: bool = False) -> tuple[Any, ...]:
    """Compute the gradients of a node's inputs as user code sees them.

    They have the shapes and dtypes of the inputs, unless `sum_broadcast` is False. None stands where an input has no
    edge, and where this pass leaves out what the edge leads to. The results of a custom Function are taken as they are.
    """
    if isinstance(node, AccumulateGrad):
        accumulate_with_hooks(task, node, grads[0], can_steal)
        return ()
    left_out = task.left_out if node.prunes else ()
    packed = not node.own_input_grads and any(type(value) is Packed for value in node.saved or ())
    if left_out and not node.own_input_grads and all(target is None or target in left_out for target in node.next):
        _ = saved_tensors(node) if packed else saved_arrays(node)  # raises for what was freed or changed
        return (None,) * len(node.next)
    if packed:
        results = input_grads_of_unpacked(task, node, grads[0])
    else:
        results = node.input_grads(task, grads[0] if node.outputs == 1 else list(grads))
    results = results if type(results) is tuple else (results,)
    if node.own_input_grads and (task.nodes_to_run is None or not node.prunes):
        return results
    if sum_broadcast and node._extras is not None and node._extras.input_metadata is not None:
        results = sum_to_inputs(node, results, task.xp)
    return tuple([None if target is None or target in left_out else g
                  for target, g in zip(node.next, results, strict=True)])


def input_grads_of_unpacked(task: GraphTask, node: Node, grad: Any) -> Any:
    """Call the formula where hooks unpack what was saved; they may return any tensor.

    In a first-order pass the formula gets arrays, as without hooks, if all are like what was packed. Else it gets
    tensors, whose operators broadcast and promote, and its results are checked. An observer sees what the hooks run,
    which may be a whole function, but not what the formula does with tensors.
    """
    if grad is None:
        return (None,) * len(node.next)
    kept, saved = node.saved or (), saved_tensors(node)
    if task.first_order and all(type(value) is not Packed or value.is_like(v) for value, v in zip(kept, saved)):
        return node.backward(task.xp, grad, *as_arrays(node, saved), *node.const)
    observer, LOCAL.observer = LOCAL.observer, None if task.first_order else LOCAL.observer
    try:
        results = node.backward(Tensor.backward_namespace, task.wrapped(grad), *saved, *node.const)
    finally:
        LOCAL.observer = observer
    results = results if type(results) is tuple else (results,)
    for index, (g, like) in enumerate(zip(results, node.extras().input_metadata or ())):
        if g is not None and like is not None:
            check_gradient(node, index, g, like[0])
    return tuple([task.unwrapped(g) for g in results])


def check_gradient(node: Node, index: int, grad: Tensor, shape: tuple[int, ...]) -> None:
    """Raise PyTorch's error for a gradient that cannot be summed to the shape of its input."""
    got = grad.array.shape
    lead = len(got) - len(shape)
    if got != shape and (lead < 0 or any(n not in (1, got[lead + i]) for i, n in enumerate(shape))):
        raise RuntimeError(f"Function {node.name()} returned an invalid gradient at index {index} - got "
                           f"{list(got)} but expected shape compatible with {list(shape)}")


def check_device(grad: Any, device: Any, index: int, xp: Any, prefix: str = "") -> Any:
    """Return a gradient, an array or a Tensor, on the device of its input; a 0-d one is moved there. Raises
    RuntimeError with PyTorch's message, for any other gradient on another device."""
    array = grad.array if is_tensor(grad) else grad
    if lies_on(array, device):
        return grad
    if array.ndim:
        raise RuntimeError(f"{prefix}invalid gradient at index {index} - expected device {name_of(device)} but got "
                           f"{device_of(array)}")
    return xp.moved(grad, device)


def sum_to_inputs(node: Node, grads: Any, xp: Any) -> tuple[Any, ...]:
    """Sum the gradients that a formula returned to the shapes of the inputs that were broadcast, and cast them."""
    grads = grads if type(grads) is tuple else (grads,)
    return tuple([g if g is None or like is None or target is None else sum_to(g, like, xp)
                  for target, g, like in zip(node.next, grads, node.extras().input_metadata or (), strict=True)])


def sum_to(grad: Any, like: tuple[Any, ...], xp: Any) -> Any:
    """Sum a gradient to the shape of an input that was broadcast, and cast it to its dtype. Formulas do not.

    `like` is (shape, dtype), or (shape, dtype, device) for a number on the CPU that met another device's tensor.
    """
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


def capture(task: GraphTask, node: Node, grads: Sequence[Any]) -> None:
    """Store those gradients which arrive at this node and `autograd.grad` will return."""
    for output_nr, index in task.captures.get(target_of(node), ()):
        task.captured[index] = grads[output_nr]
        if task.observer is not None and task.inputs is not None and is_tensor(task.inputs[index]):
            task.observer.capture(task.inputs[index], grads[output_nr])


def accumulate_with_hooks(task: GraphTask, node: AccumulateGrad, grad: Any, can_steal: bool) -> None:
    """Add to `.grad`, then call the post-accumulate hooks."""
    leaf = node.variable
    node.accumulate(task, grad, can_steal)
    if task.observer is not None and grad is not None and leaf._requires_grad:
        task.observer.accumulate(leaf, grad)
    if leaf._extras is not None and leaf._extras.post_accumulate:
        for hook in list(leaf._extras.post_accumulate.values()):
            call_post_accumulate(hook, leaf)
            if task.observer is not None:
                task.observer.hook(node, "post_accumulate", hook, [grad], leaf)


def retain(tensor: Tensor, grad: Tensor, first_order: bool) -> None:
    """Add to the `.grad` of a non-leaf that called `retain_grad()`: it is always a new tensor."""
    old = tensor._grad
    if not first_order:
        tensor._grad = grad.clone() if old is None else old + grad
    else:
        tensor._grad = plain(grad.array.copy() if old is None else old.array + grad.array)


def call_tensor_hooks(task: GraphTask, node: Node, hooks: NodeHooks | None, grads: Sequence[Any]) -> list[Any]:
    """Call the hooks of the tensors that a node made, then fill `.grad` where `retain_grad()` was called.

    Returns the gradients as tensors.
    """
    tensors = [task.wrapped(g) for g in grads]
    by_output = dict(hooks.tensor) if hooks is not None else {}
    if isinstance(node, AccumulateGrad) and node.has_leaf_hooks():
        by_output[0] = extras_of(node.variable).hooks or HookDict()
    for output_nr, tensor_hooks in by_output.items():
        for hook in list(tensor_hooks.values()):
            tensors[output_nr] = check_result(hook(tensors[output_nr]), tensors[output_nr], hook)
            if task.observer is not None:
                task.observer.hook(node, "tensor", hook, [tensors[output_nr]])
    for output_nr, reference in list(hooks.retains.items()) if hooks is not None else ():
        tensor, grad = reference(), tensors[output_nr]
        if tensor is not None and grad is not None:
            with ACCUMULATING:
                retain(tensor, grad, task.first_order)
            if task.observer is not None:
                task.observer.hook(node, "retain_grad", None, [grad], tensor)
    return tensors


def call_pre_hooks(task: GraphTask, node: Node, hooks: NodeHooks, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """Call the pre-hooks of a node; each may return a tuple to replace the gradients."""
    for hook in list(hooks.pre.values()):
        grads = check_results(hook(grads), grads, hook)
        if task.observer is not None:
            task.observer.hook(node, "pre", hook, grads)
    return grads


def call_post_hooks(task: GraphTask, node: Node, hooks: NodeHooks, results: tuple[Any, ...],
                    received: tuple[Any, ...]) -> tuple[Any, ...]:
    """Call the hooks of a node with what it computed and what it had received; each may replace what it computed."""
    for hook in list(hooks.post.values()):
        results = check_results(hook(results, received), results, hook)
        if task.observer is not None:
            task.observer.hook(node, "post", hook, results)
    return results


@contextmanager
def on_device_of(grads: Sequence[Any]) -> Iterator[None]:
    """A block in which the device of the first gradient is in use; PyTorch has a thread for each device."""
    if not MultiDevice.active:
        yield
        return
    with device_guard():
        use_device_of(next((getattr(g, "array", g) for g in grads if g is not None), None))
        yield


def call_node(node: Node, *grads: Any, **names: Any) -> Any:
    """Run a node by hand, under the caller's grad mode: recorded if it is on. What the node saved is kept.

    As in PyTorch it returns a tensor for a node with one input, else a tuple; `()` from an AccumulateGrad. Raises
    TypeError if the number of gradients is not that of the op's outputs, or one is not a tensor, or has a name, and
    RuntimeError if what the node saved was freed by a backward pass.
    """
    if names:
        raise TypeError("keyword arguments are not supported")
    if len(grads) != node.outputs:
        raise TypeError(f"expected {node.outputs} arguments, got {len(grads)} instead")
    for i, g in enumerate(grads):
        if g is not None and not is_tensor(g):
            raise TypeError(f"argument {i} is not a Variable")
    task = GraphTask(LOCAL.grad_enabled, keep_graph=True)
    observer, task.observer = task.observer, None
    arrays = [task.unwrapped(g) for g in grads]
    with on_device_of(arrays):
        results = call_function(task, node, arrays, sum_broadcast=False)  # the engine sums, not the node
    if observer is not None:
        observer.call(node.variable if isinstance(node, AccumulateGrad) else node, arrays, results)
    wrapped = tuple([task.wrapped(g) for g in results])
    return wrapped[0] if len(wrapped) == 1 else wrapped


# Nodes are callable, as PyTorch's `python_cpp_function.cpp` makes its nodes. It is set here, since it needs this file.
setattr(Node, "__call__", call_node)  # noqa: B010 (mypy lets nobody assign a method)
