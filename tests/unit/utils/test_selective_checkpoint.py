"""What selective checkpointing and modes do beyond PyTorch: minigrad's own ops, the recorder, threads."""

from __future__ import annotations

import functools
import gc
import threading
import weakref

import minigrad as torch
from minigrad.ops.linalg.matmul import Mm
from minigrad.ops.pointwise.mul import Mul
from minigrad.recorder import record
from minigrad.utils._python_dispatch import TorchDispatchMode
from minigrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts


class Names(TorchDispatchMode):
    """Notes the ops that it sees, those of a function only if that is `within` it."""

    def __init__(self):
        self.seen, self.on = [], True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self.on:
            self.seen.append(str(func))
        return func(*args, **(kwargs or {}))

    def within(self, function):
        def noted(*args):
            self.on = True
            try:
                return function(*args)
            finally:
                self.on = False

        self.on = False
        return noted


def both():
    x = torch.linspace(-1, 1, 9).reshape(3, 3).requires_grad_()
    return x, torch.full((3, 3), 0.5).requires_grad_()


def test_classes_are_ops():
    """A list may name minigrad's own classes; ops in place are those that they are made of."""
    assert create_selective_checkpoint_contexts([Mm])
    for chosen in ([Mul], [torch.ops.aten.mul.Tensor]):
        x, y = both()
        with Names() as outside:
            contexts = functools.partial(create_selective_checkpoint_contexts, chosen)
            z = checkpoint(outside.within(lambda x, y: x.cos().mul_(y).sin()), x, y, use_reentrant=False,
                           context_fn=contexts)
            z.sum().backward()
        assert outside.seen == [f"aten.{op}" for op in (
            "cos.default", "mul.Tensor", "sin.default", "cos.default", "sin.default")]
        plain_x, plain_y = both()
        plain_x.cos().mul(plain_y).sin().sum().backward()
        assert torch.equal(x.grad, plain_x.grad) and torch.equal(y.grad, plain_y.grad)


def test_recorder_tells_what_happens():
    """The story has the op of the first run; the second has its node again, and the holders filled."""
    x, y = both()
    contexts = functools.partial(create_selective_checkpoint_contexts, [Mm])
    with record() as trace:
        z = checkpoint(lambda x, y: x.mm(y).sin(), x, y, use_reentrant=False, context_fn=contexts)
        z.sum().backward()
    kinds = [event.get("op", event["kind"]) for event in trace.events if event["kind"] in (
        "forward", "recompute_begin", "recompute_end", "holder_filled", "early_stop")]
    assert kinds == ["mm", "sin", "sum", "recompute_begin", "holder_filled", "holder_filled", "mm", "holder_filled",
                     "early_stop", "recompute_end"]
    assert x.grad is not None


def test_what_is_kept_goes_with_the_graph():
    """Results that were kept are let go when they are given, and when the graph is dropped without a pass."""
    for use in (True, False):
        x, y = both()
        arrays = []

        def function(x, y, arrays=arrays):
            z = x.mm(y)
            arrays.append(weakref.ref(z.array))
            return z.sin()

        contexts = functools.partial(create_selective_checkpoint_contexts, [Mm])
        out = checkpoint(function, x, y, use_reentrant=False, context_fn=contexts)
        assert arrays[0]() is not None
        if use:
            out.sum().backward()
        else:
            del out
            gc.collect()
        assert arrays[0]() is None


def test_only_its_own_thread():
    """A mode of one thread sees no op of another, and the ops are as they were when the last is left."""
    before = Mul.forward.__code__
    started, done, result = threading.Event(), threading.Event(), []

    def other():
        started.wait()
        result.append((torch.ones(2) * 3).tolist())
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with Names() as names:
        assert Mul.forward.__code__ is not before
        started.set()
        done.wait()
        assert names.seen == []
    thread.join()
    assert result == [[3.0, 3.0]]
    assert Mul.forward.__code__ is before and Mul.forward.__kwdefaults__ is None
    assert not hasattr(Mul.forward, "__wrapped__")
