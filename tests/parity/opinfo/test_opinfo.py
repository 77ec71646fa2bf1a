"""PyTorch's own samples of its ops: every op of its table that minigrad has agrees, and what is left out is listed."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.groups import has_torch, require

require("torch", has_torch(), "PyTorch 2.13 is not installed")

import torch

import minigrad
from minigrad.core.record import record1
from minigrad.ops.pointwise import unary
from tests.parity import seen
from tests.parity.opinfo import run
from tests.parity.opinfo.samples import OPS, Leaf, Sample, built, function_of, sample_of, samples
from tests.parity.opinfo.skips import ONCE, REASONS, SAMPLES, SKIPS

pytestmark = pytest.mark.torch
MOST, FEW, ENOUGH = 40, 4, 5000  # samples of one op in float64, in another dtype or as a method; of all ops


@functools.cache
def report(name):
    """What is found out about an op, once."""
    return run.report_of(name, MOST, FEW)


@pytest.mark.parametrize("name", run.present())
def test_op(name):
    found = report(name)
    seen.note("PyTorch's own samples", name, found.tried, max(found.values, found.gradients))
    assert not found.failures, "\n".join([found.line(), *found.failures.values()])
    assert found.tried or found.left_out


def test_enough_samples():
    assert sum(report(name).tried for name in run.present()) >= ENOUGH


def test_what_minigrad_has_not_is_listed():
    unlisted = {name for name, op in OPS.items() if function_of(op, minigrad) is None} - SKIPS.keys()
    assert {name for name in unlisted if OPS[name].name not in SKIPS} == set()


def test_what_is_listed_is_not_there():
    """A line whose op has been added, or that PyTorch does not know, goes."""
    names = {name: op for op_name, op in OPS.items() for name in (op_name, op.name)}
    others = {word for op in OPS.values() for word, _, _ in run.methods(op)}
    assert SKIPS.keys() - names.keys() - others == set()
    tried_all_the_same = {name for reason, listed in REASONS.items() if not reason.startswith("not compared")
                          for name in listed.split() if name in names}
    assert {name for name in tried_all_the_same if function_of(names[name], minigrad) is not None} == set()


def test_samples_are_left_out_for_the_reasons_listed():
    """Every line of SAMPLES and ONCE leaves something out of an op that there is."""
    for name, (_, why) in SAMPLES.items():
        assert any(report(full).left_out.get(why) for full in run.present() if OPS[full].name == name), name
    assert ONCE.keys() <= OPS.keys()


def test_no_name_is_listed_twice():
    words = [name for listed in REASONS.values() for name in listed.split()]
    assert sorted(set(words)) == sorted(words)


class Wrong(unary.Sin, name="Sin"):
    """The sine, with a derivative whose derivative is missing."""

    __slots__ = ()

    def backward(self, xp, g, a):
        return g * xp.cos(getattr(a, "detach", lambda: a)())

    @staticmethod
    def forward(a):
        return record1(Wrong, np.sin(a.array), a, (a,))


def raising(error):
    """A call that raises this."""
    def call(*args):
        raise error

    return call


PLANTED = {
    "a value": (lambda x: minigrad.sin(x) * (1 + 1e-11), "off by|Backward"),
    "a value, no graph": (lambda x: (minigrad.sin(x.detach()) * (1 + 1e-11)).requires_grad_(), "Backward"),
    "a dtype": (lambda x: minigrad.sin(x).float(), "float32"),
    "a shape": (lambda x: minigrad.sin(x)[None], "result 0 is"),
    "another op": (lambda x: minigrad.cos(x - np.pi / 2), "CosBackward0"),
    "no tensor": (lambda x: 1.0, "no|not a tensor"),
    "two results": (lambda x: (minigrad.sin(x), x), "2 results, not 1"),
    "a second gradient": (Wrong.forward, "gradient 0 of order 2"),
    "an error": (raising(ValueError("why")), "minigrad raises ValueError: why"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_wrong_is_found(name):
    call, words = PLANTED[name]
    found = run.Report("sin")
    for sample in samples(OPS["sin"], torch.float64, None, {}):
        run.check(found, (minigrad.sin, torch.sin), sample, 2, run.TIGHT)
        if sample.args[0].array.size:
            with pytest.raises(run.Mismatch, match=words):
                run.check(found, (call, torch.sin), sample, 2, run.TIGHT)


@pytest.mark.parametrize("ours", [raising(TypeError("no")), lambda *args: None])
def test_another_error_is_found(ours):
    with pytest.raises(run.Mismatch, match="is raised, not RuntimeError"):
        run.refuses(run.attempt(minigrad, ours, Sample((), {}, None), 0), RuntimeError("no"),
                    run.Report("sin"), Sample((), {}, None))


def test_a_sample_keeps_its_strides_and_its_tensors():
    rows = torch.arange(6.0).reshape(2, 3).requires_grad_()
    turned, wide = rows.detach().t(), torch.ones(1).expand(4)
    given = type("Given", (), {"input": rows, "args": (turned, [wide, rows]), "kwargs": {"dtype": torch.float32},
                               "output_process_fn_grad": None})
    sample = sample_of(given)
    assert sample.args[0] is sample.args[2][1] and isinstance(sample.args[0], Leaf)
    for lib in (minigrad, torch):
        a, b, (c, again) = built(sample.args, lib, {})
        assert a is again and a.requires_grad and not b.requires_grad
        assert (a.stride(), b.stride(), c.stride()) == ((3, 1), (1, 3), (0,))
        assert b.tolist() == turned.tolist()
        assert built(sample.kwargs, lib, {}) == {"dtype": lib.float32}
    apart = sample.spread()
    assert apart.args[0] is apart.args[2][1]
    assert built(apart.args[0], torch, {}).stride() == (6, 2)
    assert built(apart.args[0], torch, {}).tolist() == rows.tolist()
