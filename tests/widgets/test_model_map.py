"""The map that a model opens with: its boxes, their names, and what is gathered in them."""

from __future__ import annotations

import pytest

import minigrad as torch
from minigrad import nn
from minigrad.nn import functional as F
from minigrad.recorder import Trace, record
from minigrad_widgets import Inspector, inspect
from minigrad_widgets.graph.folding import Folding, owners
from minigrad_widgets.graph.geometry import labels
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


@pytest.mark.parametrize("gradient", [0.0878508, 0.1674890])
def test_a_norm_is_rounded_once(gradient: float) -> None:
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with record() as trace:
        (x * gradient).sum().backward()
    norms = [row[-1] for row in Inspector(trace)._data["rows"]["nodes"]]
    assert f"{gradient:.3g}" in [f"{norm:.3g}" for norm in norms if norm is not None]  # as the browser rounds


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


@pytest.mark.parametrize(("width", "wanted"), [
    (3, ["0", "1", "2", "3", "4", "loss"]),
    (1, None),
], ids=["a model", "ops enough to be drawn"])
def test_a_small_model_that_is_inspected_opens_as_its_modules(width: int, wanted: list[str] | None) -> None:
    """Not as loose ops; a trace of as many nodes, as lessons have them, is drawn whole."""
    model = nn.Sequential(*[layer for _ in range(width - 1) for layer in (nn.Linear(3, 3), nn.Tanh())], nn.Linear(3, 2))
    target = torch.tensor([0, 1, 0, 1, 1])
    inspector = inspect(model, torch.ones(5, 3), target=target, loss_fn=F.cross_entropy)
    data = inspector._data
    boxes = [record["name"] for record in Folding(data, data["folded"], compute_layout).data["nodes"]]
    assert boxes == (wanted or [record["name"] for record in data["nodes"]])
    assert Inspector(inspector._trace)._data["folded"] == []


def test_a_module_without_modules_stays_a_box() -> None:
    """A recurrent layer of many ops is one box, however few others there are."""
    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.head = nn.GRU(3, 4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.rnn(x.unsqueeze(1))[0][:, 0])

    assert {"rnn", "head", "loss"} <= set(names(trained(Tagger()))) and len(names(trained(Tagger()))) <= 5


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


class Misfit(nn.Module):
    """A block whose second layer fits if `width` is 16."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.wide, self.back, self.norm = nn.Linear(8, 16), nn.Linear(width, 8), nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self.back(self.wide(x).relu())
        result: torch.Tensor = self.norm(hidden + x)
        return result


class Sum(nn.Module):
    def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        return one.exp() + other


class TestAModuleThatRaises:
    def test_the_box_around_it_says_so(self) -> None:
        shown = inspect(nn.Sequential(*(Misfit(16 + (at == 5)) for at in range(6))), torch.ones(3, 8))
        [last] = [at for at, scope in enumerate(shown._data["scopes"]) if scope["name"] == "5"]
        for folded, title, told in ((shown._data["folded"], "5.back", "raised"), ([last], "5", "back raised")):
            graph = Folding(shown._data, folded, compute_layout).data
            assert graph["failed"]["within"]
            assert labels(graph, graph["failed"]["node"]) == (title, f"{told}: [3, 16] · weight [8, 17]")
        assert ">✕<" in shown.to_svg() and "raised: [3, 16] · weight [8, 17]" in shown.to_svg()

    def test_an_op_in_it(self) -> None:
        net = nn.Sequential(nn.Linear(4, 8), nn.Linear(9, 3))
        shown = inspect(net, torch.ones(2, 4))
        failed = shown._data["failed"]
        assert (failed["caption"], failed["within"]) == ("1 raised: [2, 8] · weight [3, 9]", True)
        assert shown._data["nodes"][failed["node"]]["name"] == "TBackward0"

    def test_no_op_ran_in_it(self) -> None:
        """The op before it is not the one that raised."""
        net = nn.Sequential(nn.Conv2d(1, 2, 1), nn.ReLU(), nn.Conv2d(3, 1, 1))
        shown = inspect(net, torch.ones(1, 1, 2, 2))
        failed = shown._data["failed"]
        assert shown._data["nodes"][failed["node"]]["name"] == "ReluBackward0" and not failed["within"]
        assert failed["caption"] == "✕ then 2 raised: [1, 2, 2, 2] · weight [1, 3, 1, 1]"
        assert ">✕<" not in shown.to_svg() and "then 2 raised" in shown.to_svg()

    def test_nothing_ran(self) -> None:
        shown = inspect(nn.Sequential(nn.Conv2d(3, 1, 1)), torch.ones(1, 1, 2, 2))
        assert "failed" not in shown._data and shown.to_png()

    def test_two_inputs_met(self) -> None:
        shown = inspect(Sum(), torch.ones(2, 3, requires_grad=True), torch.ones(2, 4))
        assert shown._data["failed"]["caption"] == "Sum raised: [2, 3] · [2, 4]"
