"""What the trace says that tensors hold, where something else than an op of theirs has written to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import minigrad
from minigrad.recorder import Trace, record
from minigrad_widgets.torch_reader import record as read

pytestmark = pytest.mark.torch
LIBRARIES = pytest.mark.parametrize(("lib", "recorder"), [(minigrad, record), (torch, read)], ids=["minigrad", "torch"])


def through_detach(lib: Any, w: Any) -> None:
    w.detach().zero_()


def through_data(lib: Any, w: Any) -> None:
    w.data.add_(4)


def other_data(lib: Any, w: Any) -> None:
    w.data = lib.tensor([7.0, 8.0])


def through_a_view(lib: Any, w: Any) -> None:
    with lib.no_grad():
        w[1] = 9.0


def in_place(lib: Any, w: Any) -> None:
    with lib.no_grad():
        w.mul_(2)


WAYS = [through_detach, through_data, other_data, through_a_view, in_place]


def held(trace: Trace, tensor: int, step: int) -> list[float]:
    """The numbers of a tensor after a step."""
    value = trace.tensors[tensor]["value"]
    for event in trace.events[:step + 1]:
        new = [*event.get("others", ()), *event.get("found", ())]
        if event["kind"] == "version":
            new.append((event["tensor"], event["value"]))
        value = dict(map(tuple, new)).get(tensor, value)
    return list(trace.values[value]["data"])


@LIBRARIES
@pytest.mark.parametrize("write", WAYS)
def test_a_leaf_holds_at_each_op_what_it_held_then(lib: Any, recorder: Any, write: Callable[[Any, Any], None]) -> None:
    w = lib.ones(2, requires_grad=True)
    with recorder(names={"w": w}) as trace:
        (w * w).sum().backward()
        write(lib, w)
        after = w.tolist()
        (w * w).sum().backward()
    leaf = next(at for at, each in enumerate(trace.tensors) if each["name"] == "w")
    products = [step for step, each in enumerate(trace.events)
                if each["kind"] == "forward" and each["inputs"] == [leaf, leaf]]
    assert [held(trace, leaf, step) for step in products] == [[1.0, 1.0], after]
    assert after != [1.0, 1.0]


@LIBRARIES
@pytest.mark.parametrize("write", WAYS)
def test_a_leaf_that_is_written_to_first_holds_at_first_what_it_held(lib: Any, recorder: Any,
                                                                     write: Callable[[Any, Any], None]) -> None:
    w = lib.ones(2, requires_grad=True)
    with recorder(names={"w": w}) as trace:
        write(lib, w)
        after = w.tolist()
        (w * w).sum().backward()
    leaf = next(at for at, each in enumerate(trace.tensors) if each["name"] == "w")
    product = next(step for step, each in enumerate(trace.events)
                   if each["kind"] == "forward" and each["inputs"] == [leaf, leaf])
    assert held(trace, leaf, product) == after
    assert held(trace, leaf, -1) == ([1.0, 1.0] if write is not other_data else after)


@LIBRARIES
def test_a_derivative_is_told_with_what_its_operand_held_then(lib: Any, recorder: Any) -> None:
    """Versions do not see it, and backward takes the new numbers."""
    w = lib.tensor([1.0, 2.0], requires_grad=True)
    with recorder() as trace:
        loss = (w * w).sum()
        through_data(lib, w)
        loss.backward()
        through_data(lib, w)
    lines = [line.strip() for step in range(len(trace.events)) for line in trace.text(step).splitlines()]
    assert "grad of w = grad · w = [1., 1.] · [5., 6.] = [5., 6.]" in lines


def grads(trace: Trace) -> list[list[float] | None]:
    """What was told of `.grad`s, passes apart."""
    told = [event["grad"] for event in trace.events if event["kind"] == "grad"]
    return [None if value is None else trace.values[value]["data"] for value in told]


@LIBRARIES
def test_a_grad_that_the_program_sets_changes_or_takes_off_is_told(lib: Any, recorder: Any) -> None:
    w = lib.tensor([3.0, 4.0], requires_grad=True)
    optimizer = lib.optim.SGD([w], lr=1.0)
    with recorder() as trace:
        w.sum().backward()
        w.grad.mul_(2)
        w.sum().backward()
        w.grad = lib.tensor([float("nan"), 5.0])
        w.sum().backward()
        optimizer.zero_grad()
    assert [str(each) for each in grads(trace)] == ["[2.0, 2.0]", "['nan', 5.0]", "None"]


@LIBRARIES
def test_clipping_is_told_where_it_happens(lib: Any, recorder: Any) -> None:
    w = lib.tensor([3.0, 4.0], requires_grad=True)
    with recorder() as trace:
        (w * w).sum().backward()
        lib.nn.utils.clip_grad_norm_([w], 1.0)
        w.sum()
    (told,) = grads(trace)
    assert told == pytest.approx([0.6, 0.8])
    kinds = [event["kind"] for event in trace.events]
    assert kinds.index("grad") < len(kinds) - 1 and trace.events[-1]["op"] == "sum"


@LIBRARIES
def test_a_view_is_told_its_node_anew_once_its_base_was_written_to(lib: Any, recorder: Any) -> None:
    """The base alone was written to; the view gets its node when an op asks for it, and its gradient comes there."""
    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with recorder() as trace:
        base = x * 2
        view = base[1:]
        base.mul_(3)
        product = view.prod()
        product.backward()
    names = [tensor["name"] for tensor in trace.tensors]
    told = [(names[tensor], trace.nodes[before]["name"], trace.nodes[after]["name"])
            for event in trace.events for tensor, before, after in event.get("rebased", ()) if names[tensor] == "view"]
    assert told == [("view", "SliceBackward0", "AsStridedBackward0")]
    node = next(at for at, record in enumerate(trace.nodes) if record["name"] == "AsStridedBackward0")
    assert trace.nodes[node]["outputs"] == [names.index("view")]
    run = next(event for event in trace.events if event["kind"] == "run" and event["node"] == node)
    assert trace.values[run["gradient"][0]]["data"] == [18.0, 12.0]
