"""optim: a rule gives the same on blocks as on tensors, in memory that it keeps; a recorder sees each word of it."""

from __future__ import annotations

import gc
import tracemalloc
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad.optim import _update
from minigrad.recorder import record

RULES = [
    ("SGD", {"lr": 0.1}), ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("AdamW", {"betas": (0.4, 0.5)}),
    ("RMSprop", {"momentum": 0.5, "centered": True}), ("Adagrad", {"lr_decay": 0.1}), ("Adadelta", {}), ("Adamax", {}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}), ("RAdam", {"betas": (0.5, 0.6)}), ("Rprop", {}),
    ("ASGD", {"t0": 2}),
]
IDS = [f"{name} {options}" for name, options in RULES]


def leaf(shape, seed=0, dtype="float32"):
    """A parameter."""
    return mg.tensor(np.random.RandomState(seed).standard_normal(shape).astype(dtype), requires_grad=True)


def gradient(shape, step, order="C"):
    """The gradient of a step."""
    values = np.random.RandomState(100 + step).standard_normal(shape).astype("float32")
    return mg.from_numpy(np.asarray(values, order=order))


def arrays(optimizer, p):
    """The parameter and its state."""
    return [p.detach().numpy(), *[t.numpy() for t in optimizer.state[p].values()]]


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
@pytest.mark.parametrize(("shape", "order"), [((7, 5), "C"), ((7, 5), "F"), ((), "C")])
def test_blocks_give_what_tensors_give_bit_for_bit(monkeypatch, name, options, shape, order):
    monkeypatch.setattr(_update, "BLOCK", 64)
    ends = []
    for recorded in (False, True):
        p = leaf(shape)
        optimizer = getattr(mg.optim, name)([p], **options)
        for step in range(6):
            p.grad = gradient(shape, step, order)
            if recorded:
                with record():
                    optimizer.step()
            else:
                optimizer.step()
        ends.append((arrays(optimizer, p), [p._version, *[t._version for t in optimizer.state[p].values()]]))
    for blocks, tensors in zip(ends[0][0], ends[1][0], strict=True):
        np.testing.assert_array_equal(blocks, tensors)
    assert ends[0][1] == ends[1][1]


def test_a_recorder_sees_each_word_of_a_step():
    p = mg.ones(3, requires_grad=True)
    optimizer = mg.optim.SGD([p], lr=0.5, momentum=0.9)
    p.grad = mg.ones(3)
    optimizer.step()
    with record() as trace:
        optimizer.step()
    assert [(event["kind"], event.get("op", event.get("version"))) for event in trace.events] == [
        ("forward", "mul_"), ("version", 1), ("forward", "add_"), ("version", 2), ("forward", "mul"),
        ("forward", "sub_"), ("version", 2)]
    assert {event["line"] for event in trace.events} == {trace.events[0]["line"]}


@pytest.mark.parametrize(("name", "options"), RULES, ids=IDS)
def test_a_step_takes_no_new_memory(name, options):
    p = leaf((512, 1024))
    optimizer = getattr(mg.optim, name)([p], **options)
    p.grad = mg.ones(512, 1024)
    for _ in range(3):
        optimizer.step()
    tracemalloc.start()
    optimizer.step()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < p.nbytes / 2


def test_what_a_graph_has_saved_may_not_be_stepped_on():
    p = leaf((4,))
    loss = (p * p).sum()
    p.grad = mg.ones(4)
    mg.optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_arrays_that_were_exchanged_are_stepped_on():
    p = leaf((4,))
    optimizer = mg.optim.Adam([p], lr=0.5)
    p.grad = mg.ones(4)
    optimizer.step()
    old = p.array
    p.data = mg.zeros(4)
    optimizer.state[p]["exp_avg"] = mg.zeros(4)
    kept = old.copy()
    optimizer.step()
    np.testing.assert_array_equal(old, kept)
    assert p.abs().min().item() > 0 and optimizer.state[p]["exp_avg"].abs().min().item() > 0
    optimizer.state[p]["step"] = mg.tensor(100.0)
    optimizer.step()
    assert optimizer.state[p]["step"].item() == 101


def test_parameters_of_inference_mode_are_refused_outside_of_it():
    with mg.inference_mode():
        p = mg.ones(3)
    p.grad = mg.ones(3)
    optimizer = mg.optim.SGD([p], lr=0.1)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        optimizer.step()
    with mg.inference_mode():
        optimizer.step()
    assert p.tolist() == pytest.approx([0.9] * 3)


def test_an_optimizer_is_freed_at_once():
    p = leaf((4,))
    optimizer = mg.optim.Adam([p])
    p.grad = mg.ones(4)
    optimizer.step()
    gc.collect()
    gc.disable()
    gone = weakref.ref(optimizer), weakref.ref(p)
    del optimizer, p
    gc.enable()
    assert [each() for each in gone] == [None, None]
