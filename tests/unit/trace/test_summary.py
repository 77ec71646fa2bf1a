"""A trace summed up by modules."""

from __future__ import annotations

from math import isnan

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.recorder import record
from minigrad.trace.summary import Summary
from minigrad.utils.checkpoint import checkpoint


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.again = nn.Linear(3, 3)
        self.last = nn.Sequential(nn.Tanh(), nn.Linear(3, 3))
        self.last[1].weight = self.again.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.again(self.again(self.first(x))))


def summary(train: bool = True) -> Summary:
    torch.manual_seed(0)
    net = Net()
    with record() as trace, torch.set_grad_enabled(train):
        loss = net(torch.ones(4, 2)).square().sum()
        if train:
            loss.backward()
    return trace.summary()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_rows_are_a_data_frame(library: str) -> None:
    """With a column for each field, by which they can be sorted and selected."""
    frames, found = pytest.importorskip(library, reason=f"{library} is not installed"), summary()
    frame = frames.DataFrame(found.rows)
    assert tuple(frame.columns) == found.rows[0]._fields
    for field in ("name", "module", "depth", "calls", "parameters", "saved", "flops"):
        assert list(frame[field]) == [getattr(row, field) for row in found.rows]
    assert [tuple(shape) for shape in frame["output"]] == [row.output for row in found.rows]
    assert list(frame["gradient"]) == pytest.approx([row.gradient for row in found.rows])
    by_memory = frame.sort_values("saved") if library == "pandas" else frame.sort("saved")
    assert list(by_memory["saved"]) == sorted(row.saved for row in found.rows)
    assert frame["forward_seconds"].isnull().all() if library == "pandas" else frame["forward_seconds"].is_null().all()


def test_the_table() -> None:
    assert repr(summary()) == """\
module             class       output  parameters  saved  gradient
net                Net         [4, 3]          24  176 B      3.28
  first            Linear      [4, 3]           9   32 B     0.327
  again            Linear ×2   [4, 3]          12   96 B      2.11
  last             Sequential  [4, 3]           3   48 B      3.28
    0              Tanh        [4, 3]               48 B       2.3
    1              Linear      [4, 3]           3   48 B      3.28
(outside modules)              scalar               48 B         1
total                                          24  224 B"""


def test_a_shared_parameter_counts_where_it_belongs() -> None:
    assert {row.name: row.parameters for row in summary()} == {
        "net": 24, "net.first": 9, "net.again": 12, "net.last": 3, "net.last.0": 0, "net.last.1": 3,
        "(outside modules)": 0}


def test_what_is_not_known_has_no_column() -> None:
    first = repr(summary(train=False)).splitlines()[0].split()
    assert first == ["module", "class", "output", "parameters"]


def test_the_total_counts_what_is_shared_once() -> None:
    found = summary()
    assert found.total.saved == 224 <= sum(row.saved for row in found if row.depth == 0)
    assert found.total.parameters == found["net"].parameters and found.total.output is None
    assert found["net"].flops == 2 * 4 * (2 * 3 + 3 * 3 + 3 * 3 + 3 * 3) + 4 * 3
    assert found.total.flops == found["net"].flops + found["(outside modules)"].flops


def test_rows_of_groups_of_nodes() -> None:
    torch.manual_seed(0)
    net = Net()
    with record() as trace:
        net(torch.ones(4, 2)).square().sum().backward()
    scope = next(at for at, each in enumerate(trace.scopes) if each["name"] == "last")
    inside = [at for at, each in enumerate(trace.scopes) if at == scope or each["parent"] == scope]
    nodes = [at for at, each in enumerate(trace.nodes) if each.get("scope") in inside]
    leaf = next(at for at, each in enumerate(trace.nodes) if "variable" in each
                and trace.tensors[each["variable"]]["name"] == "net.again.weight")
    of_module, of_ops, of_leaf = trace.rows([(nodes, scope), (nodes, None), ([leaf], None)])
    assert of_module == of_ops == summary()["net.last"][4:]
    assert (of_leaf.output, of_leaf.parameters, of_leaf.saved) == ((3, 3), 9, 0)
    assert of_leaf.gradient == pytest.approx(float(net.again.weight.grad.norm()))  # type: ignore[union-attr]  # it came


def test_times() -> None:
    net = nn.Linear(2, 2)
    with record(times=True) as trace:
        net(torch.ones(1, 2)).sum().backward()
    row = trace.summary()["net"]
    assert row.forward_seconds is not None and row.backward_seconds is not None
    assert 0 < row.forward_seconds < 1 and 0 < row.backward_seconds < 1
    ops = [node for node in trace.nodes if node.get("scope") == 0 and "variable" not in node]
    known = [node["seconds"] for node in ops if "seconds" in node]
    for at, found in enumerate((row.forward_seconds, row.backward_seconds)):
        assert found == pytest.approx(sum(each[at] for each in known if each[at] is not None))
    assert {"forward", "backward"} < set(repr(trace.summary()).splitlines()[0].split())


def test_a_program_without_modules() -> None:
    x = torch.ones(2, requires_grad=True)
    with record() as trace:
        (x * x).sum().backward()
    assert [row.name for row in trace.summary()] == ["(outside modules)"]
    with record() as trace:
        pass
    assert len(trace.summary()) == 0


def test_a_recomputation_is_no_call() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
    with record() as trace:
        checkpoint(net, torch.ones(1, 2, requires_grad=True), use_reentrant=False).sum().backward()
    assert [(row.name, row.calls) for row in trace.summary()][:3] == [("net", 1), ("net.0", 1), ("net.1", 1)]


def test_a_gradient_that_is_no_number() -> None:
    net = nn.Linear(1, 1)
    with record() as trace:
        (net(torch.ones(1, 1)) * float("nan")).sum().backward()
    gradient = trace.summary()["net"].gradient
    assert gradient is not None and isnan(gradient)
    assert repr(trace.summary()).splitlines()[1].endswith(" nan")


def test_a_small_gradient_keeps_three_digits() -> None:
    net = nn.Linear(1, 1)
    with record() as trace:
        (net(torch.ones(1, 1)) * 0.00591).sum().backward()
    assert repr(trace.summary()).splitlines()[1].endswith(" 0.00591")


def test_what_leaves_no_node_is_no_output_beside_what_does() -> None:
    class Averaged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(2, 3)
            self.register_buffer("mean", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.inner(x)
            with torch.no_grad():
                self.mean.add_(y.mean(0))
            return y

    net = Averaged()
    with record() as trace:
        net(torch.ones(4, 2)).sum().backward()
        with torch.no_grad():
            net.inner.bias.sub_(0.1)
    found = trace.summary()
    assert found["net"].output == (4, 3) and found["net"].gradient is not None
    assert found["(outside modules)"].output == ()


def test_a_module_that_was_not_called() -> None:
    with pytest.raises(KeyError, match="no module 'net.missing' was called; called were net, net.first"):
        summary()["net.missing"]
