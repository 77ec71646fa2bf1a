"""What is freed at once when a graph is dropped, and what waits for the garbage collector: as in PyTorch.

Each program hangs a token somewhere in a graph (in a node's metadata, in a hook) and forgets the graph. Without the
collector the token must be gone, or, where there is a cycle, still be there: in both libraries.
"""

from __future__ import annotations

import gc
import warnings
import weakref

import pytest

import minigrad

pytestmark = pytest.mark.usefixtures("no_gc")


class Token:
    """Something that can be watched."""


def leaf(m):
    """A leaf that requires grad."""
    return m.ones(4, requires_grad=True)


def mark(y, token):
    """Hang the token on the node of a tensor, and give the tensor."""
    y.grad_fn.metadata["token"] = token
    return y


def root(m, save):
    """A custom Function that saves what it is told to."""

    class Root(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.sqrt()
            ctx.save_for_backward(*save(x, y))
            return y

        @staticmethod
        def backward(ctx, g):
            return g / (2 * ctx.saved_tensors[0])

    return Root.apply


def function(m, token, save):
    """A graph with a Function in it, and a pass."""
    y = mark(root(m, save)(leaf(m)), token)
    (y * 2).sum().backward()


def attribute(m, token):
    """A result of a Function as an attribute of its ctx: the cycle that save_for_backward avoids."""

    class Root(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = y = x.sqrt()
            ctx.token = token
            return y

        @staticmethod
        def backward(ctx, g):
            return g / (2 * ctx.y)

    Root.apply(leaf(m))


def by_block(m, token, pack):
    """Saved-tensor hooks."""
    with m.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = mark(leaf(m).sqrt(), token)
        z = mark((y * y), token)
    z.sum().backward(retain_graph=True)


def by_handle(m, token, pack=lambda t: t):
    """A hook on one saved value."""
    y = mark(leaf(m).sqrt(), token)
    y.grad_fn._raw_saved_result.register_hooks(pack, lambda t: t)
    y.sum().backward(retain_graph=True)


def handle_kept(m, token):
    """A handle that is asked for, and the tensors that it gives."""
    y = mark(leaf(m).sqrt(), token)
    handle = y.grad_fn._raw_saved_result
    return handle.data is y, y.grad_fn._saved_result is y


def second(m, token):
    """A second derivative, both graphs marked."""
    x = leaf(m)
    y = mark(x ** 3, token)
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    mark(g, token)
    m.autograd.grad(g.sum(), x)


def recorded_backward(m, token):
    """`backward(create_graph=True)`: the leaf holds its `.grad`, whose graph holds the leaf."""
    x = leaf(m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (x ** 3).sum().backward(create_graph=True)
    mark(x.grad, token)
    return x


def hooks(m, token):
    """All kinds of hooks, and a pass."""
    x = leaf(m)
    y = x * 2
    y.register_hook(lambda g, t=token: None)
    y.grad_fn.register_hook(lambda gi, go, t=token: None)
    y.grad_fn.register_prehook(lambda go, t=token: None)
    x.register_hook(lambda g, t=token: None)
    x.register_post_accumulate_grad_hook(lambda p, t=token: None)
    y.retain_grad()
    m.autograd.graph.register_multi_grad_hook((x, y), lambda g, t=token: None, mode="any")
    y.sum().backward()


def multi(m, token):
    """A hook on several tensors, which holds their nodes."""
    x = leaf(m)
    y = mark(x * 2, token)
    m.autograd.graph.register_multi_grad_hook((x, y), lambda gs: None)
    y.sum().backward()


def multi_failed(m, token):
    """A pass that fails between the first and the last call of a hook on several tensors."""
    x, y = leaf(m), leaf(m)
    m.autograd.graph.register_multi_grad_hook((x, y), lambda gs, t=token: None)
    y.register_hook(lambda g: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        mark(x * y, token).sum().backward()


def in_place(m, token):
    """In-place ops on a tensor, on a view and on a base."""
    y = leaf(m) * 1
    view = y[:2]
    mark(y.add_(2), token)
    mark(view.mul_(2), token)
    mark(y.mul_(y.detach().clone()), token)
    mark(view, token)
    (y.sum() + view.sum()).backward()


def many(m, token):
    """A node with several outputs, some of them dropped."""
    a, _, c = mark(leaf(m) * 1, token).split([1, 2, 1])
    mark(a, token)
    (a * c).sum().backward(retain_graph=True)


def mutated(m, token):
    """What `allow_mutation_on_saved_tensors` kept."""
    with m.autograd.graph.allow_mutation_on_saved_tensors():
        y = mark(leaf(m) * 1, token)
        z = mark(y ** 2, token)
        y.add_(1)
        z.sum().backward()


def edges(m, token):
    """An edge, used and dropped."""
    y = mark(leaf(m) * 2, token)
    edge = m.autograd.graph.get_gradient_edge(y)
    del y
    m.autograd.backward(edge, m.ones(4))


def of_itself(m, token):
    """A hook that holds the tensor that it hangs on."""
    y = mark(leaf(m) * 2, token)
    y.register_hook(lambda g: y.detach())


def in_metadata(m, token):
    """A node's metadata that hold a tensor of the node."""
    y = mark(leaf(m) * 2, token)
    y.grad_fn.metadata["itself"] = y


FREED = {
    "a result": lambda m, t: mark(leaf(m).sqrt(), t),
    "a chain": lambda m, t: mark(mark(leaf(m).sqrt(), t).exp() * 2, t).sum().backward(),
    "a pass that keeps": lambda m, t: mark(leaf(m).sqrt(), t).sum().backward(retain_graph=True),
    "a Function saves its input": lambda m, t: function(m, t, lambda x, y: (x,)),
    "a Function saves its result": lambda m, t: function(m, t, lambda x, y: (y, y)),
    "a Function saves another": lambda m, t: function(m, t, lambda x, y: (m.ones(4),)),
    "hooks by block": lambda m, t: by_block(m, t, lambda v: v.detach()),
    "hooks by handle": by_handle,
    "a handle": handle_kept,
    "second derivative": second,
    "hooks": hooks,
    "in place": in_place,
    "several outputs": many,
    "an edge": edges,
    "on the CPU": lambda m, t: by_saving(m, t),
}

CYCLES = {
    "a recorded backward": recorded_backward,
    "an attribute of ctx": attribute,
    "a pack hook that gives the result": lambda m, t: by_block(m, t, lambda v: v),
    "a hook that holds its tensor": of_itself,
    "metadata that hold the tensor": in_metadata,
    "a hook on several tensors": multi,
    "a hook on several tensors, failed": multi_failed,
}


def by_saving(m, token):
    """Saved on the CPU, which holds inputs as they are."""
    with m.autograd.graph.save_on_cpu(pin_memory=True):
        mark(leaf(m).sqrt(), token).sum().backward()


def gone(program, m):
    """Whether nothing holds the token after a program."""
    token = Token()
    watch = weakref.ref(token)
    program(m, token)
    del token
    return watch() is None


@pytest.mark.parametrize("name", FREED)
def test_freed_at_once(m, name):
    assert gone(FREED[name], m)


def test_mutation_keeps_nothing():
    assert gone(mutated, minigrad)  # PyTorch's does


@pytest.mark.parametrize("name", CYCLES)
def test_held_by_a_cycle(m, name):
    assert not gone(CYCLES[name], m)


@pytest.mark.parametrize("name", CYCLES)
def test_the_collector_finds_our_cycles(name):
    token = Token()
    watch = weakref.ref(token)
    CYCLES[name](minigrad, token)
    del token
    gc.collect()
    assert watch() is None
