"""The map that a model opens with: its boxes, their names, and what is gathered in them."""

from __future__ import annotations

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector
from minigrad_widgets.graph.folding import Folding, owners
from minigrad_widgets.graph.layout import compute_layout


class Block(nn.Module):
    """A block with a skip connection, and more in it than one op."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.fc, self.out = nn.LayerNorm(4), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.out(F.relu(self.fc(self.norm(x))))


class Model(nn.Module):
    """Equal blocks between two layers, with ops of its own between them and a parameter of its own."""

    def __init__(self, blocks: int, apart: bool = False) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)
        self.h = nn.ModuleList([Block() for _ in range(blocks)])
        self.scale = nn.Parameter(torch.ones(4))
        self.apart = apart

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = (self.first(x) * self.scale).tanh()
        for block in self.h:
            x = block(x) * 2 if self.apart else block(x)
        return self.last(x)


def names(trace: Trace) -> list[str]:
    """What stands on the boxes at first, the earliest first."""
    data = Inspector(trace)._data
    return [record["name"] for record in Folding(data, data["folded"], compute_layout).data["nodes"]]


def trained(model: nn.Module, loss: nn.Module | None = None) -> Trace:
    x, target = torch.ones(5, 3), torch.tensor([0, 1, 0, 1, 1])
    with record() as trace:
        (loss or F.cross_entropy)(model(x), target).backward()
    return trace


def test_equal_blocks_are_one_box_and_the_first_is_open() -> None:
    assert names(trained(Model(12))) == ["first", "Mul, Tanh", "h.0.norm", "h.0.fc", "ReluBackward0", "h.0.out",
                                         "AddBackward0", "h.1 … h.11 ×11", "last", "loss"]


def test_a_row_stays_one_box_if_there_is_enough_around_it() -> None:
    model = nn.Sequential(nn.Linear(3, 4), *[Block() for _ in range(5)], *[
        layer for width in (5, 6, 7, 8) for layer in (nn.LazyLinear(width), nn.Tanh())])
    model(torch.ones(5, 3))
    assert names(trained(model))[:2] == ["0", "1 Block … 5 Block ×5"]


def test_two_blocks_are_two_boxes() -> None:
    found = names(trained(Model(2)))
    assert not any("×" in name for name in found)
    assert 8 <= len(found) <= 30


def test_blocks_repeat_with_the_ops_between_them() -> None:
    found = names(trained(Model(12, apart=True)))
    assert sum("×" in name for name in found) == 1
    assert len(found) <= 30


@pytest.mark.parametrize("loss", [None, nn.CrossEntropyLoss()])
def test_the_loss_is_one_box(loss: nn.Module | None) -> None:
    found = names(trained(Model(4), loss))
    assert found.count("loss") == 1
    assert not any("Nll" in name or "LogSoftmax" in name for name in found)


def test_parameters_are_in_the_box_that_uses_them() -> None:
    assert "AccumulateGrad" not in names(trained(Model(12)))


def test_many_layers_are_cut_into_pieces() -> None:
    found = names(trained(nn.Sequential(nn.Linear(3, 4), *[nn.Linear(4, 4) for _ in range(300)])))
    assert 8 <= len(found) <= 30
    assert found[-1] == "loss"


def test_each_node_is_in_one_box_and_its_module_is_around_it() -> None:
    trace = trained(Model(12))
    data = Inspector(trace)._data
    assert len(owners(data, data["folded"])) == len(trace.nodes)
    for node, before in zip(data["nodes"], trace.nodes, strict=True):
        around = [scope := node.get("scope")]
        while scope is not None:
            around.append(scope := data["scopes"][scope]["parent"])
        assert before.get("scope") in around


def test_edges_of_the_map_lead_down() -> None:
    for blocks in (2, 12):
        data = Inspector(trained(Model(blocks)))._data
        seen = Folding(data, data["folded"], compute_layout).data
        spots = seen["layout"]["nodes"]
        for at, box in enumerate(seen["nodes"]):
            assert all(spots[str(edge[0])][1] > spots[str(at)][1] for edge in box["next"] if edge)
