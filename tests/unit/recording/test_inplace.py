"""What a recorder tells of ops in place: the values after the write."""

from __future__ import annotations

from typing import Any

import minigrad
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint


def shown(trace: Trace, value: int | None) -> object:
    """The numbers of a value."""
    return None if value is None else trace.values[value]["data"]


def test_a_saved_result_shows_what_was_written() -> None:
    x = minigrad.tensor([0.0, 1.0], requires_grad=True)
    with record() as trace:
        y = x * 1
        y.sigmoid_()
    (node,) = [n for n in trace.nodes if n["name"] == "SigmoidBackward0"]
    ((name, tensor, value),) = node["saved"]
    assert name == "result" and shown(trace, value) == y.tolist()
    assert shown(trace, trace.tensors[tensor]["value"]) == [0.0, 1.0]  # its record is what it was when it was made


def test_a_version_shows_what_the_tensor_holds_now() -> None:
    x = minigrad.tensor([[1.0, 2.0]])
    with record() as trace:
        x.add_(1)
        x.t_()
        x[0].mul_(5)
    versions = [e for e in trace.events if e["kind"] == "version"]
    assert [e["version"] for e in versions] == [1, 2, 3]
    assert [shown(trace, e["value"]) for e in versions] == [[2.0, 3.0], [2.0, 3.0], [10.0]]
    assert [x.shape, x._version] == [(2, 1), 3]
    assert [e["op"] for e in trace.events if e["kind"] == "forward"] == ["add_", "t_", "select", "mul_"]


def test_a_view_made_without_grad_mode_requires_grad_as_its_base_does() -> None:
    wanted, data = minigrad.ones(2, requires_grad=True), minigrad.ones(2)
    with record() as trace, minigrad.no_grad():
        view, other, doubled = wanted.view(2), data.view(2), wanted * 2
    told = {t["name"]: (t["requires_grad"], t["is_leaf"]) for t in trace.tensors}
    assert {name: told[name] for name in ("view", "other", "doubled")} == {
        "view": (True, True), "other": (False, True), "doubled": (False, True)}
    assert [t.requires_grad for t in (view, other, doubled)] == [True, False, False]


def test_who_shares_memory_and_who_a_version_counter() -> None:
    base = minigrad.arange(6.0, requires_grad=True)
    with record() as trace:
        y = base * 2
        part = y[2:5]
        turned = y.view(2, 3).t()
        apart, data = y.detach(), y.data
        apart.add_(1)
        data.add_(1)
    assert part._base is turned._base is y
    records = {t["name"]: t for t in trace.tensors if t["name"]}
    number = {t["name"]: i for i, t in enumerate(trace.tensors)}
    assert len({records[name]["storage"] for name in ("y", "part", "turned", "apart", "data")}) == 1
    assert [records[name].get("base") for name in ("y", "part", "turned", "apart", "data")] == [
        None, number["y"], number["y"], None, None]
    assert [records[name].get("counter") for name in ("y", "apart", "data")] == [None, number["y"], None]
    assert (records["part"]["offset"], records["part"]["strides"]) == (2, [1])
    assert (records["turned"]["offset"], records["turned"]["strides"]) == (0, [1, 3])
    assert "strides" not in records["y"]


def test_a_version_from_before_is_told() -> None:
    x = minigrad.zeros(2)
    x.add_(1)
    x.add_(1)
    with record() as trace:
        minigrad.add(x, 1)
    assert trace.tensors[0]["version"] == 2


def test_what_the_program_does_to_grad() -> None:
    layer = minigrad.nn.Linear(2, 1)
    optimizer = minigrad.optim.SGD(layer.parameters(), lr=0.1)
    with record() as trace:
        optimizer.zero_grad()  # there is none yet: nothing to tell
        layer(minigrad.ones(1, 2)).sum().backward()
        optimizer.zero_grad()
        layer(minigrad.ones(1, 2)).sum().backward()
        optimizer.zero_grad(set_to_none=False)
        layer.weight.grad = None
        layer.bias.grad = minigrad.ones(1)
        del layer.bias.grad
    told = [(trace.tensors[e["tensor"]]["name"], None if e["grad"] is None else trace.values[e["grad"]]["data"])
            for e in trace.events if e["kind"] == "grad"]
    assert told == [("layer.weight", None), ("layer.bias", None), ("layer.weight", [0.0, 0.0]), ("layer.bias", [0.0]),
                    ("layer.weight", None), ("layer.bias", [1.0]), ("layer.bias", None)]
    assert trace.frame(len(trace.events) - 1)["grads"] == {}
    steps = [step for step, e in enumerate(trace.events) if e["kind"] == "grad"]
    assert set(steps) <= set(trace.steps("forward"))
    assert trace.text().count(".grad is now None") == 4


def test_modes_of_inference_and_around_forward() -> None:
    class Double(minigrad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with record() as trace:
        Double.apply(minigrad.ones(1, requires_grad=True))
        with minigrad.inference_mode():
            minigrad.ones(1)
    assert [(e["mode"], e["on"]) for e in trace.events if e["kind"] == "mode"] == [
        ("grad", False), ("grad", True), ("grad", False), ("inference", True), ("grad", True), ("inference", False)]
    names = {trace.files[e["file"]]["name"] for e in trace.events if e["kind"] == "mode"}
    assert names == {"test_inplace.py"}


def test_a_write_through_a_view_gives_the_base_and_the_view_another_node() -> None:
    x = minigrad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with record() as trace:
        y = x * 2
        row = y[1]
        other = y[0]
        row.mul_(3)
        y.sum().backward()
    (write,) = [e for e in trace.events if e["kind"] == "forward" and "rebased" in e]
    names = {i: t["name"] for i, t in enumerate(trace.tensors)}
    told = [(names[t], trace.nodes[a]["name"], trace.nodes[b]["name"]) for t, a, b in write["rebased"]]
    assert told == [("y", "MulBackward0", "CopySlices"), ("row", "SelectBackward0", "AsStridedBackward0")]
    assert y.grad_fn is not None and y.grad_fn.name().endswith(trace.nodes[write["node"]]["name"])
    assert row.grad_fn is not None and row.grad_fn.name() == "AsStridedBackward0"
    assert other.shape == (2,)
    before, after = (trace.frame(trace.events.index(write) + more) for more in (-1, 2))
    assert (before["versions"], before["rebased"]) == ({}, {})
    assert {names[t]: v for t, v in after["versions"].items()} == {"y": 1, "row": 1, "other": 1}
    assert after["rebased"] == {t: b for t, _, b in write["rebased"]}
    assert "y.grad_fn was MulBackward0 #1 and is CopySlices #4 now" in trace.text()
    assert "row (a view of y) = tensor([6., 8.])" in trace.text()
    assert "y: version 1, its node is CopySlices #4" in trace.text(len(trace) - 1)


def test_a_write_without_a_view_gives_a_tensor_another_node() -> None:
    w = minigrad.tensor([1.0], requires_grad=True)
    x = minigrad.tensor([2.0])
    with record() as trace:
        x.floor()
        x.mul_(w)
        x.exp_()
    told = [e.get("rebased") for e in trace.events if e["kind"] == "forward"]
    assert told == [None, [[0, None, 1]], [[0, 1, 2]]]


def test_nodes_of_a_second_run_are_told_apart() -> None:
    x = minigrad.tensor([1.0], requires_grad=True)
    with record() as trace:
        checkpoint(lambda t: t.sin().cos(), x, use_reentrant=True).sum().backward()
    frame = trace.frame(len(trace) - 1)
    assert [trace.nodes[n]["name"] for n in frame["recomputed"]] == ["SinBackward0", "CosBackward0"]
    assert "recomputed: SinBackward0" in trace.text(len(trace) - 1)
