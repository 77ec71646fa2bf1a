"""Nodes, edges, and the functions of `torch.autograd.graph`: each program ends alike in both libraries."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

import minigrad
from tests.parity.alike import alike
from tests.parity.leaves import counted as leaf

pytestmark = pytest.mark.torch


def double(m, x):
    """A custom Function."""

    class Double(m.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return Double.apply(x)


def node(m):
    """A node that saves two tensors."""
    return (leaf(m, 2) * leaf(m, 2)).grad_fn


def is_node(m, kind):
    """Whether a class is one of nodes."""
    return issubclass(kind, m.autograd.graph.Node)


def classes(m):
    """What is a node, and what is none."""
    y, mine = leaf(m, 2).sqrt(), double(m, leaf(m, 2))
    accumulator = y.grad_fn.next_functions[0][0]
    kinds = [type(y.grad_fn), type(accumulator), type(mine.grad_fn), type(y), int, m.autograd.Function, type(None)]
    return ([is_node(m, kind) for kind in kinds],
            [isinstance(v, m.autograd.graph.Node) for v in (y.grad_fn, accumulator, mine.grad_fn, y, None)])


def renumbered(m):
    """Of two ready nodes the one with the higher number runs first."""
    x, log = leaf(m, 2), []
    a, b = x * 2, x * 3
    a.grad_fn._set_sequence_nr(b.grad_fn._sequence_nr() + 1000)
    for name, y in (("a", a), ("b", b)):
        y.grad_fn.register_hook(lambda gi, go, name=name: log.append(name))
    (a + b).sum().backward()
    return log


def freed(m, names=("_saved_self",), keep=False):
    """Read of a node after a pass."""
    y = leaf(m, 2) ** 2
    y.sum().backward(retain_graph=keep)
    return [getattr(y.grad_fn, name) for name in names]


def by_hand(m, call, make=lambda x: x * x):
    """Call a node."""
    return call(make(leaf(m, 2)).grad_fn)


NODES = {
    "classes": classes,
    "a node is abstract": lambda m: inspect.isabstract(m.autograd.graph.Node),
    "saved self": lambda m: node(m)._saved_self,
    "equal to itself": lambda m: (n := node(m), n == n, n != n, hash(n) == hash(n), n in {n})[1:],
    "not to another": lambda m: (y := leaf(m, 2), (y * 2).grad_fn == (y * 2).grad_fn)[1],
    "order": lambda m: (n := node(m)) < n,
    "an attribute": lambda m: setattr(node(m), "mine", 1),
    "an attribute of an accumulator": lambda m: setattr(node(m).next_functions[0][0], "mine", 1),
    "an attribute of a Function": lambda m: (y := double(m, leaf(m, 2)), setattr(y.grad_fn, "mine", 1),
                                             y.grad_fn.mine)[2],
    "no such attribute": lambda m: node(m).nothing,
    "copy": lambda m: copy.copy(node(m)),
    "deepcopy": lambda m: copy.deepcopy(node(m)),
    "pickle": lambda m: pickle.dumps(node(m)),
    "metadata": lambda m: (n := node(m), n.metadata.update(a=1), n.metadata is n.metadata, str(n.metadata))[2:],
    "requires grad": lambda m: node(m).requires_grad,
    "number": lambda m: (n := node(m), n._set_sequence_nr(5), n._sequence_nr())[1:],
    "renumbered": renumbered,
    "names": lambda m: [leaf(m, 2).sqrt().grad_fn.name(), double(m, leaf(m, 2)).grad_fn.name(),
                        leaf(m, 2).sqrt().grad_fn.next_functions[0][0].name()],
    "freed": freed,
    "kept": lambda m: freed(m, keep=True),
    "a number is not freed": lambda m: freed(m, ("_saved_exponent",)),
    "a keyword": lambda m: by_hand(m, lambda n: n(grad=m.ones(2))),
    "another keyword": lambda m: by_hand(m, lambda n: n(m.ones(2), mine=1)),
    "too many": lambda m: by_hand(m, lambda n: n(m.ones(2), m.ones(2))),
    "too few": lambda m: by_hand(m, lambda n: n()),
    "a number": lambda m: by_hand(m, lambda n: n(1)),
    "None": lambda m: by_hand(m, lambda n: n(None)),
    "after the pass": lambda m: (y := leaf(m, 2) ** 2, y.sum().backward(), y.grad_fn(m.ones(2))),
    "an accumulator": lambda m: by_hand(m, lambda n: n.next_functions[0][0](m.ones(2))),
    "an accumulator, of another shape": lambda m: by_hand(m, lambda n: n.next_functions[0][0].variable),
}


def gathered(m, run, count=4, **options):
    """One hook on several tensors of a graph."""
    a, b = leaf(m, 2), leaf(m, 2)
    c = a * b
    tensors, log = (a, b, c, c ** 2, a * 2)[:count], []
    handle = m.autograd.graph.register_multi_grad_hook(tensors, log.append, **options)
    run(*tensors, handle)
    return log, type(handle).__name__


def hooked(m, tensors, *rest, **options):
    """Only register."""
    return type(m.autograd.graph.register_multi_grad_hook(tensors(m), *rest, **options)).__name__


def parts(m, use):
    """The parts of one tensor."""
    log = []
    b, c = leaf(m, 4).chunk(2)
    m.autograd.graph.register_multi_grad_hook((b, c), log.append)
    use(b, c).sum().backward()
    return log


def alone(m, hook, mode="all", twice=False):
    """One tensor, one hook."""
    a = leaf(m, 2)
    m.autograd.graph.register_multi_grad_hook((a,) * (1 + twice), hook, mode=mode)
    (a * 2).sum().backward()
    return a.grad


def after_an_error(m):
    """A pass that failed leaves nothing behind."""
    a, b, log, bad = leaf(m, 2), leaf(m, 2), [], [True]
    m.autograd.graph.register_multi_grad_hook((a, b), log.append)
    b.register_hook(lambda g: 1 // 0 if bad[0] else None)
    try:
        (a * b).sum().backward()
    except ZeroDivisionError:
        bad[0] = False
    (a * b).sum().backward()
    return log[-1]


def inner(m, mode):
    """A pass inside of a hook is another pass."""
    a, log = leaf(m, 2), []

    def hook(given):
        log.append(given)
        if len(log) == 1:
            with m.enable_grad():
                (a * 5).sum().backward()

    m.autograd.graph.register_multi_grad_hook((a,), hook, mode=mode)
    (a * 2).sum().backward()
    return log, a.grad


def modes(m):
    """Grad mode inside of the hook."""
    a, log = leaf(m, 2), []
    c = a * 1
    m.autograd.graph.register_multi_grad_hook((c,), lambda gs: log.append((gs, m.is_grad_enabled())))
    m.autograd.grad((c ** 2).sum(), a, create_graph=True)
    (c ** 2).sum().backward()
    return log


MULTI = {
    "all": lambda m: gathered(m, lambda a, b, c, d, h: d.sum().backward()),
    "one is not in the graph": lambda m: gathered(m, lambda a, b, c, d, e, h: c.sum().backward(), 5),
    "inputs": lambda m: gathered(m, lambda a, b, c, d, e, h: (d.sum().backward(inputs=[a], retain_graph=True),
                                                              d.sum().backward(inputs=[b, c])), 5),
    "grad of a leaf": lambda m: gathered(m, lambda a, b, c, d, h: m.autograd.grad(d.sum(), b)),
    "twice": lambda m: gathered(m, lambda a, b, c, d, h: (d.sum().backward(retain_graph=True), d.sum().backward())),
    "removed": lambda m: gathered(m, lambda a, b, c, d, h: (h.remove(), h.remove(), d.sum().backward())),
    "a block": lambda m: gathered(m, lambda a, b, c, d, h: (h.__enter__() is h, h.__exit__(None, None, None),
                                                            d.sum().backward())),
    "any": lambda m: gathered(m, lambda a, b, c, d, h: (d.sum().backward(retain_graph=True), d.sum().backward()),
                              mode="any"),
    "any, removed": lambda m: gathered(m, lambda a, b, c, d, h: (h.remove(), d.sum().backward()), mode="any"),
    "any, of few": lambda m: gathered(m, lambda a, b, h: (a * b).sum().backward(), 2, mode="any"),
    "another mode": lambda m: hooked(m, lambda m: (leaf(m, 2),), print, mode="some"),
    "mode by position": lambda m: hooked(m, lambda m: (leaf(m, 2),), print, "any"),
    "no grad": lambda m: hooked(m, lambda m: (leaf(m, 2), m.ones(2)), print),
    "no grad, any": lambda m: hooked(m, lambda m: (leaf(m, 2), m.ones(2)), print, mode="any"),
    "None": lambda m: hooked(m, lambda m: (leaf(m, 2), None), print),
    "None, any": lambda m: hooked(m, lambda m: (leaf(m, 2), None), print, mode="any"),
    "none": lambda m: hooked(m, lambda m: (), print),
    "a list": lambda m: hooked(m, lambda m: [leaf(m, 2)], print),
    "no function": lambda m: alone(m, 1),
    "the same twice": lambda m: (log := [], alone(m, log.append, twice=True), log),
    "one part": lambda m: parts(m, lambda b, c: b * 2),
    "both parts": lambda m: parts(m, lambda b, c: b * 2 + c),
    "what it returns": lambda m: alone(m, lambda gs: [g * 7 for g in gs]),
    "what it returns, any": lambda m: alone(m, lambda g: g * 7, "any"),
    "it raises": lambda m: alone(m, lambda gs: 1 // 0),
    "after an error": after_an_error,
    "inside of itself": lambda m: inner(m, "all"),
    "inside of itself, any": lambda m: inner(m, "any"),
    "modes": modes,
}


def edge(m, y):
    """Where the gradient of a tensor goes."""
    return m.autograd.graph.get_gradient_edge(y)


def along(m):
    """An edge in the place of a tensor, in every argument."""
    a = leaf(m, 2)
    y = a * 2
    e, z = edge(m, y), y ** 2
    found = m.autograd.grad(z.sum(), e, retain_graph=True)
    m.autograd.backward(e, m.ones(2), retain_graph=True)
    z.sum().backward(inputs=[edge(m, a)], retain_graph=True)
    return found, a.grad, m.autograd.grad(e, a, m.ones(2))


def from_edge(m, function, output_nr, grad):
    """What a pass gives that begins at an edge which nobody has asked for."""
    a = leaf(m, 2)
    made = m.autograd.graph.GradientEdge(function(a).grad_fn, output_nr)
    found = m.autograd.grad(made, a, grad, retain_graph=True)
    m.autograd.backward(made, grad)
    return found, a.grad


EDGES = {
    "of a result": lambda m: (y := leaf(m, 2) * 2, e := edge(m, y), e.node is y.grad_fn, e == edge(m, y))[1:],
    "of a leaf": lambda m: edge(m, leaf(m, 2)),
    "of a second output": lambda m: edge(m, leaf(m, 4).chunk(2)[1])[:2],
    "of a view that moved on": lambda m: (y := leaf(m, 4) * 1, v := y[:2], y.mul_(2), edge(m, v)[:2])[3],
    "of a Function": lambda m: edge(m, double(m, leaf(m, 2)))[:2],
    "fields": lambda m: (edge(m, leaf(m, 2))._fields, str(m.autograd.graph.GradientEdge._field_defaults)),
    "by hand": lambda m: m.autograd.graph.GradientEdge((leaf(m, 2) * 2).grad_fn, 0),
    "by hand, from nothing": lambda m: m.autograd.graph.GradientEdge(),
    "by hand, a root": lambda m: from_edge(m, lambda a: a * a, 0, m.tensor([1., 3.])),
    "by hand, a root of one number": lambda m: from_edge(m, lambda a: a.sum(), 0, m.tensor(2.)),
    "by hand, a second output": lambda m: from_edge(m, lambda a: (a * 2).unbind(0)[0], 1, m.tensor(3.)),
    "by hand, a second output, no gradient": lambda m: from_edge(m, lambda a: (a * 2).unbind(0)[0], 1, None),
    "by hand, the wrong shape": lambda m: from_edge(m, lambda a: (a * 2).chunk(2)[0], 1, m.ones(3)),
    "no grad": lambda m: edge(m, m.ones(2)),
    "None": lambda m: edge(m, None),
    "an edge": lambda m: edge(m, edge(m, leaf(m, 2))),
    "along": along,
    "of a leaf, alone": lambda m: (a := leaf(m, 2), y := a * 2, m.autograd.grad(y.sum(), edge(m, a)))[2],
    "of a part": lambda m: (b := leaf(m, 4).chunk(2), m.autograd.grad((b[0] * b[1]).sum(), edge(m, b[1])))[1],
}


def inferred(m):
    """A tensor of inference mode."""
    with m.inference_mode():
        return m.ones(2)


def bumped(m, given, t=None):
    """Raise the version of a tensor."""
    m.autograd.graph.increment_version(given)
    return None if t is None else t._version


BUMPS = {
    "a tensor": lambda m: (t := m.ones(2), bumped(m, t, t))[1],
    "a list": lambda m: (t := m.ones(2), bumped(m, [t, t], t))[1],
    "a generator": lambda m: (t := m.ones(2), bumped(m, (v for v in (t,)), t))[1],
    "none": lambda m: bumped(m, []),
    "a number": lambda m: bumped(m, 5),
    "numbers": lambda m: bumped(m, [5]),
    "a tensor, then a number": lambda m: bumped(m, [m.ones(2), 5]),
    "of inference mode": lambda m: bumped(m, inferred(m)),
    "of inference mode, its version": lambda m: inferred(m)._version,
    "a view": lambda m: (x := m.ones(4), v := x[:2], bumped(m, v), x._version, v._version, x.detach()._version)[3:],
    "a leaf on record": lambda m: (x := leaf(m, 2), bumped(m, x, x))[1],
}


@pytest.mark.parametrize("table, name", [(table, name) for table in ("NODES", "MULTI", "EDGES", "BUMPS")
                                         for name in globals()[table]])
def test_graph(torch, table, name):
    alike(torch, globals()[table][name])


def test_a_gradient_of_an_edge_made_by_hand_must_be_given():
    a = minigrad.ones(2, requires_grad=True)
    made = minigrad.autograd.graph.GradientEdge(a.sum().grad_fn, 0)
    with pytest.raises(RuntimeError, match="SumBackward0 does not know the shape of what it made\n\nGive a gradient"):
        minigrad.autograd.backward(made)
    assert a.grad is None


def test_node_is_abstract(torch):
    for m in (minigrad, torch):
        with pytest.raises(TypeError, match="^Can't instantiate abstract class Node with"):
            m.autograd.graph.Node()
    assert minigrad.autograd.graph.Node.__abstractmethods__ < torch.autograd.graph.Node.__abstractmethods__
