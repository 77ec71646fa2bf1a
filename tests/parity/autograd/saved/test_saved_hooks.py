"""Hooks on saved tensors: each program ends alike in both libraries, with the same log of what its hooks were given."""

from __future__ import annotations

import threading

import pytest

from tests.parity.alike import alike
from tests.parity.leaves import counted as leaf

pytestmark = pytest.mark.torch


class Log:
    """A pair of hooks that write down what they were given, and under which grad mode."""

    def __init__(self, m, pack=lambda t: t.detach(), unpack=lambda t: t):
        self.lines, self.m, self.pack, self.unpack = [], m, pack, unpack
        self.block = m.autograd.graph.saved_tensors_hooks(self.packing, self.unpacking)

    def packing(self, t):
        self.lines.append(("pack", t, self.m.is_grad_enabled()))
        return self.pack(t)

    def unpacking(self, kept):
        self.lines.append(("unpack", kept, self.m.is_grad_enabled()))
        return self.unpack(kept)

    def __enter__(self):
        self.block.__enter__()
        return self.lines

    def __exit__(self, *error):
        self.block.__exit__(*error)


def fail(*given):
    """A hook with an error in it."""
    raise ValueError("mine")


def nothing(x):
    """No op."""


def hooked(m, pack=lambda t: t.detach(), unpack=lambda t: t, op=lambda x: x.sqrt(), late=nothing):
    """Run an op with hooks, then backward."""
    x = leaf(m, 2)
    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = op(x)
    late(y)
    y.sum().backward()
    return x.grad, m.is_grad_enabled()


def logged(m, program, *shapes):
    """The log of a program and of a backward pass after it."""
    inputs = [leaf(m, *shape) for shape in shapes]
    with Log(m) as lines:
        y = program(m, *inputs)
    y.sum().backward()
    return lines, [x.grad for x in inputs]


def scaled(m, saved):
    """A custom Function that saves what it is told to."""

    class Scaled(m.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            y = x.sqrt()
            ctx.save_for_backward(*saved(x, y, w))
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2, sum(t.sum() for t in ctx.saved_tensors if t is not None) * g

    return Scaled.apply


def identities(m):
    """Whether the pack hook gets the tensors themselves."""
    got, x = [], leaf(m, 2)
    with m.autograd.graph.saved_tensors_hooks(lambda t: (got.append(t), t)[1], lambda t: t):
        y = x.sqrt()
        z = y * x
    return ([t is y or t is x for t in got], z.grad_fn._saved_self is y, y.grad_fn._saved_result is y,
            z.grad_fn._saved_other is x)


def nested(m):
    """Only the innermost pair counts."""
    x, outer, inner = leaf(m, 2), Log(m), Log(m)
    with outer:
        with inner:
            z = x * x
        w = x.sqrt()
    (z.sum() + w.sum()).backward()
    return outer.lines, inner.lines


def read(m):
    """`_saved_*` of nodes of all kinds, through hooks."""
    x = leaf(m, 2)
    with Log(m) as lines:
        y = x.sqrt()
        z, w, v = y * x, (x * 2).log(), y[:1]
        q = v * v.detach()
    return [y.grad_fn._saved_result, z.grad_fn._saved_self, z.grad_fn._saved_other, w.grad_fn._saved_self,
            q.grad_fn._saved_other], lines


def twice(m, inside):
    """A second derivative; the first pass inside of the block or after it."""
    x, log = leaf(m, 2), Log(m)
    with log:
        y = (x * 1).sqrt() * x
        if inside:
            (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    if not inside:
        (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    return g, m.autograd.grad(g.sum(), x)[0].dtype, [line[0] for line in log.lines]


def with_graph(m):
    """What an unpack hook returns loses its graph and gets that of the saved tensor."""
    x, w = leaf(m, 2), leaf(m, 2)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t.detach(), lambda t: t * w):
        y, z = (x * 1).sqrt(), x * 2
        q = z * z.detach()
    (g,) = m.autograd.grad((y + q).sum(), x, create_graph=True)
    return y.grad_fn._saved_result, q.grad_fn._saved_other, g, m.autograd.grad(g.sum(), [x, w], allow_unused=True)


def required_later(m, hooks):
    """A saved leaf that requires grad only later."""
    x, w = leaf(m, 2).detach(), leaf(m, 2)
    with Log(m) if hooks else m.enable_grad():
        y = w * x
    x.requires_grad_()
    return y.grad_fn._saved_other, m.autograd.grad(y.sum(), w, create_graph=True)


def leaf_again(m):
    """An unpacked leaf is a leaf, and gradients of a second pass find the first one's `.grad`."""
    x = leaf(m, 2)
    with Log(m):
        y = x ** 3
    saved = y.grad_fn._saved_self
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    g.sum().backward()
    return saved.is_leaf, saved.grad_fn, saved is x, x.grad


def changed(m, hooks):
    """A saved tensor is changed in place: with hooks nobody notices."""
    x = leaf(m, 2)
    z = x * 1
    with Log(m) if hooks else m.enable_grad():
        y = z * z
    with m.no_grad():
        z.add_(1)
    y.sum().backward()
    return x.grad


def detached(m, hooks, make=lambda x: x * 1):
    """A saved tensor is taken out of its graph."""
    x = leaf(m, 2)
    z = make(x)
    with Log(m) if hooks else m.enable_grad():
        y = z * x
    z.detach_()
    y.sum().backward()
    return x.grad


def detached_result(m):
    """A result that its own node saved is taken out of its graph."""
    x = leaf(m, 2)
    z = x.sqrt()
    node = z.grad_fn
    z.detach_()
    return node._saved_result, node(m.ones(2))


def counted(m):
    """Every pass unpacks again."""
    x, log = leaf(m, 2), Log(m)
    with log:
        y = x.sqrt()
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return len(log.lines)


def threads(m):
    """Hooks hold for their own thread."""
    with Log(m) as lines:
        thread = threading.Thread(target=lambda: leaf(m, 2).sqrt())
        thread.start()
        thread.join()
    return lines


def on_cpu(m, **options):
    """Saved tensors on the CPU, where they are."""
    x = leaf(m, 2)
    block = m.autograd.graph.save_on_cpu(**options)
    with block:
        y = x.sqrt() * x
    device, kept = y.grad_fn._raw_saved_self.data
    y.sum().backward()
    return (str(device), kept, x.grad, isinstance(block, m.autograd.graph.saved_tensors_hooks),
            block.pack_hook.__name__, block.unpack_hook.__name__)


def disabled(m, inside=nothing, message="no hooks here"):
    """Something inside of `disable_saved_tensors_hooks`."""
    with m.autograd.graph.disable_saved_tensors_hooks(message):
        return inside(m)


def enter(m):
    """Enter a block of hooks."""
    with Log(m) as lines:
        leaf(m, 2).sqrt()
    return len(lines)


def message(call, *given):
    """The error of a call, as text."""
    try:
        return call(*given)
    except RuntimeError as error:
        return str(error)


def disabled_twice(m):
    """The message is that of the innermost block, and afterwards hooks work again."""
    outer = disabled(m, lambda m: (message(disabled, m, enter, "inner"), message(enter, m)), "outer")
    return outer, enter(m)


def disabled_late(m):
    """Hooks are on already."""
    with Log(m):
        disabled(m, message="late")


def inference(m):
    """Nothing is packed where nothing is recorded."""
    with Log(m) as lines, m.no_grad():
        leaf(m, 2).sqrt()
    return lines


def inner(m):
    """The gradient of a small graph: 2."""
    with m.enable_grad():
        w = leaf(m, 1)
        return m.autograd.grad(w ** 2, w)[0]


def in_function(m):
    """When the tensors of a Function are packed: after forward, if it is recorded."""
    lines = []
    apply = scaled(m, lambda x, y, w: (lines.append("forward"), (x, x))[1])
    with m.autograd.graph.saved_tensors_hooks(lambda t: lines.append(tuple(t.shape)), lambda n: m.ones(2)):
        apply(leaf(m, 2), leaf(m, 2))
        with m.no_grad():
            apply(leaf(m, 2), leaf(m, 2))
        apply(leaf(m, 2).detach(), leaf(m, 2).detach())
    return lines


PROGRAMS = {
    # order, and what hooks get
    "two inputs": lambda m: logged(m, lambda m, x, y: x * y, (2,), (2,)),
    "input and result": lambda m: logged(m, lambda m, x: x.norm(), (4,)),
    "two inputs and result": lambda m: [s[0] for s in logged(m, lambda m, x, y: x ** y, (2,), (2,))[0]],
    "two inputs and result, shapes": lambda m: [s[1].tolist() for s in logged(
        m, lambda m, x, y: x ** (y + 1), (2,), (2,))[0]],
    "matrices": lambda m: logged(m, lambda m, x, y: x.mm(y), (1, 2), (2, 3)),
    "quotient": lambda m: logged(m, lambda m, x, y: x / (y * 2), (4,), (4,)),
    "loss": lambda m: logged(m, lambda m, x, y: m.nn.functional.mse_loss(x, y * 2), (4,), (4,)),
    "condition": lambda m: logged(m, lambda m, x, y: m.where(x > 1, x, y), (2,), (2,)),
    "indices": lambda m: logged(m, lambda m, x: x[m.tensor([1, 0])], (2,)),
    "a number is not shown": lambda m: logged(m, lambda m, x: x * 2, (2,)),
    "an unneeded input": lambda m: logged(m, lambda m, x: x * m.ones(2), (2,)),
    "a view": lambda m: logged(m, lambda m, x: (x * 1)[1:] * x[1:], (3,)),
    "several outputs": lambda m: logged(m, lambda m, x: x.chunk(2)[1].sqrt(), (4,)),
    "in place": lambda m: [  # the values: what is saved of the tensor itself is in PyTorch the result of a clone()
        (line[0], line[1].tolist()) for line in logged(m, lambda m, x: (x * 1).mul_(x), (2,))[0]],
    "in place, result": lambda m: logged(m, lambda m, x: (x * 1).sqrt_(), (2,)),
    "function: inputs": lambda m: logged(m, lambda m, x, w: scaled(m, lambda x, y, w: (x, w))(x, w * 1), (2,), (2,)),
    "function: result": lambda m: logged(m, lambda m, x, w: scaled(m, lambda x, y, w: (y,))(x, w), (2,), (2,)),
    "function: None, another": lambda m: logged(
        m, lambda m, x, w: scaled(m, lambda x, y, w: (w, None, m.ones(1), y))(x, w), (2,), (2,)),
    "function: when": in_function,
    "identities": identities,
    "nested": nested,
    "read": read,
    "twice": lambda m: twice(m, False),
    "twice, inside": lambda m: twice(m, True),
    "an unpack hook with a graph": with_graph,
    "requires grad later": lambda m: required_later(m, False),
    "requires grad later, with hooks": lambda m: required_later(m, True),
    "a leaf is a leaf": leaf_again,
    "changed in place": lambda m: changed(m, False),
    "changed in place, with hooks": lambda m: changed(m, True),
    "detached": lambda m: detached(m, False),
    "detached view of many": lambda m: detached(m, False, lambda x: x.clone()),
    "detached, with hooks": lambda m: detached(m, True),
    "detached result": detached_result,
    "retained": counted,
    "threads": threads,
    "without grad mode": inference,
    # what hooks do
    "pack None": lambda m: hooked(m, lambda t: None, lambda n: m.ones(2)),
    "pack a list": lambda m: hooked(m, lambda t: t.tolist(), lambda n: m.tensor(n) * 2),
    "pack itself": lambda m: hooked(m, lambda t: t),
    "pack raises": lambda m: hooked(m, fail),
    "unpack raises": lambda m: hooked(m, unpack=fail),
    "unpack a number": lambda m: hooked(m, unpack=lambda t: 5),
    "unpack None": lambda m: hooked(m, unpack=lambda t: None),
    "unpack a list": lambda m: hooked(m, unpack=lambda t: [t]),
    "unpack one element": lambda m: hooked(m, unpack=lambda t: m.ones(1)),
    "unpack another dtype": lambda m: hooked(m, unpack=lambda t: t.double()),
    "unpack more elements": lambda m: hooked(m, unpack=lambda t: m.ones(2, 2), op=lambda x: x.log()),
    "a pass inside of unpack": lambda m: hooked(m, unpack=lambda t: t * inner(m)),
    "ops inside of pack": lambda m: hooked(m, lambda t: t * 2, lambda t: t / 2, op=lambda x: x.sqrt() * x),
    "unpack what requires grad": lambda m: hooked(m, unpack=lambda t: t.requires_grad_()),
    "pack writes to a leaf": lambda m: hooked(m, lambda t: t.add_(1), op=lambda x: x.log()),
    "pack writes to an input": lambda m: hooked(m, lambda t: t.add_(1), op=lambda x: (x * 1).log()),
    "pack writes to a result": lambda m: hooked(m, lambda t: t.mul_(1)),
    "pack writes to a copy": lambda m: hooked(m, lambda t: t.clone().add_(1)),
    "no functions": lambda m: hooked(m, 1, 2),
    "one function": lambda m: hooked(m, lambda t: t, 2),
    "one argument": lambda m: m.autograd.graph.saved_tensors_hooks(print) and None,
    "names": lambda m: m.autograd.graph.saved_tensors_hooks(pack_hook=1, unpack_hook=2).unpack_hook,
    "no decorator": lambda m: m.autograd.graph.saved_tensors_hooks(1, 2)(enter),
    "read after the pass": lambda m: hooked(m, late=lambda y: (y.sum().backward(), y.grad_fn._saved_result)),
    "a second pass": lambda m: hooked(m, late=lambda y: y.sum().backward()),
    # other contexts
    "on the CPU": on_cpu,
    "pinned": lambda m: on_cpu(m, pin_memory=True),
    "another device": lambda m: on_cpu(m, device_type="xpu"),
    "disabled": lambda m: disabled(m, enter),
    "disabled, none used": lambda m: disabled(m, lambda m: leaf(m, 2).sqrt()),
    "disabled, on the CPU": lambda m: disabled(m, lambda m: m.autograd.graph.save_on_cpu().__enter__()),
    "disabled, mutation": lambda m: disabled(
        m, lambda m: m.autograd.graph.allow_mutation_on_saved_tensors().__enter__()),
    "disabled twice": disabled_twice,
    "disabled late": disabled_late,
    "works after that": enter,
    "disabled by a number": lambda m: disabled(m, enter, 5),
    "disabled by nothing": lambda m: m.autograd.graph.disable_saved_tensors_hooks(),
    "disabling decorator": lambda m: m.autograd.graph.disable_saved_tensors_hooks("no")(enter)(m),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_hooks(torch, name):
    alike(torch, PROGRAMS[name])
