"""CUDA graphs: mirrors `torch/cuda/graphs.py`.

A step of a small model launches hundreds of kernels of a few microseconds each, and Python takes longer to launch them
than the GPU to run them. A graph captures them once and launches them all at once, on the same memory each time:

    step()                                  # once without a graph: kernels are compiled, memory is allocated
    graph = minigrad.cuda.CUDAGraph()
    with minigrad.cuda.graph(graph):
        step()                              # is captured, not run
    x.copy_(next_batch); graph.replay()     # runs it on the present values of x

Shapes, and numbers that Python computes, are fixed at capture: a learning rate, and Adam's step count, unless it has
`capturable=True` and counts on the GPU. Ops that wait for the GPU (`item`, `nonzero`) raise an error during capture.
Random numbers (dropout) advance: each replay draws what would have been drawn next without a graph.

`make_graphed_callables` makes two graphs of a function or a module, its forward and its backward pass, inside one
autograd node. Such graphs need fixed memory for inputs, results and gradients; each call copies to and from it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from minigrad._base.device import device
from minigrad._base.nested import leaves, mapped
from minigrad.autograd import grad
from minigrad.autograd.function import Function, once_differentiable
from minigrad.backends.curand import InGraph
from minigrad.backends.registry import Backend, backend_for, device_handle
from minigrad.core import Tensor
from minigrad.ops.factory import empty_like
from minigrad.ops.random import Generator, default_of

OWNED = "This CUDAGraph instance already owns a captured graph. To capture a new graph, create a new instance."


class CUDAGraph:
    """GPU work that `graph(...)`, or `capture_begin` and `capture_end`, captures and `replay` runs.

    It keeps the memory that it works on, including that of its results, which each replay overwrites.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        self.backend: Backend = backend_for("cuda")
        self.block: AbstractContextManager[Callable[[], None]] | None = None
        self.again: Callable[[], None] | None = None
        self.index = 0  # the GPU of the capture
        self.registered: list[Generator] = []
        self.streams: list[InGraph] = []

    def register_generator_state(self, generator: Generator) -> None:
        """Let the graph draw from a user's generator; it may always draw from the GPU's default one."""
        generator.philox(RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'"))
        self.registered.append(generator)

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Capture the work of the current GPU from now on. Raises RuntimeError during another capture, or if this graph
        has captured work that `reset` has not discarded."""
        if self.again is not None or self.backend.capturing():
            raise RuntimeError(OWNED if self.again is not None else "a CUDA graph is being captured already")
        self.index = self.backend.current_device()
        here = device("cuda", self.index)
        states: dict[int, Any] = {id(each.stream): each.stream for each in (default_of(here), *self.registered)}
        # Created before the capture, or the graph would empty them at each replay.
        self.streams = [InGraph(state, device_handle(here)) for state in states.values()]
        block = self.backend.capture()
        self.again, self.block = block.__enter__(), block
        for each in self.streams:
            each.stream.graph = each

    def capture_end(self) -> None:
        """Stop capturing. Raises RuntimeError if no capture has begun."""
        self.end_capture(None, None, None)

    def end_capture(self, *error: Any) -> None:
        """Stop capturing; after an error, even in stopping, nothing is kept."""
        block, self.block = self.block, None
        if block is None:
            raise RuntimeError("capture_end was called without capture_begin")
        again, self.again = self.again, None
        for each in self.streams:
            each.stream.graph = None
        block.__exit__(*error)
        if error[0] is None:
            self.again = again

    def replay(self) -> None:
        """Launch the captured work on the GPU. Raises RuntimeError if nothing was captured, or the capture has not
        ended."""
        if self.again is None or self.block is not None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        with self.backend.on(self.index):
            for each in self.streams:
                if each.drawn:
                    each.replay()
            self.again()

    def reset(self) -> None:
        """Discard the captured work, and free its memory."""
        self.again, self.streams = None, []


class graph:
    """A `with` block whose GPU work is captured in a CUDAGraph instead of being run.

    `pool`, `stream`, `capture_error_mode` and the rest are PyTorch's, and have no effect: each graph has its own memory
    and stream.
    """

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, capture_error_mode: str = "global",
                 enable_annotations: bool = False, check_input_liveness: bool = False) -> None:
        backend_for(device("cuda").type)
        self.cuda_graph = cuda_graph

    def __enter__(self) -> None:
        self.cuda_graph.backend.synchronize(None)
        self.cuda_graph.capture_begin()

    def __exit__(self, *error: Any) -> None:
        self.cuda_graph.end_capture(*error)


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
    no effect: each graph has its own memory. Raises AssertionError for modules with hooks or with buffers that require
    grad, and arguments that are not tensors; RuntimeError for arguments that the results do not depend on, unless
    `allow_unused_input`.
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
            self.run_backward(tuple(leaves(self.function(*self.args))))

    def run_backward(self, outputs: tuple[Any, ...]) -> None:
        """Run a backward pass of the results that require grad, from `grad_outputs` if there are any."""
        wanted = [o for o in outputs if o.requires_grad]
        starts = [g for g in self.grad_outputs if g is not None] or [empty_like(o) for o in wanted]
        parts: Iterator[Any] = iter(())
        if wanted:
            parts = iter(grad(wanted, [x for x in self.input_surface if x.requires_grad], starts,
                              allow_unused=self.allow_unused))
        self.grad_inputs = tuple([next(parts) if wanted and x.requires_grad else None for x in self.input_surface])

    def capture_forward(self) -> None:
        with graph(self.forward):
            self.tree = self.function(*self.args)
        self.outputs = tuple(leaves(self.tree))

    def capture_backward(self) -> None:
        self.grad_outputs = tuple([empty_like(o) if o.requires_grad else None for o in self.outputs])
        if any(g is not None for g in self.grad_outputs):
            with graph(self.backward):
                self.run_backward(self.outputs)
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
                    passes.copy_in(memory, x)
                passes.forward.replay()
                return tuple([o.detach() for o in passes.outputs])

            @staticmethod
            @once_differentiable
            def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
                for memory, g in zip(passes.grad_outputs, grads):
                    if memory is not None:
                        passes.copy_in(memory, g)
                passes.backward.replay()
                return tuple([None if g is None else g.detach() for g in passes.grad_inputs])

        def call(*args: Any) -> Any:
            outputs = Graphed.apply(*leaves(args), *passes.params)
            values = iter(outputs)
            return mapped(lambda _: next(values), passes.tree)

        return call

    @staticmethod
    def copy_in(memory: Tensor, x: Tensor) -> None:
        """Copy a tensor to its fixed memory, unless it is there."""
        if memory.data_ptr() != x.data_ptr():
            memory.detach().copy_(x.detach())
