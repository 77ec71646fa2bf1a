"""Every op with drawn shapes: what PyTorch gives in float64. What it refuses: `test_mismatched.py`.

Values agree to 1e-12 of max(1, |reference|) (1e-9 in the lines of `LOOSE`), gradients and second gradients to 1e-8.
Inputs lie in memory as they are made, turned, with gaps, or expanded. What was tried, and the worst error, is printed
at the end of the run.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import minigrad
import minigrad.nn
from minigrad import ops
from minigrad.core.graph import Node
from minigrad.core.record import record1
from minigrad.ops.nn import dropout
from minigrad.ops.pointwise import unary
from tests.ops_page import methods_of
from tests.parity import seen
from tests.parity.compare import LAYOUTS, arrays_of, derivatives, leaves_of, numbers, outputs_of
from tests.parity.tables import all_cases, all_distinct, all_drawn, all_loose, drawn, text

pytestmark = pytest.mark.torch
DRAWN = all_drawn()
LOOSE, DISTINCT = all_loose(), all_distinct()
TIGHT, WIDE, OF_GRADIENTS = 1e-12, 1e-9, 1e-8  # of max(1, |reference|)


def results(lib, call, inputs, args, order=2):
    """The values of a line, and its gradients and their gradients (None where there is none)."""
    leaves = leaves_of(lib, inputs, arrays_of(inputs, "float64", seed=len(inputs)))
    made = outputs_of(call(lib, *leaves, *args))
    return made, *derivatives(lib, made, leaves, order)


def attempt(*call, order=2):
    """The results of a line, or its error."""
    try:
        return results(*call, order=order)
    except Exception as error:  # noqa: BLE001 (whichever it is, it is compared)
        return error


def error_of(ours, theirs):
    """How far two tensors are apart, of max(1, |theirs|); nothing counts as zeros."""
    a, b = (None if v is None else numbers(v) for v in (ours, theirs))
    if a is None or b is None:
        return max([abs(v).max(initial=0) for v in (a, b) if v is not None], default=0)
    if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
        return np.inf
    if b.dtype.kind == "b":
        return np.inf if (a != b).any() else 0
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, abs(a - b) / np.maximum(1, abs(b)))
    return np.nan_to_num(apart, nan=np.inf).max(initial=0)


def check(torch, call, inputs, args, tolerance=TIGHT):
    """The worst error of values, gradients and second gradients; None where both libraries refuse the input."""
    whole, worst = attempt(torch, call, inputs, args), None
    for order in (1, 2):  # the first gradients are computed on arrays, then on tensors
        mine = attempt(minigrad, call, inputs, args, order=order)
        reference = attempt(torch, call, inputs, args, order=order) if isinstance(whole, Exception) else whole
        if isinstance(reference, Exception):
            assert type(mine) is type(reference), f"{mine!r}, not {reference!r}"
            continue
        if isinstance(mine, Exception):
            raise mine
        worst = max(worst or 0.0, compared(mine, reference[:order + 1], inputs, tolerance))
    return worst


def compared(mine, reference, inputs, tolerance):
    """Assert that results agree; their worst error."""
    nothing, worst = (None,) * len([each for each in inputs if each.grad]), 0.0
    assert len(mine[0]) == len(reference[0])
    for order in range(max(len(mine), len(reference))):
        ours, theirs = (side[order] if order < len(side) else nothing for side in (mine, reference))
        for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            assert order != 1 or (a is None) == (b is None), f"a gradient of input {index} is missing"
            error = error_of(a, b)
            worst = max(worst, error)
            assert error <= (OF_GRADIENTS if order else tolerance), f"order {order}, number {index}: {a} is not {b}"
    return worst


# Most inputs lie as they were made.
layouts = st.lists(st.sampled_from(("plain", *LAYOUTS)), min_size=3, max_size=3)


def holds(torch, name, call, what):
    """Check a call with all that is drawn; some of it must go through."""
    through = []
    lies = {"expanded": "plain"} if name in DISTINCT else {}

    @given(what, layouts)
    def trial(each, chosen):
        inputs, args = each
        lying = [replace(spec, layout=lies.get(layout, layout)) for spec, layout in zip(inputs, cycle(chosen))]
        worst = check(torch, call, lying, args, WIDE if name in LOOSE else TIGHT)
        seen.note("Drawn shapes", name, 1, worst or 0.0)
        through.append(worst)

    trial()
    assert any(worst is not None for worst in through)


@pytest.mark.parametrize("name", DRAWN)
def test_line(torch, name):
    holds(torch, name, *DRAWN[name])


def sine(wrong):
    """A line whose op has this derivative in minigrad: sin under another name."""
    class Wrong(unary.Sin, number=None):
        __slots__ = ()
        backward = wrong

        @staticmethod
        def forward(a):
            return record1(Wrong, np.sin(a.array), a, (a,))

    return lambda m, a: Wrong.forward(a) if m is minigrad else a.sin()


PLANTED = {
    "wrong": lambda self, xp, g, a: 2 * g * xp.cos(a),
    "wrong by little": lambda self, xp, g, a: g * xp.cos(a) * (1 + 3e-8),
    "none": lambda self, xp, g, a: None,
    "wrong for one element": lambda self, xp, g, a: g * xp.cos(a) * (2 if set(a.shape) <= {1} else 1),
    "wrong in the second order": lambda self, xp, g, a: g * xp.cos(getattr(a, "detach", lambda: a)()),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_derivative_is_found(torch, name):
    with pytest.raises(AssertionError):
        holds(torch, "sin", sine(PLANTED[name]), drawn.one)


def test_the_right_derivative_passes(torch):
    holds(torch, "sin", sine(unary.Sin.backward), drawn.one)


def all_nodes(cls=Node):
    """Every class of nodes that an op of minigrad makes."""
    below = {each for sub in cls.__subclasses__() for each in (sub, *all_nodes(sub))}
    return {each for each in below if each.__module__.startswith("minigrad.ops") and each.op}


def nodes_above(tensors):
    """The classes of all nodes of the graphs above some tensors."""
    seen, queue = set(), [t.grad_fn for t in tensors if t is not None and t.grad_fn is not None]
    while queue:
        node = queue.pop()
        if node not in seen:
            seen.add(node)
            queue += [other for other, _ in node.next_functions if other is not None]
    return {type(node) for node in seen}


# Their derivative raises, as PyTorch's: test_pointwise.py, test_reduce.py, test_linalg.py, test_layers.py.
REFUSING = {"NotImplemented", "AsinhBackward1", "AcoshBackward1", "AtanhBackward1", "SpecialZetaBackward2",
            "Unique2Backward0", "UniqueDimBackward0", "UniqueConsecutiveBackward0", "CdistBackwardBackward0",
            "EmbeddingBagBackwardBackward0",             "ScaledDotProductFlashAttentionForCpuBackward0"}
# Made of float32 alone, or by a module's hook: test_rnn.py, test_utils.py.
HELD_ELSEWHERE = {"MkldnnRnnLayerBackward0", "WeightNormInterfaceBackward0"}


# Their nodes give no gradient: test_random.py.
DRAWING_MODULES = {"minigrad.ops.random"}
# They come up on a GPU alone: tests/device.
OF_DEVICES = {dropout.NativeDropout}


def nodes_of(call, what):
    """The classes of the nodes in the graphs of a line, up to its second derivative, over a few draws."""
    met = set()

    @settings(max_examples=4, phases=[Phase.generate], database=None, derandomize=True, deadline=None)
    @given(what)
    def collect(drawn):
        met.update(nodes_met(call, *drawn))

    collect()
    return met


def nodes_met(call, inputs, args=(), order=2):
    """The classes of the nodes in the graphs of one call and of its derivatives, as many as it has, but the last."""
    found = attempt(minigrad, call, inputs, args, order=order)
    if isinstance(found, Exception):
        return nodes_met(call, inputs, args, order - 1) if order else set()
    return set().union(*[nodes_above(depth) for depth in found])


def test_every_node_has_a_line():
    met = set().union(*[nodes_of(*line) for line in DRAWN.values()],
                      *[nodes_met(*case, order=3) for case in all_cases().values()])
    drawing = {each for each in all_nodes() if each.__module__ in DRAWING_MODULES}
    rest = all_nodes() - met - drawing - OF_DEVICES
    assert {each for each in rest if each.__name__ not in REFUSING | HELD_ELSEWHERE} == set()


# They give numbers, flags or tensors without a graph, or are another name of what has a line.
NO_LINE = {"all", "any", "apply_", "argwhere", "bfloat16", "bool", "byte", "char", "conj", "conj_physical", "cpu",
           "double", "float", "half", "int", "is_conj", "is_neg", "long", "map_", "nonzero", "nonzero_static",
           "resize_", "resize_as_", "resolve_conj", "resolve_neg", "set_", "short", "to"}
# They draw numbers: test_random.py. Or they refuse: test_dtypes_facts.py.
DRAWING = {"bernoulli", "bernoulli_", "cauchy_", "exponential_", "geometric_", "gumbel_softmax", "log_normal_",
           "multinomial", "normal_", "random_", "uniform_"}
REFUSED = {"cdouble", "cfloat", "chalf", "cuda"}


def test_every_op_has_a_line():
    lines = text("drawn")
    methods = {*ops.METHODS, *minigrad.nn.functional.__all__} - methods_of(
        "pointwise.compare", "factory", "tensor.storage", "tensor.resize", "tensor.properties")
    operators = {"add", "sub", "mul", "div", "pow", "neg", "abs", "relu", "sigmoid", "tanh"}
    needed = methods - NO_LINE - DRAWING - REFUSED - operators - {"multi_head_attention_forward"}  # test_attention.py
    assert {name for name in needed if not re.search(rf'\.{name}\b|"{name}"', lines)} == set()
    assert {name for name in operators if f'"{name}"' not in lines} == set()
