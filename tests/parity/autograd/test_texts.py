"""What autograd says: every error and warning about flags, gradients, hooks, versions, views and nodes.

One line each, run with both libraries; the whole text must be the same. What `backward` and `grad` say of their
arguments is in test_backward.py, what a bad Function provokes in test_function_errors.py.
"""

from __future__ import annotations

import pytest

import minigrad
from tests.parity.leaves import leaf
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch
TEXTS = Programs()


def result(m, *shape):
    """Twos with a graph."""
    return leaf(m, *shape) * 2


def assigned(tensor, **values):
    """Set attributes."""
    for name, value in values.items():
        setattr(tensor, name, value)
    return tensor


def deleted(tensor, name):
    """Delete an attribute."""
    delattr(tensor, name)


def twice(m, op, again=lambda y: y.backward()):
    """Two passes through the graph of an op."""
    y = op(leaf(m, 2)).sum()
    y.backward()
    again(y)


def changed(m, op, change, *given):
    """Change something in place between the op and the pass."""
    x = leaf(m, 2)
    y = op(x, *given)
    change(y if not given else given[0])
    y.sum().backward()


def hooked(m, hook, register="register_hook", of=lambda y: y):
    """A pass through a result with a hook."""
    y = result(m, 2)
    getattr(of(y), register)(hook)
    y.sum().backward()


def node_hooked(m, hook, register="register_hook"):
    """A pass through a node with a hook."""
    hooked(m, hook, register, lambda y: y.grad_fn)


def without_grad(m, make, then):
    """What a tensor made under no_grad does outside of it."""
    y = result(m, 2, 2)
    with m.no_grad():
        view = make(y)
    return then(view, y)


def named(function, name):
    """A hook with a name of its own."""
    function.__name__ = name
    return function


TEXTS.update({
    # requires_grad
    "requires_grad of integers": lambda m: m.ones(2, dtype=m.int64, requires_grad=True),
    "requires_grad of integers, tensor": lambda m: m.tensor([1], requires_grad=True),
    "requires_grad of integers, zeros_like": lambda m: m.zeros_like(m.arange(2), requires_grad=True),
    "requires_grad of integers, arange": lambda m: m.arange(3, requires_grad=True),
    "requires_grad of bools": lambda m: m.tensor([True], requires_grad=True),
    "requires_grad_ of integers": lambda m: m.arange(3).requires_grad_(),
    "requires_grad_ of integers, off": lambda m: m.arange(3).requires_grad_(False),
    "requires_grad = of integers": lambda m: assigned(m.arange(3), requires_grad=True),
    "requires_grad = of integers, off": lambda m: assigned(m.arange(3), requires_grad=False),
    "requires_grad = 1": lambda m: assigned(m.ones(1), requires_grad=1),
    "requires_grad = None": lambda m: assigned(m.ones(1), requires_grad=None),
    "requires_grad_(1)": lambda m: m.ones(1).requires_grad_(1),
    "requires_grad_(None)": lambda m: m.ones(1).requires_grad_(None),
    "requires_grad off on a result": lambda m: assigned(result(m, 1), requires_grad=False),
    "requires_grad_ off on a result": lambda m: result(m, 1).requires_grad_(False),
    "requires_grad on on a result": lambda m: assigned(result(m, 1), requires_grad=True),
    "requires_grad off on a view of a leaf": lambda m: leaf(m, 2)[0].requires_grad_(False),
    "requires_grad off on a view without grad": lambda m: without_grad(
        m, lambda y: y[0], lambda v, y: v.requires_grad_(False)),
    "requires_grad on the class": lambda m: (m.ones(1) * 2).requires_grad,
    # .grad
    "grad of a result": lambda m: result(m, 1).grad,
    "grad of a result that retains it": lambda m: ((y := result(m, 1)), y.retain_grad(), y.grad)[2],
    "grad of a detached result": lambda m: result(m, 1).detach().grad,
    "grad of a view of a leaf": lambda m: leaf(m, 2)[0].grad,
    "grad of a result that has one": lambda m: assigned(result(m, 1), grad=m.ones(1)).grad,
    "grad of another shape": lambda m: assigned(leaf(m, 2), grad=m.ones(3)),
    "grad of more dimensions": lambda m: assigned(leaf(m, 2), grad=m.ones(1, 2)),
    "grad of another dtype": lambda m: assigned(leaf(m, 2), grad=m.ones(2, dtype=m.float64)),
    "grad of integers": lambda m: assigned(leaf(m, 2), grad=m.ones(2, dtype=m.int64)),
    "grad of half": lambda m: assigned(leaf(m, 2), grad=m.ones(2, dtype=m.float16)),
    "grad is a number": lambda m: assigned(leaf(m, 2), grad=3),
    "grad is a list": lambda m: assigned(leaf(m, 2), grad=[1.0, 1.0]),
    "grad is itself": lambda m: assigned(x := leaf(m, 2), grad=x),
    "grad is None": lambda m: assigned(leaf(m, 2), grad=None).grad,
    "grad deleted": lambda m: ((x := assigned(leaf(m, 2), grad=m.ones(2))), deleted(x, "grad"), x.grad)[2],
    "grad of data": lambda m: assigned(m.ones(2), grad=m.ones(2)).grad,
    "grad of integers that has one": lambda m: assigned(m.arange(2), grad=m.arange(2)).grad,
    # retain_grad, detach_
    "retain_grad of data": lambda m: m.ones(1).retain_grad(),
    "retain_grad of integers": lambda m: m.arange(1).retain_grad(),
    "retain_grad of a leaf": lambda m: ((x := leaf(m, 1)), x.retain_grad(), x.retains_grad)[2],
    "retain_grad under no_grad": lambda m: without_grad(m, lambda y: y * 2, lambda z, y: z.retain_grad()),
    "detach_ of a view": lambda m: result(m, 2)[0].detach_(),
    "detach_ of a view of data": lambda m: m.ones(2)[0].detach_(),
    "detach_ of parts": lambda m: result(m, 2).unbind()[0].detach_(),
    "detach_ of a leaf": lambda m: leaf(m, 1).detach_().requires_grad,
    "detached, then backward": lambda m: result(m, 1).detach_().backward(),
    # numbers
    "numpy of a leaf": lambda m: leaf(m, 2).numpy(),
    "numpy of a result": lambda m: result(m, 2).numpy(),
    "item of many": lambda m: leaf(m, 2).item(),
    "float of many": lambda m: float(leaf(m, 2)),
    "bool of many": lambda m: bool(leaf(m, 2)),
    "float of a leaf": lambda m: float(leaf(m)),
    "int of a leaf": lambda m: int(leaf(m)),
    "int of a result": lambda m: int(result(m, 1)),
    "bool of a leaf": lambda m: bool(leaf(m)),
    "tensor of a tensor": lambda m: m.tensor(m.ones(2)),
    "tensor of a leaf": lambda m: m.tensor(leaf(m, 2)).requires_grad,
    "tensor of a list of leaves": lambda m: m.tensor([leaf(m), leaf(m)]),
    # a second pass
    "twice, sqrt": lambda m: twice(m, lambda x: x.sqrt()),
    "twice, mul": lambda m: twice(m, lambda x: x * x),
    "twice, add saves nothing": lambda m: twice(m, lambda x: x + x),
    "twice, Function": lambda m: twice(m, lambda x: squares(m).apply(x)),
    "twice, by hand": lambda m: ((y := leaf(m, 2).exp()), (n := y.grad_fn), y.sum().backward(), n(m.ones(2))),
    "saved of a freed node": lambda m: ((y := leaf(m, 2).exp()), (n := y.grad_fn), y.sum().backward(), n._saved_result),
    "saved tensors of a freed Function": lambda m: (
        (y := squares(m).apply(leaf(m, 2))), (n := y.grad_fn), y.sum().backward(), n.saved_tensors),
    # versions
    "result changed, exp": lambda m: changed(m, lambda x: x.exp(), lambda y: y.add_(1)),
    "result changed, sqrt": lambda m: changed(m, lambda x: x.sqrt(), lambda y: y.zero_()),
    "result changed, sigmoid": lambda m: changed(m, lambda x: x.sigmoid(), lambda y: y.mul_(2)),
    "result changed, tanh": lambda m: changed(m, lambda x: x.tanh(), lambda y: y.fill_(1.0)),
    "result changed, relu": lambda m: changed(m, lambda x: x.relu(), lambda y: y.add_(1).mul_(2)),
    "result changed, item": lambda m: changed(m, lambda x: x.exp(), lambda y: y.__setitem__(0, 1.0)),
    "result changed, pow": lambda m: changed(m, lambda x: x ** x.detach(), lambda y: y.add_(1)),
    "result changed, mul saves none": lambda m: changed(m, lambda x: x * 2, lambda y: y.add_(1)),
    "factor changed": lambda m: changed(m, lambda x, w: x * w, lambda w: w.add_(1), m.ones(2)),
    "factor changed twice": lambda m: changed(m, lambda x, w: x * w, lambda w: w.add_(1).add_(1), m.ones(2)),
    "factor changed by a view": lambda m: changed(m, lambda x, w: x * w, lambda w: w[0].add_(1), m.ones(2)),
    "factor changed by its detached": lambda m: changed(m, lambda x, w: x * w, lambda w: w.detach().add_(1), m.ones(2)),
    "factor changed by its data": lambda m: changed(m, lambda x, w: x * w, lambda w: w.data.add_(1), m.ones(2)),
    "factor changed, a result": lambda m: changed(m, lambda x, w: x * w, lambda w: w.add_(1), result(m, 2)),
    "factor changed, exp of something": lambda m: changed(m, lambda x, w: x * w, lambda w: w.add_(1),
                                                          leaf(m, 2).exp()),
    "factor changed, a part": lambda m: changed(m, lambda x, w: x * w, lambda w: w.add_(1), result(m, 2, 2)[1]),
    "factor changed, an output": lambda m: changed(m, lambda x, w: x * w[1], lambda w: w.add_(1), leaf(m, 2, 2).exp()),
    "divisor changed": lambda m: changed(m, lambda x, w: x / w, lambda w: w.add_(1), m.ones(2)),
    "exponent changed": lambda m: changed(m, lambda x, w: x ** w, lambda w: w.add_(1), m.ones(2)),
    "matrix changed": lambda m: changed(m, lambda x, w: w @ x, lambda w: w.add_(1), m.ones(3, 2)),
    "matrix of doubles changed": lambda m: changed(m, lambda x, w: w @ x.double(), lambda w: w.add_(1),
                                                   m.ones(3, 2, dtype=m.float64)),
    "mask changed": lambda m: changed(m, lambda x, w: m.where(w, x, x), lambda w: w.fill_(True),
                                      m.tensor([True, False])),
    "index changed": lambda m: changed(m, lambda x, w: x[w], lambda w: w.add_(-1), m.tensor([1, 1])),
    "saved by a Function, changed": lambda m: changed(m, lambda x, w: squares(m).apply(w), lambda w: w.add_(1),
                                                      result(m, 2)),
    "saved, read after a change": lambda m: ((w := m.ones(2)), (y := leaf(m, 2) * w), w.add_(1),
                                             y.grad_fn._saved_other),
    # in place
    "in place, leaf": lambda m: leaf(m, 2).add_(1),
    "in place, leaf augmented": lambda m: leaf(m, 2).__imul__(2),
    "in place, leaf item": lambda m: leaf(m, 2).__setitem__(0, 1.0),
    "in place, leaf items": lambda m: leaf(m, 2).__setitem__(slice(None), 1.0),
    "in place, leaf mask": lambda m: leaf(m, 2).__setitem__(m.tensor([True, False]), 1.0),
    "in place, leaf copy_": lambda m: leaf(m, 2).copy_(m.ones(2)),
    "in place, view of a leaf": lambda m: leaf(m, 2)[0].add_(1),
    "in place, view of a view of a leaf": lambda m: leaf(m, 2, 2)[0][1].zero_(),
    "in place, transposed leaf": lambda m: leaf(m, 2, 2).t().add_(1),
    "in place, parts of a leaf": lambda m: leaf(m, 2).unbind()[0].add_(1),
    "in place, data with a leaf": lambda m: m.ones(2).add_(leaf(m, 2)).requires_grad,
    "in place, view of data with a leaf": lambda m: ((w := m.ones(2)), w[0].mul_(leaf(m)), w.requires_grad)[2],
    "in place, unbind": lambda m: result(m, 2).unbind()[0].add_(1),
    "in place, split": lambda m: result(m, 2).split(1)[1].add_(1),
    "in place, split with sizes": lambda m: result(m, 2).split([1, 1])[1].add_(1),
    "in place, chunk": lambda m: result(m, 2).chunk(2)[0].add_(1),
    "in place, view of a part": lambda m: result(m, 2, 2).unbind()[0][1].add_(1),
    "in place, parts without grad": lambda m: m.ones(2).unbind()[0].add_(1).tolist(),
    "in place, parts of data with a leaf": lambda m: m.ones(2).unbind()[0].add_(leaf(m)),
    "in place, part after the whole": lambda m: ((y := result(m, 2)), (p := y.unbind()[0]), y.add_(1), p.grad_fn),
    "in place, iterated": lambda m: [row.add_(1) for row in result(m, 2)],
    "in place, view under no_grad": lambda m: without_grad(m, lambda y: y[0], lambda v, y: v.add_(1)),
    "in place, view of a view under no_grad": lambda m: without_grad(m, lambda y: y[0], lambda v, y: v[0].add_(1)),
    "in place, part under no_grad": lambda m: without_grad(m, lambda y: y.unbind()[1], lambda v, y: v.add_(1)),
    "in place, whole after a view under no_grad": lambda m: without_grad(
        m, lambda y: y[0], lambda v, y: (y.add_(1), v.grad_fn)),
    "in place, view under no_grad, data": lambda m: m.no_grad()(lambda: m.ones(2)[0])().add_(1).tolist(),
    "in place, expanded": lambda m: m.ones(1).expand(3).add_(1),
    "in place, expanded result": lambda m: result(m, 1).expand(3).add_(1),
    "in place, would grow": lambda m: result(m, 1).add_(m.ones(3)),
    "in place, does not fit": lambda m: result(m, 2).add_(m.ones(3)),
    "in place, would promote": lambda m: m.ones(2, dtype=m.int64).mul_(1.5),
    "in place, integers with a leaf": lambda m: m.ones(2, dtype=m.int64).add_(leaf(m, 2)),
    "in place, fill_ with many": lambda m: result(m, 2).fill_(m.ones(2)),
    # hooks on tensors
    "hook on data": lambda m: m.ones(1).register_hook(print),
    "hook under no_grad": lambda m: without_grad(m, lambda y: y * 2, lambda z, y: z.register_hook(print)),
    "hook of no function": lambda m: hooked(m, 3),
    "hook gives another shape": lambda m: hooked(m, named(lambda g: g.sum(), "summing")),
    "hook gives another shape, lambda": lambda m: hooked(m, lambda g: g.sum()),
    "hook gives another dtype": lambda m: hooked(m, lambda g: g.double()),
    "hook gives a number": lambda m: hooked(m, lambda g: 3),
    "hook gives a tuple": lambda m: hooked(m, lambda g: (g,)),
    "hook gives False": lambda m: hooked(m, lambda g: False),
    "hook raises": lambda m: hooked(m, lambda g: 1 // 0),
    "hook takes none": lambda m: hooked(m, named(lambda: None, "empty")),
    "hook changes in place": lambda m: hooked(m, lambda g: g.mul_(2)),
    "hook is an object": lambda m: hooked(m, Caller()),
    "post accumulate on data": lambda m: m.ones(1).register_post_accumulate_grad_hook(print),
    "post accumulate on a result": lambda m: result(m, 1).register_post_accumulate_grad_hook(print),
    "post accumulate gives something": lambda m: ((x := leaf(m, 2)), x.register_post_accumulate_grad_hook(
        lambda p: 3), x.sum().backward(), x.grad)[3],
    "post accumulate raises": lambda m: ((x := leaf(m, 2)), x.register_post_accumulate_grad_hook(lambda p: 1 // 0),
                                         x.sum().backward()),
    # hooks on nodes
    "node hook gives a number": lambda m: node_hooked(m, lambda found, given: 3),
    "node hook gives a tensor": lambda m: node_hooked(m, lambda found, given: found[0]),
    "node hook gives too few": lambda m: node_hooked(m, lambda found, given: (found[0],)),
    "node hook gives too many": lambda m: node_hooked(m, named(lambda found, given: (*found, None), "many")),
    "node hook gives numbers": lambda m: node_hooked(m, lambda found, given: (3, None)),
    "node hook gives another shape": lambda m: node_hooked(m, lambda found, given: (found[0].sum(), None)),
    "node hook gives another dtype": lambda m: node_hooked(m, lambda found, given: (found[0].double(), None)),
    "node hook gives what was None": lambda m: node_hooked(m, lambda found, given: (found[0], m.ones(1))),
    "node hook takes one": lambda m: node_hooked(m, named(lambda found: None, "short")),
    "node prehook gives a number": lambda m: node_hooked(m, lambda given: 3, "register_prehook"),
    "node prehook gives a tensor": lambda m: node_hooked(m, lambda given: given[0], "register_prehook"),
    "node prehook gives too many": lambda m: node_hooked(m, lambda given: (*given, None), "register_prehook"),
    "node prehook gives another shape": lambda m: node_hooked(m, lambda given: (given[0].sum(),), "register_prehook"),
    # nodes
    "node called without": lambda m: result(m, 2).grad_fn(),
    "node called with two": lambda m: result(m, 2).grad_fn(m.ones(2), m.ones(2)),
    "node called with a number": lambda m: result(m, 2).grad_fn(1.0),
    "node called by name": lambda m: result(m, 2).grad_fn(grad=m.ones(2)),
    "node's edges are read only": lambda m: type(error_of(lambda: assigned(result(m, 1).grad_fn, next_functions=()))),
    "node's metadata is read only": lambda m: type(error_of(lambda: assigned(result(m, 1).grad_fn, metadata={}))),
    "node has no such name": lambda m: type(error_of(lambda: result(m, 1).grad_fn.nothing)),
    "grad_fn is read only": lambda m: type(error_of(lambda: assigned(result(m, 1), grad_fn=None))),
    "is_leaf is read only": lambda m: type(error_of(lambda: assigned(result(m, 1), is_leaf=True))),
    "_version is read only": lambda m: type(error_of(lambda: assigned(result(m, 1), _version=3))),
    "output_nr is read only": lambda m: type(error_of(lambda: assigned(result(m, 1), output_nr=3))),
    "retains_grad is read only": lambda m: type(error_of(lambda: assigned(result(m, 1), retains_grad=True))),
    # warnings
    "create_graph by backward": lambda m: result(m, 1).backward(create_graph=True),
    "create_graph by autograd.backward": lambda m: m.autograd.backward(result(m, 1), create_graph=True),
    "create_graph by grad": lambda m: m.autograd.grad((x := leaf(m, 1)) * 2, x, create_graph=True),
    "mse_loss of another size": lambda m: m.nn.functional.mse_loss(m.ones(3, 1), m.ones(3)),
    "T of a vector": lambda m: leaf(m, 2).T,
    "T of a number": lambda m: leaf(m).T,
    "mT of a number": lambda m: leaf(m).mT,
    "T of a batch": lambda m: leaf(m, 2, 2, 2).T,
    "mT of a vector": lambda m: leaf(m, 2).mT,
    "anomaly mode": lambda m: m.autograd.detect_anomaly() and None,
    "a decorated class": lambda m: m.no_grad()(type("Model", (), {})) and None,
    # copies
    "deepcopy of a result": lambda m: __import__("copy").deepcopy(result(m, 1)),
    "inference tensor saved": lambda m: leaf(m, 2) * m.inference_mode()(lambda: m.ones(2))(),
    "inference tensor in place": lambda m: m.inference_mode()(lambda: m.ones(2))().add_(1),
    "inference tensor requires_grad_": lambda m: m.inference_mode()(lambda: m.ones(2))().requires_grad_(),
    "inference tensor's version": lambda m: m.inference_mode()(lambda: m.ones(2))()._version,
})


class Caller:
    """A hook that is an object."""

    def __call__(self, grad):
        return grad.sum()


def squares(m):
    """A Function that saves its input."""
    return type("Squares", (m.autograd.Function,), {
        "forward": staticmethod(lambda ctx, x: (ctx.save_for_backward(x), x * x)[1]),
        "backward": staticmethod(lambda ctx, g: ctx.saved_tensors[0] * 2 * g)})


def error_of(call):
    """The error that a call raises."""
    with pytest.raises(Exception) as caught:
        call()
    return caught.value


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("name", TEXTS)
def test_text(torch, name):
    assert outcome(TEXTS[name], minigrad) == outcome(TEXTS[name], torch)
