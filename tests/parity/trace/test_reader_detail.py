"""How much a recording of PyTorch keeps, and what it says where it cannot follow."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

pytestmark = pytest.mark.torch


@pytest.fixture
def reader(torch):
    return importlib.import_module("minigrad_widgets.torch_reader.reader")


def recorded(torch: Any, reader: Any, detail: str) -> Any:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.Tanh(), torch.nn.Linear(30, 2))
    x = torch.randn(4, 20)
    with reader.record(detail=detail) as trace:
        net(x).sum().backward()
    return trace


def known(value: Any) -> bool:
    return "data" in value or value["stats"]["norm"] is not None


def test_each_detail_keeps_so_much(torch, reader) -> None:
    traces = {detail: recorded(torch, reader, detail) for detail in ("values", "ops", "modules")}
    for detail, most in (("values", 10_000), ("ops", 64), ("modules", 1)):
        trace = traces[detail]
        sizes = [(known(value), value["shape"]) for value in trace.values]
        assert sizes and all(found == (size(shape) <= most) for found, shape in sizes)
        assert bool(trace.expressions) == (detail != "modules")
        assert len({scope["name"] for scope in trace.scopes}) == 4
    told = [[(event["kind"], event.get("node")) for event in trace.events] for trace in traces.values()]
    assert told[0] == told[1] == told[2]
    held = [[event.get("bytes") for event in traces[detail].events] for detail in ("ops", "values")]
    assert held[0] == held[1] and any(held[0])


def size(shape: list[int]) -> int:
    count = 1
    for each in shape:
        count *= each
    return count


def test_an_unknown_detail_is_refused(torch, reader) -> None:
    with pytest.raises(ValueError, match="there is no detail 'all': it is one of 'arrays', 'values', 'ops', 'modules'"):
        reader.record(detail="all")


def test_statistics_are_those_of_the_moment(torch, reader) -> None:
    """Memory that an op has written to is looked at anew, though it was looked at before."""
    x = torch.zeros(10, 10)
    with reader.record() as trace:
        a = x + 1
        b = a.t()
        a.mul_(3)
        c = a.view(100)
        torch.add(a, a, out=a)
        d = a.view(4, 25)
        e = -a.view(100)
    means = {t["name"]: trace.values[t["value"]]["stats"]["mean"] for t in trace.tensors if t["name"]}
    assert [means[name] for name in "abcde"] == [1, 1, 3, 6, -6]
    assert b is not None and c is not None and d is not None and e is not None


def test_memory_that_is_seen_in_part_is_looked_at_by_itself(torch, reader) -> None:
    x = torch.arange(200.0).reshape(2, 100)
    with reader.record() as trace:
        a = x * 1
        b = a[0]
        c = a.as_strided((200,), (0,))
        d = torch._neg_view(a)
    means = {t["name"]: trace.values[t["value"]]["stats"]["mean"] for t in trace.tensors if t["name"]}
    assert [means[name] for name in "abc"] == [99.5, 49.5, 0]
    assert means["d"] == -99.5
    assert b is not None and c is not None and d is not None


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")  # by PyTorch's compiler, as it loads
def test_a_compiled_function_runs_eagerly_and_the_trace_says_so(torch, reader) -> None:
    x, compiled = torch.ones(3, requires_grad=True), []

    def backend(graph, inputs):
        compiled.append(graph)
        return graph.forward

    twice = torch.compile(lambda t: t * 2, backend=backend)
    with reader.record() as trace:
        twice(x).sum().backward()
    assert [node["name"] for node in trace.nodes if node["sequence_nr"] is not None] == ["MulBackward0", "SumBackward0"]
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]
    assert compiled == []
    assert trace.text().splitlines()[-1] == (
        "Note: what torch.compile was given runs eagerly while it is recorded (torch.compile)")
    twice(x)
    assert len(compiled) == 1  # from now on it is compiled as before


def test_ops_that_are_not_the_engines_own_are_seen_in_a_pass_whatever_the_detail(torch, reader):
    """While a node runs nothing of the user's, the reader does not see its ops: there are more of them than others."""
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, t):
            return t * 2

        @staticmethod
        def backward(ctx, g):
            return g.neg() * -2

    def fail(made, received):
        raise RuntimeError("by the test")

    def step() -> None:
        x = torch.ones(3, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t.sin()):
            packed = x.exp()
        y = Twice.apply(packed).tanh()
        y.register_hook(lambda g: g.cos())
        y.grad_fn.register_hook(lambda made, received: (made[0].tan(),))
        y.sum().backward(retain_graph=True)
        y.grad_fn.register_hook(fail)
        with pytest.raises(RuntimeError, match="by the test"):
            y.sum().backward()
        y.detach().sqrt()
        torch.autograd.grad((x ** 3).sum(), x, create_graph=True)[0].sum().backward()

    told = {}
    for detail in ("values", "ops", "modules"):
        with reader.record(detail=detail) as trace:
            step()
        told[detail] = [event["op"] for event in trace.events if event["kind"] == "forward"]
        assert trace.notes == []
    assert told["values"] == told["ops"] == told["modules"]
    assert {"sin", "neg", "cos", "tan", "sqrt"} <= set(told["ops"])


def test_few_ops_of_a_pass_are_looked_at(torch, reader, monkeypatch):
    if importlib.import_module("minigrad_widgets.torch_reader.private").PRIVATE.stored is None:
        pytest.skip("this PyTorch does not show whether the user's hooks would run")
    kind, seen = reader.Reader, []
    dispatched = kind.dispatched
    monkeypatch.setattr(kind, "dispatched", lambda self, op: (seen.append(op.func), dispatched(self, op))[1])
    counts = {}
    for detail in ("values", "modules"):
        with reader.record(detail=detail):
            loss = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())(torch.ones(2, 3)).square().mean()
            seen.clear()
            loss.backward()
            counts[detail] = len(seen)
    assert counts["modules"] <= 4 < counts["values"]
