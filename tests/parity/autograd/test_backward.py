"""`backward` and `grad` against PyTorch: every argument, every form, every error. Both libraries run the same program
and must come to the same values, the same error or the same warnings."""

from __future__ import annotations

import collections
import math
import types

import pytest

import minigrad
from tests.parity.outcome import Programs, outcome

pytestmark = pytest.mark.torch


def leaf(m, *shape, dtype=None):
    """Ones that require grad."""
    return m.ones(shape, requires_grad=True, dtype=dtype or m.float32)


def grads(m, *args, **options):
    """`grad` of x * 2 with these further arguments."""
    x = leaf(m, 2)
    return m.autograd.grad(x * 2, x, *args, **options)


def cubed(m, *args, **options):
    """`grad` of x ** 3 with these further arguments."""
    x = leaf(m, 2)
    return m.autograd.grad(x**3, x, *args, **options)


def passed(m, *args, **options):
    """`.grad` after `backward` of x * 2 with these further arguments."""
    x = leaf(m, 2)
    m.autograd.backward(x * 2, *args, **options)
    return x.grad


def two(m, grads, roots=None):
    """`.grad` after a pass from two roots."""
    x, w = leaf(m, 2), leaf(m, 3)
    m.autograd.backward(roots(x, w) if roots else [x * 2, w * 3], grads)
    return x.grad, w.grad


def wrt(m, inputs, fn=lambda x, w: (x * w).sum(), **options):
    """`grad` of a function of two leaves with respect to what `inputs` makes of them."""
    x, w = leaf(m, 2), leaf(m, 2)
    return m.autograd.grad(fn(x, w), inputs(x, w), **options)


def into(m, inputs, **options):
    """Both `.grad`s after `backward` of x * w into what `inputs` makes of them."""
    x, w = leaf(m, 2), leaf(m, 2)
    (x * w).sum().backward(inputs=inputs(x, w), **options)
    return x.grad, w.grad


PROGRAMS = Programs({
    # the gradients to start from
    "ones by default": lambda m: passed(m, [m.ones(2)]),
    "a single tensor": lambda m: passed(m, m.ones(2) * 3),
    "a list": lambda m: passed(m, [m.ones(2) * 3]),
    "a generator": lambda m: passed(m, (g for g in [m.ones(2) * 3])),
    "a tensor stands for itself, not for its rows": lambda m: two(m, m.ones(2, 3)),
    "missing where not a scalar": lambda m: passed(m),
    "None where not a scalar": lambda m: passed(m, [None]),
    "None for a single element": lambda m: m.autograd.grad((x := leaf(m, 1, 1)) * 2, x, [None]),
    "None by itself": lambda m: m.autograd.grad((x := leaf(m, 1, 1)) * 2, x, None),
    "two, one None": lambda m: two(m, [None, m.ones(3)], lambda x, w: [x.sum(), w * 3]),
    "one too few": lambda m: two(m, [m.ones(2)]),
    "one too many": lambda m: two(m, [m.ones(2), m.ones(3), m.ones(3)]),
    "no gradients": lambda m: two(m, []),
    "too few and wrong": lambda m: two(m, [m.ones(5)]),
    "of another shape": lambda m: passed(m, m.ones(3)),
    "that could be broadcast": lambda m: passed(m, m.ones(1)),
    "that could be summed": lambda m: passed(m, m.ones(2, 2)),
    "0-d for one element": lambda m: m.autograd.grad((x := leaf(m, 1)) * 2, x, m.tensor(1.0)),
    "of a wider dtype": lambda m: passed(m, m.ones(2, dtype=m.float64)),
    "of a narrower dtype": lambda m: passed(m, m.ones(2, dtype=m.float16)),
    "of integers": lambda m: passed(m, m.tensor([1, 2])),
    "of bools": lambda m: passed(m, m.tensor([True, False])),
    "of another dtype at a leaf": lambda m: ((x := leaf(m, 2)).backward(m.tensor([1, 2])), x.grad)[1],
    "a number": lambda m: passed(m, 1.0),
    "a number in a list": lambda m: passed(m, [1.0]),
    "a string in a list": lambda m: passed(m, ["a"]),
    "a tuple in a list": lambda m: passed(m, [(m.ones(2),)]),
    "that requires grad": lambda m: grads(m, leaf(m, 2)),
    "that requires grad, recorded": lambda m: grads(m, leaf(m, 2), create_graph=True),
    "that requires grad, of another dtype, recorded": lambda m: grads(
        m, leaf(m, 2, dtype=m.float64), create_graph=True),
    "for a root without grad": lambda m: m.autograd.backward([m.ones(2)], [m.ones(2)]),
    "None for a root without grad": lambda m: m.autograd.backward([m.ones(2)], [None]),
    "one root of two without grad": lambda m: m.autograd.backward([leaf(m, 2).sum(), m.ones(2)], [None, m.ones(2)]),
    "root without grad first, then a bad one": lambda m: m.autograd.backward([m.ones(2), 3.0], [None, None]),
    # grad_variables
    "grad_variables": lambda m: passed(m, grad_variables=m.ones(2)),
    "both": lambda m: passed(m, m.ones(2), grad_variables=m.ones(2)),
    # roots
    "no roots": lambda m: m.autograd.backward([]),
    "no roots but gradients": lambda m: m.autograd.backward([], [m.ones(1)]),
    "no roots in grad": lambda m: m.autograd.grad([], [leaf(m, 1)]),
    "no roots in grad, unused": lambda m: m.autograd.grad([], [leaf(m, 1)], allow_unused=True),
    "a number as root": lambda m: m.autograd.backward([3.0]),
    "a number, not in a list": lambda m: m.autograd.backward(3.0),
    "a string": lambda m: m.autograd.backward("ab"),
    "None as root": lambda m: m.autograd.backward([None]),
    "None, not in a list": lambda m: m.autograd.backward(None),
    "a generator of roots": lambda m: two(m, None, lambda x, w: (t.sum() for t in (x, w))),
    "a dict of roots": lambda m: two(m, None, lambda x, w: {"a": x.sum()}),
    "one root twice": lambda m: m.autograd.grad([(y := (x := leaf(m, 2)) * 2), y], x, [m.ones(2), m.ones(2) * 3]),
    "a leaf as root, twice": lambda m: (m.autograd.backward([(x := leaf(m)), x]), x.grad)[1],
    "leaf roots and one above": lambda m: ((x := leaf(m)), m.autograd.backward([x * 3, x]), x.grad)[2],
    "an integer root": lambda m: m.autograd.backward(m.ones(1, dtype=m.int64)),
    "a root that was detached": lambda m: m.autograd.backward((leaf(m, 1) * 2).detach()),
    # inputs
    "inputs: a tensor": lambda m: into(m, lambda x, w: x),
    "inputs: a list": lambda m: into(m, lambda x, w: [x]),
    "inputs: a tuple": lambda m: into(m, lambda x, w: (x, w)),
    "inputs: a generator": lambda m: into(m, lambda x, w: (t for t in (w,))),
    "inputs: a dict": lambda m: into(m, lambda x, w: {"w": w}),
    "inputs: another mapping": lambda m: into(m, lambda x, w: types.MappingProxyType({"w": w})),
    "inputs: an OrderedDict": lambda m: into(m, lambda x, w: collections.OrderedDict(w=w)),
    "inputs: an empty dict": lambda m: into(m, lambda x, w: {}),
    "inputs: empty": lambda m: into(m, lambda x, w: []),
    "inputs: twice the same": lambda m: into(m, lambda x, w: [x, x]),
    "inputs: a number": lambda m: into(m, lambda x, w: 3),
    "inputs: a number in a list": lambda m: into(m, lambda x, w: [3]),
    "inputs: None in a list": lambda m: into(m, lambda x, w: [None]),
    "inputs: a string": lambda m: into(m, lambda x, w: "ab"),
    "inputs: without grad": lambda m: into(m, lambda x, w: [m.ones(1)]),
    "inputs: a leaf in no graph": lambda m: into(m, lambda x, w: [leaf(m, 2)]),
    "inputs: one in no graph, one in it": lambda m: into(m, lambda x, w: [leaf(m, 2), x]),
    "inputs: an inner tensor in no way used": lambda m: into(m, lambda x, w: [x * 2]),
    "inputs: an edge": lambda m: into(m, lambda x, w: m.autograd.graph.get_gradient_edge(x)),
    "inputs: edges": lambda m: into(m, lambda x, w: [m.autograd.graph.get_gradient_edge(w)]),
    # grad: inputs
    "grad: a tensor": lambda m: wrt(m, lambda x, w: x),
    "grad: a list": lambda m: wrt(m, lambda x, w: [x, w]),
    "grad: a generator": lambda m: wrt(m, lambda x, w: (t for t in (x, w))),
    "grad: a dict": lambda m: wrt(m, lambda x, w: {"a": x, "b": w}),
    "grad: another mapping": lambda m: wrt(m, lambda x, w: types.MappingProxyType({"w": w})),
    "grad: empty": lambda m: wrt(m, lambda x, w: []),
    "grad: an empty dict": lambda m: wrt(m, lambda x, w: {}),
    "grad: twice the same": lambda m: wrt(m, lambda x, w: [x, x]),
    "grad: a number": lambda m: wrt(m, lambda x, w: [3]),
    "grad: None": lambda m: wrt(m, lambda x, w: None),
    "grad: None in a list": lambda m: wrt(m, lambda x, w: [x, None]),
    "grad: without grad": lambda m: wrt(m, lambda x, w: m.ones(1)),
    "grad: without grad, unused allowed": lambda m: wrt(m, lambda x, w: m.ones(1), allow_unused=True),
    "grad: unused": lambda m: wrt(m, lambda x, w: [x, leaf(m, 2)]),
    "grad: unused, allowed": lambda m: wrt(m, lambda x, w: [x, leaf(m, 2)], allow_unused=True),
    "grad: unused, materialized": lambda m: wrt(m, lambda x, w: [x, leaf(m, 3)], materialize_grads=True),
    "grad: unused, materialized, recorded": lambda m: wrt(m, lambda x, w: [x, leaf(m, 3)], materialize_grads=True,
                                                          create_graph=True),
    "grad: unused in a dict, materialized": lambda m: wrt(m, lambda x, w: {"a": leaf(m, 3)}, materialize_grads=True),
    "grad: unused edge, materialized": lambda m: wrt(
        m, lambda x, w: [x, m.autograd.graph.get_gradient_edge(leaf(m, 3))], materialize_grads=True),
    "grad: unused edge": lambda m: wrt(m, lambda x, w: [x, m.autograd.graph.get_gradient_edge(leaf(m, 3))]),
    "grad: materialized, allow_unused True": lambda m: wrt(m, lambda x, w: leaf(m, 3), materialize_grads=True,
                                                           allow_unused=True),
    "grad: materialized, allow_unused False": lambda m: wrt(m, lambda x, w: leaf(m, 3), materialize_grads=True,
                                                            allow_unused=False),
    "grad: used with no gradient": lambda m: wrt(m, lambda x, w: [x, w], lambda x, w: x.sum()),
    "grad: only_inputs=False": lambda m: wrt(m, lambda x, w: x, only_inputs=False),
    "grad: the root itself": lambda m: wrt(m, lambda x, w: [x], lambda x, w: x.sum()),
    "grad: a root is an input": lambda m: m.autograd.grad((y := leaf(m) * 2), y),
    "grad: a leaf root is an input": lambda m: m.autograd.grad((x := leaf(m)), x),
    "grad: an edge": lambda m: wrt(m, lambda x, w: m.autograd.graph.get_gradient_edge(x)),
    "grad: an edge in a list": lambda m: wrt(m, lambda x, w: [w, m.autograd.graph.get_gradient_edge(x)]),
    "grad: no such edge": lambda m: m.autograd.graph.get_gradient_edge(m.ones(1)),
    # roots that are edges
    "edge: of a scalar": lambda m: edge(m, lambda x: (x * 2).sum()),
    "edge: of one element": lambda m: edge(m, lambda x: (x * 2).sum().reshape(1, 1)),
    "edge: not a scalar": lambda m: edge(m, lambda x: x * 2),
    "edge: with a gradient": lambda m: edge(m, lambda x: x * 2, m.ones(2) * 3),
    "edge: with a gradient of another shape": lambda m: edge(m, lambda x: x * 2, m.ones(3)),
    "edge: with a gradient of another dtype": lambda m: edge(m, lambda x: x * 2, m.ones(2, dtype=m.float64)),
    "edge: of a leaf": lambda m: edge(m, lambda x: x, m.ones(2) * 3),
    "edge: of a leaf, not a scalar": lambda m: edge(m, lambda x: x),
    "edge: of a leaf, of another shape": lambda m: edge(m, lambda x: x, m.ones(3)),
    "edge: second output": lambda m: edge(m, lambda x: x.unbind()[1]),
    "edge: batched": lambda m: m.autograd.grad(
        m.autograd.graph.get_gradient_edge((x := leaf(m, 2)) * 2), x, m.ones(3, 4), is_grads_batched=True),
    # flags
    "retain_graph: a word": lambda m: passed(m, m.ones(2), retain_graph="a"),
    "retain_graph: a number": lambda m: passed(m, m.ones(2), retain_graph=3),
    "create_graph: None": lambda m: passed(m, m.ones(2), create_graph=None),
    "create_graph: a number": lambda m: grads(m, m.ones(2), create_graph=0),
    # leaves that are no longer what they were
    "a leaf that no longer requires grad": lambda m: ((x := leaf(m, 2)), (y := x * 2), x.requires_grad_(False),
                                                      y.sum().backward(), x.grad)[-1],
    "a leaf that has become a result": lambda m: ((x := leaf(m, 2)), (y := x * 2), x.requires_grad_(False),
                                                  x.mul_(leaf(m, 2)), y.sum().backward()),
    "a leaf whose grad shares memory with itself": lambda m: (
        (x := leaf(m, 2)), setattr(x, "grad", m.ones(1).expand(2)), x.sum().backward()),
    # outputs of one node
    "two outputs": lambda m: m.autograd.grad(
        (p := (x := leaf(m, 4)).chunk(2))[0].sum() + p[1].sum() * 2, [*p, x, p[0]]),
    "one of two outputs": lambda m: m.autograd.grad((p := leaf(m, 4).chunk(2))[0].sum(), [*p], allow_unused=True),
    "into an output that is not used": lambda m: (
        (p := (x := leaf(m, 4)).chunk(2)), p[0].sum().backward(inputs=[p[1]]), x.grad, p[1].grad)[2:],
    # a formula that cannot be evaluated, and that nobody needs: PyTorch computes the gradients that are wanted alone
    "into a result, recorded, whose formula fails": lambda m: (
        (x := leaf(m, 2)), (y := (x * 1) ** (x > 0)), y.sum().backward(inputs=[y], create_graph=True), y.grad)[-1],
    "into a result that has no derivative": lambda m: ((y := leaf(m, 2) // 2), y.sum().backward(inputs=[y])),
    "into a result in place that has none": lambda m: (
        (y := (leaf(m, 2) * 1).asinh_()), y.sum().backward(inputs=[y]), y.grad)[-1],
    "into a result that a later pass freed": lambda m: (
        (x := leaf(m, 2)), (y := x.exp()), y.sum().backward(), y.sum().backward(inputs=[y])),
    "nodes of one sequence number": lambda m: (
        (x := leaf(m, 2)), (a := x * 2), (b := x * 3), a.grad_fn._set_sequence_nr(7), b.grad_fn._set_sequence_nr(7),
        (a + b).sum().backward(), x.grad)[-1],
    "infinite gradients of a product that is 0": lambda m: (
        (x := m.zeros(3, requires_grad=True)), x.cumprod(0).sqrt().sum().backward(), x.grad)[-1],
    "max of what was written to": lambda m: (
        (x := m.ones(3, requires_grad=True)), (y := x.max()), x.data.mul_(2), y.backward(), x.grad)[-1],
    "infinite gradients of powers of 0": lambda m: [
        ((x := m.zeros(9, requires_grad=True)), (y := m.full((9,), float(n), requires_grad=True)),
         (x ** y).backward(m.full((9,), g)), (0.0 ** y).backward(m.full((9,), g)), x.grad.nan_to_num(7),
         y.grad.nan_to_num(7))[-2:]
        for n in (0, 1, 2) for g in (math.nan, math.inf)],
    "infinite gradients of equal rows": lambda m: (
        (x := m.ones(1, 3, requires_grad=True)), m.cdist(x, x).sqrt().sum().backward(), x.grad)[-1],
    "nan for a product of several zeros": lambda m: (
        (x := m.zeros(3, requires_grad=True)), (x.prod() * math.nan).backward(), x.grad)[-1],
    # modes
    "without grad mode": lambda m: without(m.no_grad(), m),
    "in inference mode": lambda m: without(m.inference_mode(), m),
    # is_grads_batched
    "batched": lambda m: grads(m, m.ones(3, 2), is_grads_batched=True),
    "batched, of one": lambda m: grads(m, m.ones(1, 2), is_grads_batched=True),
    "batched, of none": lambda m: grads(m, m.ones(0, 2), is_grads_batched=True),
    "batched, not": lambda m: grads(m, m.ones(2), is_grads_batched=True),
    "batched, of another shape": lambda m: grads(m, m.ones(3, 3), is_grads_batched=True),
    "batched, of another dtype": lambda m: grads(m, m.ones(3, 2, dtype=m.float64), is_grads_batched=True),
    "batched, a number": lambda m: grads(m, [1.0], is_grads_batched=True),
    "batched, missing": lambda m: grads(m, is_grads_batched=True),
    "batched, missing of a scalar": lambda m: wrt(m, lambda x, w: x, is_grads_batched=True),
    "batched, two sizes": lambda m: m.autograd.grad(
        [(x := leaf(m, 2)) * 2, x * 3], x, [m.ones(3, 2), m.ones(4, 2)], is_grads_batched=True),
    "batched, two roots": lambda m: m.autograd.grad(
        [(x := leaf(m, 2)) * 2, x * 3], x, [m.ones(3, 2), m.ones(3, 2) * 2], is_grads_batched=True),
    "batched, two roots, one scalar": lambda m: m.autograd.grad(
        [(x := leaf(m, 2)) * 2, x.sum()], x, [m.ones(3, 2), m.ones(3)], is_grads_batched=True),
    "batched, two roots, one None": lambda m: m.autograd.grad(
        [(x := leaf(m, 2)) * 2, x.sum()], x, [m.ones(3, 2), None], is_grads_batched=True),
    "batched, unused": lambda m: m.autograd.grad((x := leaf(m, 2)) * 2, [x, leaf(m, 2)], m.ones(3, 2),
                                                 is_grads_batched=True),
    "batched, unused allowed": lambda m: m.autograd.grad((x := leaf(m, 2)) * 2, [x, leaf(m, 2)], m.ones(3, 2),
                                                         is_grads_batched=True, allow_unused=True),
    "batched, materialized": lambda m: m.autograd.grad((x := leaf(m, 2)) * 2, [x, leaf(m, 2)], m.ones(3, 2),
                                                       is_grads_batched=True, materialize_grads=True),
    "batched, recorded": lambda m: [(g.tolist(), g.requires_grad) for g in cubed(
        m, m.ones(3, 2), is_grads_batched=True, create_graph=True)],
    "batched, None for a root without grad": lambda m: m.autograd.grad(
        [(x := leaf(m, 2)) * 2, m.ones(1)], x, [m.ones(3, 2), None], is_grads_batched=True),
    "batched, a root without grad": lambda m: m.autograd.grad(
        [(x := leaf(m, 2)) * 2, m.ones(1)], x, [m.ones(3, 2), m.ones(3, 1)], is_grads_batched=True),
    "batched, input without grad": lambda m: m.autograd.grad(leaf(m, 2) * 2, m.ones(1), m.ones(3, 2),
                                                             is_grads_batched=True),
    "batched, a dict": lambda m: m.autograd.grad((x := leaf(m, 2)) ** 3, {"x": x}, m.ones(3, 2), is_grads_batched=True),
})


def without(mode, m):
    """`.grad` after a pass that starts in another mode."""
    x = leaf(m, 2)
    y = x * 2
    with mode:
        y.backward(m.ones(2))
        x.backward(m.ones(2))
    return x.grad


def edge(m, fn, *gradient):
    """`.grad` after a pass from the edge of a function of a leaf."""
    x = leaf(m, 2)
    m.autograd.backward(m.autograd.graph.get_gradient_edge(fn(x)), *gradient)
    return x.grad


@pytest.mark.parametrize("name", PROGRAMS)
def test_same(torch, name):
    assert outcome(PROGRAMS[name], minigrad) == outcome(PROGRAMS[name], torch)


def test_nodes_that_only_raise_run_first(torch):
    """They have the highest sequence number, as leaves do: nothing is added to a leaf before their error."""
    for m in (torch, minigrad):
        x, seen = m.ones(2, requires_grad=True), []
        underived, product = m.floor_divide(x, x), x * 2
        product.register_hook(seen.append)
        with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
            (underived.double().sum() + product.double().sum()).backward()
        assert (underived.grad_fn._sequence_nr(), seen, x.grad) == (2**64 - 1, [], None)
