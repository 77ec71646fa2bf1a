"""A function whose result keeps its graph: its backward pass is traced too, and becomes a program of its own.

As in PyTorch's AOTAutograd both passes are traced as one list of statements, the joint graph. After the passes it is
divided: the forward program gives the results and what is saved for backward, the backward program the gradients of the
inputs. To the caller both are one node, `CompiledFunctionBackward`. What forward writes for the caller and for backward
is new memory at each call, so that several calls may wait for their backward passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from minigrad.autograd.function import Function
from minigrad.backends.random import DEFAULT
from minigrad.compiler.program import Memory, Program, View
from minigrad.compiler.tracer import GraphBreak, Trace, Traced
from minigrad.compiler.tracing import random_state_kept
from minigrad.core import LOCAL, Tensor, edge_target, engine
from minigrad.core.tensor import materialized, plain

__all__ = ["Backward", "CompiledFunction", "backward_of", "partitioned"]


class Backward(NamedTuple):
    """A traced backward pass: the tensors that get gradients by number, the views of the gradients that it starts from,
    and of those that it computes."""

    inputs: tuple[int, ...]
    tangents: tuple[View, ...]
    grads: tuple[View, ...]


def backward_of(outputs: Sequence[Tensor], tensors: Sequence[Tensor], trace: Trace) -> Backward | None:
    """Trace the backward pass of results that keep their graph, up to the tensors from outside; None if it breaks."""
    if any(s.kind == "draw" and s.args[0] is not DEFAULT for s in trace.statements):
        trace.stop("numbers are drawn from a generator of its own, and the result keeps its graph")
    if trace.broken is not None:
        return None
    numbers = {(edge_target(t), t._output_nr): i for i, t in enumerate(tensors) if edge_target(t) is not None}
    inputs = [tensors[i] for i in numbers.values()]
    tangents = [Traced(array, Memory(array, "input", f"grad_output{k}" if len(outputs) > 1 else "grad_output"))
                for k, array in enumerate([np.ones(t.array.shape, t.array.dtype) for t in outputs])]
    trace.boundary = len(trace.statements)
    try:
        with random_state_kept(trace), cut_off(inputs):
            found = engine.execute(outputs, [plain(t) for t in tangents], True, False, inputs, False)
    except GraphBreak:
        raise
    except Exception as error:  # noqa: BLE001 (whatever it is, eager calls do not run backward here)
        trace.stop(f"its backward pass cannot be traced: {error}")
        return None
    reached = [(i, grad.array) for i, grad in zip(numbers.values(), found, strict=True) if grad is not None]
    if not reached:
        trace.stop("no gradient of a result that requires grad reaches an input")
        return None
    grads = [  # each in memory of its own, row by row; passes leave out what is no more than a copy
        (array if isinstance(array, Traced) else trace.outside(np.asarray(array))).copy() for _, array in reached]
    return Backward(tuple([i for i, _ in reached]), tuple([t.view_of() for t in tangents]),
                    tuple([g.view_of() for g in grads]))


@contextmanager
def cut_off(inputs: Sequence[Tensor]) -> Iterator[None]:
    """A block in which backward passes end at these tensors, and call none of their hooks: they are the caller's."""
    nodes = list({t.grad_fn: None for t in inputs if t.grad_fn is not None})
    extras = [each._extras for each in (*nodes, *[t for t in inputs if t.grad_fn is None]) if each._extras is not None]
    edges, hooks = [node.next for node in nodes], [each.hooks for each in extras]
    try:
        for node in nodes:
            node.next = ()
        for each in extras:
            each.hooks = None
        yield
    finally:
        for node, edge in zip(nodes, edges, strict=True):
            node.next = edge
        for each, hook in zip(extras, hooks, strict=True):
            each.hooks = hook


def partitioned(program: Program, count: int) -> tuple[Program, Program]:
    """Divide a joint graph, whose first `count` kept views are results: what backward reads of what forward has written
    is kept too."""
    forward = [s for s in program.statements if not program.backward(s)]
    backward = [s for s in program.statements if program.backward(s)]
    results, grads = program.kept[:count], program.kept[count:]
    written = {v.memory for s in forward for v in s.outs if v.memory.kind == "temporary"}
    saved = {v.memory: v for s in backward for v in s.reads() if v.memory in written}
    return Program(tuple(forward), (*results, *saved.values())), Program(tuple(backward), grads)


class CompiledFunction(Function):
    """The node of a compiled call: its backward runs the backward program."""

    @staticmethod
    def forward(ctx: Any, variant: Any, results: Sequence[Tensor], saved: Sequence[Tensor], scalars: Sequence[Any],
                *inputs: Tensor) -> tuple[Tensor, ...]:
        """Save what the backward program reads."""
        ctx.variant, ctx.program, ctx.scalars = variant, variant.functions[1], scalars
        ctx.states = dict(variant.trace.states)
        ctx.save_for_backward(*saved)
        ctx.mark_non_differentiable(*[t for k, t in enumerate(results) if k not in variant.live])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        """Run the backward program."""
        variant, saved = ctx.variant, ctx.saved_tensors
        outs = variant.new_grads()
        with variant.lock:  # one program at a time may use the memory of temporaries
            variant.trace.states.update(ctx.states)
            ctx.program(*[materialized(saved[k]) for k in variant.passed],
                        *[np.asarray(grads[k].array, order="C") for k in variant.live], *outs, *ctx.scalars)
        found = tuple([plain(array) for array in outs])
        if LOCAL.grad_enabled:  # the pass is recorded: what is there to say of it comes when somebody differentiates it
            inputs = [edge if isinstance(edge, Tensor) else edge.result(array, output_nr)
                      for edge, output_nr, array in zip(ctx.next, ctx.output_nrs(), outs, strict=True)]
            found = CompiledFunctionBackward.apply(found, *inputs)
        return None, None, None, None, *found


class CompiledFunctionBackward(Function):
    """What the gradients come from in a recorded pass: it has no derivative."""

    @staticmethod
    def forward(ctx: Any, found: tuple[Tensor, ...], *inputs: Tensor) -> tuple[Tensor, ...]:
        """The gradients that were computed."""
        return found

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> None:
        """Raises PyTorch's error."""
        raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")
