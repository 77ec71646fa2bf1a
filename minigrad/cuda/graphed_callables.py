"""`cuda.make_graphed_callables`: mirrors the function of that name in `torch/cuda/graphs.py`.

A function or a module becomes two CUDA graphs, its forward and its backward pass, inside one autograd node. Such graphs
need fixed memory for inputs, results and gradients; each call copies to and from it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from minigrad.autograd import grad
from minigrad.autograd.function import Function, once_differentiable
from minigrad.core import Tensor
from minigrad.cuda.graphs import CUDAGraph, graph
from minigrad.ops.factory import empty_like

HOOKS = ("Modules must not have hooks registered at the time they are passed. However, registering hooks on modules "
         "after passing them through make_graphed_callables is allowed.")
BUFFERS = ("In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be "
           "trainable. All buffers must have ``requires_grad=False``.")
TENSORS = ("In the beta API, sample_args for each callable must contain only Tensors. Other types are not allowed.")


def make_graphed_callables(callables: Any, sample_args: tuple[Any, ...], num_warmup_iters: int = 3,
                           allow_unused_input: bool = False, pool: Any = None) -> Any:
    """The same functions or modules, run as CUDA graphs; given a tuple of them, a tuple, with `sample_args` for each.

    Later calls must have tensors of the shapes, dtypes and `requires_grad` of `sample_args`. A module is modified: in
    its present mode, training or not, its `forward` runs the graphs. The next call overwrites the results. `pool` has
    no effect: each graph has its own memory.

    Raises:
        AssertionError: for modules with hooks or with buffers that require grad, and arguments that are not tensors.
        RuntimeError: for arguments that the results do not depend on, unless `allow_unused_input`.
    """
    alone = not isinstance(callables, tuple)
    functions, samples = ((callables,), (sample_args,)) if alone else (callables, sample_args)
    for function, args in zip(functions, samples):
        check(function, args)
    all_passes = [Passes(function, args, allow_unused_input) for function, args in zip(functions, samples)]
    for passes in all_passes:
        passes.warm_up(num_warmup_iters)
    for passes in all_passes:
        passes.capture_forward()
    for passes in reversed(all_passes):
        passes.capture_backward()
    results = tuple([passes.put_in() for passes in all_passes])
    return results[0] if alone else results


def check(function: Any, args: tuple[Any, ...]) -> None:
    """Raise PyTorch's errors for callables that cannot be captured."""
    if is_module(function):
        if function._backward_hooks or function._forward_hooks or function._forward_pre_hooks:
            raise AssertionError(HOOKS)
        if any(b.requires_grad for b in function.buffers()):
            raise AssertionError(BUFFERS)
    if not all(isinstance(each, Tensor) for each in leaves(args)):
        raise AssertionError(TENSORS)


def is_module(function: Any) -> bool:
    """Whether a callable is a module, judged by its attributes, so that `minigrad.nn` need not be loaded."""
    return hasattr(function, "parameters") and hasattr(function, "forward")


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the values in tuples, lists and dicts, in order."""
    if isinstance(tree, (tuple, list, dict)):
        for each in tree.values() if isinstance(tree, dict) else tree:
            yield from leaves(each)
    else:
        yield tree


def rebuilt(tree: Any, values: Iterator[Any]) -> Any:
    """The same tuples, lists and dicts with other values."""
    if isinstance(tree, dict):
        return {key: rebuilt(each, values) for key, each in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [rebuilt(each, values) for each in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return next(values)


class Passes:
    """A callable and its two graphs.

    `input_surface`: all that gradients can be computed for, the arguments and then the parameters; `outputs`: the
    results, in fixed memory; `grad_outputs` and `grad_inputs`: the gradients of the results and of the input surface,
    likewise.
    """

    def __init__(self, function: Any, args: tuple[Any, ...], allow_unused: bool) -> None:
        self.function, self.args, self.allow_unused = function, args, allow_unused
        self.params = tuple(function.parameters()) if is_module(function) else ()
        self.inputs = tuple(leaves(args))
        self.input_surface = self.inputs + self.params
        self.forward, self.backward = CUDAGraph(), CUDAGraph()
        self.outputs: tuple[Any, ...] = ()
        self.grad_outputs: tuple[Any, ...] = ()
        self.grad_inputs: tuple[Any, ...] = ()

    def warm_up(self, times: int) -> None:
        """Run it without a graph, so that kernels are compiled; the gradients are discarded."""
        for _ in range(times):
            self.differentiated(tuple(leaves(self.function(*self.args))))

    def differentiated(self, outputs: tuple[Any, ...]) -> None:
        """Run a backward pass of the results that require grad, from `grad_outputs` if there are any."""
        wanted = [o for o in outputs if o.requires_grad]
        starts = [g for g in self.grad_outputs if g is not None] or [empty_like(o) for o in wanted]
        parts: Iterator[Any] = iter(())
        if wanted:
            parts = iter(grad(wanted, [x for x in self.input_surface if x.requires_grad], starts,
                              allow_unused=self.allow_unused))
        self.grad_inputs = tuple([next(parts) if wanted and x.requires_grad else None for x in self.input_surface])

    def capture_forward(self) -> None:
        """Capture the forward pass."""
        with graph(self.forward):
            self.tree = self.function(*self.args)
        self.outputs = tuple(leaves(self.tree))

    def capture_backward(self) -> None:
        """Capture the backward pass."""
        self.grad_outputs = tuple([empty_like(o) if o.requires_grad else None for o in self.outputs])
        if any(g is not None for g in self.grad_outputs):
            with graph(self.backward):
                self.differentiated(self.outputs)
        else:
            self.grad_inputs = (None,) * len(self.input_surface)

    def put_in(self) -> Any:
        """Return a callable that replays the graphs; a module gets it as its `forward`."""
        function, run = self.function, self.as_function()
        if not is_module(function):
            return run
        training, forward = function.training, function.forward

        def either(*args: Any, **options: Any) -> Any:
            return (run if function.training == training else forward)(*args, **options)

        function.forward = either
        return function

    def as_function(self) -> Callable[..., Any]:
        """A function with one autograd node that copies and replays."""
        passes = self

        class Graphed(Function):
            @staticmethod
            def forward(ctx: Any, *inputs: Tensor) -> tuple[Tensor, ...]:
                for memory, x in zip(passes.inputs, inputs):  # parameters are already in place
                    passes.put(memory, x)
                passes.forward.replay()
                return tuple([o.detach() for o in passes.outputs])

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
                for memory, g in zip(passes.grad_outputs, grads):
                    if memory is not None:
                        passes.put(memory, g)
                passes.backward.replay()
                return tuple([None if g is None else g.detach() for g in passes.grad_inputs])

        def call(*args: Any) -> Any:
            outputs = Graphed.apply(*leaves(args), *passes.params)
            return rebuilt(passes.tree, iter(outputs))

        return call

    @staticmethod
    def put(memory: Tensor, x: Tensor) -> None:
        """Copy a tensor to its fixed memory, unless it is there."""
        if memory.data_ptr() != x.data_ptr():
            memory.detach().copy_(x.detach())
