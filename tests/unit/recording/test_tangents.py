"""Forward mode in a recording: one graph, with the tangent of each tensor, and without the ops that computed it."""

import pytest

import minigrad as torch
from minigrad.autograd import forward_ad
from minigrad.recorder import Trace, record


def moved(trace: Trace) -> dict[str, list[float]]:
    """The tangents of the results of nodes, by the names of these."""
    found = {}
    for each in trace.nodes:
        for tensor in [each["variable"]] if "variable" in each else each["outputs"]:
            at = trace.tensors[tensor].get("tangent")
            if at is not None:
                found[each["name"]] = trace.values[trace.tensors[at]["value"]]["data"]
    return found


def test_a_jvp_is_one_graph_that_starts_at_its_arguments() -> None:
    with record() as trace:
        torch.func.jvp(lambda x, w: torch.relu(x * w) + w, (torch.tensor(3.0), torch.tensor(2.0)),
                       (torch.tensor(0.5), torch.tensor(1.0)))
    trace = Trace.from_json(trace.to_json())  # which checks each field
    assert [each["name"] for each in trace.nodes] == ["Dual", "Dual", "MulBackward0", "ReluBackward0", "AddBackward0"]
    assert [each["next"] for each in trace.nodes[2:]] == [[[0, 0], [1, 0]], [[2, 0]], [[3, 0], [1, 0]]]
    assert moved(trace) == {"Dual": [1.0], "MulBackward0": [4.0], "ReluBackward0": [4.0], "AddBackward0": [5.0]}
    assert [trace.tensors[each["variable"]]["name"] for each in trace.nodes[:2]] == ["x", "w"]
    assert not any(each["requires_grad"] for each in trace.tensors if each.get("tangent") is not None)
    assert "moved by tensor(5.); AddBackward0 #4 passes the tangent on, and is not kept" in trace.text()


def test_ops_that_leave_no_node_are_in_it_too() -> None:
    x = torch.tensor([[1.0, 2.0]])
    with record() as trace:
        torch.func.jvp(lambda x: torch.mm(x.exp(), x.t()).sum().neg_(), (x,), (torch.ones(1, 2),))
    names = [each["name"] for each in trace.nodes]
    assert names == ["Dual", "ExpBackward0", "TBackward0", "MmBackward0", "SumBackward0", "neg_"]
    assert [each["next"] for each in trace.nodes] == [[], [[0, 0]], [[0, 0]], [[1, 0], [2, 0]], [[3, 0]], [[4, 0]]]


def test_what_requires_grad_has_the_graph_that_it_has_without_a_level() -> None:
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])

    def run() -> torch.Tensor:
        return (w * x.softmax(0).view(2)).prod()

    with record() as plain:
        run().backward()
    with record() as trace:
        with forward_ad.dual_level():
            result = (forward_ad.make_dual(w, torch.ones(2)) * x.softmax(0).view(2)).prod()
        result.backward()
    assert [each["name"] for each in trace.nodes] == [each["name"] for each in plain.nodes]
    assert [each["next"] for each in trace.nodes] == [each["next"] for each in plain.nodes]
    assert set(moved(trace)) == {"MulBackward0", "ProdBackward0"}
    assert all(each.get("unexplained") for each in [trace.tensors[t["tangent"]] for t in trace.tensors
                                                    if "tangent" in t and t["node"] is not None])


def test_a_pass_from_a_tangent_runs_through_nodes_of_its_own() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with record() as trace:
        with forward_ad.dual_level():
            change = forward_ad.unpack_dual(forward_ad.make_dual(x, torch.tensor(5.0)) ** 3).tangent
        before = len(trace.nodes)
        (slope,) = torch.autograd.grad(change, x)
    assert slope.item() == 90.0
    ran = [event["node"] for event in trace.events if event["kind"] == "run"]
    assert len(trace.nodes) > before and len(ran) == len(set(ran))
    Trace.from_json(trace.to_json())


def test_after_the_level_nothing_moves() -> None:
    x = torch.tensor(3.0)
    with record() as trace:
        value, _ = torch.func.jvp(torch.sin, (x,), (x,))
        value * 2
    assert trace.events[-1]["node"] is None
    assert [each["name"] for each in trace.nodes] == ["Dual", "SinBackward0"]


@pytest.mark.parametrize("transform", [torch.func.hessian, lambda f: torch.func.jacfwd(torch.func.jacfwd(f)),
                                       lambda f: torch.func.grad(lambda x: torch.func.jvp(f, (x,), (x,))[1])])
def test_nested_transforms_give_what_they_give_unrecorded(transform: object) -> None:
    x = torch.tensor([1.0, 2.0])
    run = transform(lambda x: (x.sin() * x).sum())  # type: ignore[operator]  # any of three functions of functions
    with record() as trace:
        found = run(x)
    assert found.equal(run(x))
    Trace.from_json(trace.to_json())
