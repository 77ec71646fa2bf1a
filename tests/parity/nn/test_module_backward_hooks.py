"""Backward hooks of modules against PyTorch: the gradients that they get and may replace, and the graph they make."""

from __future__ import annotations

import collections
import warnings

import pytest

import minigrad
from tests.parity.nn.hooked import Log, everywhere, leaf, twice
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
programs = Programs()


def backward(m, forward, *args, result=None, pre=None, old=False, kwargs=None, times=1, module=None):
    """What a full backward hook, and a pre-hook if asked for, get in a pass; the gradients of the arguments."""
    log = Log()
    module = twice(m, forward=forward) if module is None else module
    kind = "backward" if old else "full_backward"
    getattr(module, f"register_{kind}_hook")(log.hook(kind, result))
    if pre is not None:
        module.register_full_backward_pre_hook(log.hook("pre", pre[0]))
    y = module(*args, **(kwargs or {}))
    graph = chain(y)
    tensors = list(y.values()) if isinstance(y, dict) else list(y) if isinstance(y, (tuple, list)) else [y]
    tensors += [each for some in tensors if isinstance(some, list) for each in some]
    for _ in range(times):
        sum(t.sum() for t in tensors if isinstance(t, m.Tensor)).backward(retain_graph=True)
    return log, graph, [a.grad for a in args if isinstance(a, m.Tensor) and a.is_leaf], [
        value.grad for value in (kwargs or {}).values()]


Pair = collections.namedtuple("Pair", "a b")


def chain(y):
    """The names of the nodes from an output on, along the first edges."""
    names, node = [], getattr(y[0] if isinstance(y, (tuple, list)) else y, "grad_fn", None)
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    return names


programs |= {
    "full": lambda m: backward(m, lambda x: x * 2, leaf(m)),
    "full, two passes": lambda m: backward(m, lambda x: x * 2, leaf(m), times=2),
    "full gives": lambda m: backward(m, lambda x: x * 2, leaf(m), result=(m.zeros(2),)),
    "full gives a list": lambda m: backward(m, lambda x: x * 2, leaf(m), result=[m.zeros(2)]),
    "full gives two": lambda m: backward(m, lambda x: x * 2, leaf(m), result=(m.zeros(2), None)),
    "full gives a tensor": lambda m: backward(m, lambda x: x * 2, leaf(m), result=m.zeros(2)),
    "full gives None in a tuple": lambda m: backward(m, lambda x: x * 2, leaf(m), result=(None,)),
    "full gives another shape": lambda m: backward(m, lambda x: x * 2, leaf(m), result=(m.zeros(3),)),
    "full of two inputs": lambda m: backward(m, lambda a, b: a * b, leaf(m), leaf(m, 3.0, 4.0)),
    "full of one that wants none": lambda m: backward(m, lambda a, b: a * b, leaf(m), m.ones(2)),
    "full of one unused": lambda m: backward(m, lambda a, b: a * 2, leaf(m), leaf(m)),
    "full of the same twice": lambda m: backward(m, lambda a, b: a * b, *[leaf(m)] * 2),
    "full of a number": lambda m: backward(m, lambda a, b: a * b, leaf(m), 3),
    "full of kwargs": lambda m: backward(m, lambda a, b: a * b, leaf(m), kwargs={"b": leaf(m)}),
    "full of kwargs alone": lambda m: backward(m, lambda b: b * 2, kwargs={"b": leaf(m)}),
    "full of nested": lambda m: backward(m, lambda a: a[0] * 2, [leaf(m)]),
    "full of integers": lambda m: backward(m, lambda a, b: a * b, leaf(m), m.tensor([1, 2])),
    "full of a result": lambda m: backward(m, lambda x: x * 2, leaf(m) * 3),
    "full of two outputs": lambda m: backward(m, lambda x: (x * 2, x * 3), leaf(m)),
    "full of outputs and numbers": lambda m: backward(m, lambda x: (x * 2, 5), leaf(m)),
    "full of an output without grad": lambda m: backward(m, lambda x: (x.detach(), x * 2), leaf(m)),
    "full of a list": lambda m: backward(m, lambda x: [x * 2], leaf(m)),
    "full of a dict": lambda m: backward(m, lambda x: {"a": x * 2}, leaf(m)),
    "full of a view": lambda m: backward(m, lambda x: x[0], leaf(m)),
    "full of the input": lambda m: backward(m, lambda x: x, leaf(m)),
    "full of no grad input": lambda m: backward(m, None, m.ones(2, 3), module=m.nn.Linear(3, 1, bias=False)),
    "full of no grad input gives": lambda m: backward(m, None, m.ones(2, 3), module=m.nn.Linear(3, 1, bias=False),
                                                      result=(m.ones(2, 3),)),
    "full of no grad input gives None": lambda m: backward(
        m, None, m.ones(2, 3), module=m.nn.Linear(3, 1, bias=False), result=(None,)),
    "full with pre": lambda m: backward(m, lambda x: x * 2, leaf(m), pre=(None,)),
    "full with pre that gives": lambda m: backward(m, lambda x: x * 2, leaf(m), pre=((m.zeros(2),),)),
    "full with pre that gives a tensor": lambda m: backward(m, lambda x: x * 2, leaf(m), pre=(m.zeros(2),)),
    "full with pre that gives two": lambda m: backward(m, lambda x: x * 2, leaf(m), pre=((m.zeros(2), None),)),
    "full with pre that gives None": lambda m: backward(m, lambda x: x * 2, leaf(m), pre=((None,),)),
    "full of a named tuple": lambda m: backward(m, lambda x: Pair(x * 2, x * 3), leaf(m)),
    "full of nothing": lambda m: backward(m, lambda: m.ones(1, requires_grad=True) * 2),
}
OLD = {
    "a leaf": lambda m: ((lambda x: x * 2), leaf(m)),
    "a result": lambda m: ((lambda x: x.exp()), leaf(m) * 2),
    "two ops": lambda m: ((lambda x: (x * 2).exp()), leaf(m)),
    "a list": lambda m: ((lambda x: [x * 2]), leaf(m)),
    "a dict": lambda m: ((lambda x: {"a": 1, "b": x * 2}), leaf(m)),
    "nested": lambda m: ((lambda x: [[x * 2], x * 3]), leaf(m)),
    "two outputs": lambda m: ((lambda x: (x * 2, x * 3)), leaf(m)),
    "an output and None": lambda m: ((lambda x: (x * 2, None)), leaf(m)),
    "outputs of one node": lambda m: ((lambda x: x.unbind(0)), leaf(m)),
    "a number": lambda m: ((lambda a, b: a * b), leaf(m), 3),
    "nothing": lambda m: ((lambda x: x), leaf(m)),
    "no grad": lambda m: ((lambda x: x * 2), leaf(m, 1.0).detach()),
    "a number given": lambda m: ((lambda x: 3), leaf(m)),
}
programs |= {f"old of {name}": lambda m, given=given: backward(m, *given(m), old=True) for name, given in OLD.items()}
programs["old gives"] = lambda m: backward(m, lambda x: x * 2, leaf(m), old=True, result=(m.zeros(2), None))


def mixed(first, second):
    """Two kinds of backward hooks on one module."""
    def program(m):
        module = twice(m)
        for kind in (first, second):
            getattr(module, f"register_{kind}_hook")(lambda *given: None)
        return module(leaf(m))
    return program


programs["old after full"] = mixed("full_backward", "backward")
programs["full after old"] = mixed("backward", "full_backward")
programs["pre after old"] = mixed("backward", "full_backward_pre")


@programs
def in_place_on_the_output(m):
    module = twice(m)
    module.register_full_backward_hook(lambda *given: None)
    return module(leaf(m)).add_(1)


@programs
def in_place_on_the_input(m):
    module = twice(m, forward=lambda x: x.add_(1))
    module.register_full_backward_hook(lambda *given: None)
    return module(leaf(m) * 1)


@programs
def in_place_after_a_pre_hook(m):
    module = m.nn.Sequential(m.nn.Linear(2, 2), m.nn.ReLU(inplace=True))
    module[0].register_full_backward_pre_hook(lambda *given: None)
    return module(m.ones(1, 2))


@programs
def second_gradients(m):
    """A pass through gradients comes to the input by another way than the output."""
    log, module, x = Log(), twice(m, forward=lambda x: x ** 3), leaf(m)
    module.register_full_backward_hook(log.hook("full"))
    y = module(x)
    g, = m.autograd.grad(y.sum(), x, create_graph=True)
    log.append("second")
    return m.autograd.grad(g.sum(), x), log


@programs
def in_no_grad(m):
    log, module = Log(), twice(m)
    module.register_full_backward_hook(log.hook("full"))
    with m.no_grad():
        y = module(leaf(m))
    return y, log


@programs
def in_a_model(m):
    """The hooks of nested modules, in their order."""
    log = []
    model = m.nn.Sequential(m.nn.Sequential(m.nn.Tanh(), m.nn.Sigmoid()), m.nn.ReLU())
    for name, module in model.named_modules():
        module.register_forward_pre_hook(lambda module, args, name=name: log.append(("pre", name)))
        module.register_forward_hook(lambda module, args, output, name=name: log.append(("forward", name)))
        module.register_full_backward_pre_hook(lambda module, grads, name=name: log.append(("backward pre", name)))
        module.register_full_backward_hook(lambda module, i, o, name=name: log.append(("backward", name, i, o)))
    model(leaf(m)).sum().backward()
    return log


@programs
def global_kinds_mixed(m):
    place = everywhere(m)
    place.register_module_full_backward_hook(lambda *given: None).remove()
    return place.register_module_backward_hook(lambda *given: None)


@programs
def hook_of_a_dead_module(m):
    """The old backward hook keeps its module weakly."""
    log, x = Log(), leaf(m)

    def made():
        module = twice(m)
        module.register_backward_hook(log.hook("old"))
        return module(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = made()
    return y.sum().backward()


@pytest.mark.parametrize("name", programs)
def test_alike(torch, every_warning, name):
    program = programs[name]
    assert outcome(program, minigrad) == outcome(program, torch)
