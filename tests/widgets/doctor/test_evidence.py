"""`checkup` judges on evidence: steps that only look like a fault, each beside one in which the fault is real."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import minigrad
from minigrad_widgets import checkup, explain
from minigrad_widgets.doctor.findings import Finding
from minigrad_widgets.doctor.watch import Watch
from tests.widgets.doctor.models import batch, models


def found(torch: Any, model: Any, loss: Callable[[], Any], rate: float = 0.05) -> list[Finding]:
    """What a checkup finds in three plain steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)

    def step() -> None:
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return checkup(step, model=model, optimizer=optimizer).findings


def rules(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(each.severity, each.rule) for each in findings]


# (N, 1) against (N,), where N is also the width of the model
def inputs_from_labels(torch: Any, model: Any, y: Any) -> Any:
    return torch.nn.functional.cross_entropy(model(torch.linspace(0, 1, 8) * y.unsqueeze(1)), y.long() % 3)


def times_and_frequencies(torch: Any, model: Any, y: Any) -> Any:
    return (model(torch.sin(y.unsqueeze(1) * torch.exp(torch.linspace(0, -3, 8)))) - 1).square().mean()


def a_gate_for_each_example(torch: Any, model: Any, y: Any) -> Any:
    gate = torch.sigmoid(model(torch.ones(8, 8))[:, :1])
    return model(gate * torch.linspace(0, 1, 8)).square().mean()


def all_pairs(torch: Any, model: Any, y: Any) -> Any:
    scores = model(torch.linspace(0, 1, 64).reshape(8, 8))[:, :1]
    return torch.nn.functional.softplus(scores.squeeze(1) - scores).mean()


def a_target_of_one_dimension(torch: Any, model: Any, y: Any) -> Any:
    return (model(torch.linspace(0, 1, 64).reshape(8, 8))[:, :1] - y).square().mean()


@pytest.mark.parametrize("loss", [inputs_from_labels, times_and_frequencies, a_gate_for_each_example, all_pairs,
                                  a_target_of_one_dimension])
def test_a_broadcast_between_prediction_and_loss(torch: Any, loss: Any) -> None:
    model, y = torch.nn.Linear(8, 8), torch.linspace(0, 7, 8)
    got = rules(found(torch, model, lambda: loss(torch, model, y)))
    assert got == ([("error", "broadcast-loss")] if loss is a_target_of_one_dimension else [])


def blocks(torch: Any, depth: int, gate: Callable[[], Any], zeros: bool, skip: bool = True) -> Any:
    """A stack of blocks without a layer before it; `gate` makes what scales a branch."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last, self.gate = nn.Linear(8, 8), nn.Linear(8, 8), nn.Parameter(gate())
            if zeros:
                nn.init.zeros_(self.last.weight)
                nn.init.zeros_(self.last.bias)

        def forward(self, x: Any) -> Any:
            branch = self.gate * self.last(torch.tanh(self.first(x)))
            return x + branch if skip else branch

    return nn.Sequential(*[Block() for _ in range(depth)], nn.Linear(8, 3))


@pytest.mark.parametrize("depth", [3, 4, 8])
@pytest.mark.parametrize("kind", ["rezero", "layerscale", "zeros", "without a way around"])
def test_a_fade_along_the_depth(torch: Any, depth: int, kind: str) -> None:
    gates = {"rezero": lambda: torch.zeros(()), "layerscale": lambda: torch.full((8,), 1e-6),
             "zeros": lambda: torch.ones(())}
    skip = kind in gates
    model = blocks(torch, depth, gates.get(kind, lambda: torch.tensor(1e-2)), kind == "zeros", skip)
    x, y = batch(torch)
    got = rules(found(torch, model, lambda: torch.nn.functional.cross_entropy(model(x), y), rate=1e-4))
    assert got == ([] if skip else [("warning", "vanishing-gradient")])


def experts(torch: Any, choose: str) -> Any:
    nn = torch.nn

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(8, 3) for _ in range(3))
            self.first, self.far = nn.Linear(8, 8), nn.Linear(8, 3)

        def looped(self, x: Any) -> Any:
            return sum(self.first(x).mean() + each(x) for each in self.experts)

    class Loop(Experts):
        def forward(self, x: Any) -> Any:
            x = self.first(x)
            found = torch.zeros(16, 3) + self.far(x)
            for i, expert in enumerate(self.experts):
                if i != 1:
                    found = found + expert(x)
            return found

    class Index(Experts):
        def forward(self, x: Any) -> Any:
            return self.experts[int(x.sum() > 1e6)](self.first(x)) + self.far(x) + self.experts[2](x)

    class Early(Experts):
        def forward(self, x: Any) -> Any:
            if float(x.mean()) < 1e6:
                return self.first(x) @ torch.ones(8, 3) + sum(each(x) for each in self.experts)
            return self.far(x)

    class Forgotten(Experts):
        def forward(self, x: Any) -> Any:
            return self.far(self.first(x)) + self.experts[0](x)

    return {"loop": Loop, "index": Index, "early return": Early, "forgotten": Forgotten}[choose]()


@pytest.mark.parametrize("choose", ["loop", "index", "early return", "forgotten"])
def test_a_parameter_behind_a_branch_is_a_note(torch: Any, choose: str) -> None:
    model, (x, y) = experts(torch, choose), batch(torch)
    (got,) = found(torch, model, lambda: torch.nn.functional.cross_entropy(model(x), y))
    assert (got.severity, got.rule) == ("warning" if choose == "forgotten" else "note", "unused-parameter")
    assert ("did not take" in got.what) == (choose != "forgotten")


@pytest.mark.parametrize("kind", ["dict", "dataclass", "nested"])
def test_what_a_model_returns_in_a_tree_is_seen(torch: Any, kind: str) -> None:
    nn = torch.nn

    @dataclasses.dataclass
    class Output:
        scores: Any

    wraps: dict[str, tuple[Any, Any]] = {
        "dict": (lambda h: {"scores": h}, lambda r: r["scores"]), "dataclass": (Output, lambda r: r.scores),
        "nested": (lambda h: ({"all": [h]}, None), lambda r: r[0]["all"][0])}
    wrap, unwrap = wraps[kind]

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.drop, self.last = nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 3)

        def forward(self, x: Any) -> Any:
            return wrap(self.last(self.drop(self.first(x))))

    model, (x, y) = Net().eval(), batch(torch)
    got = found(torch, model, lambda: torch.nn.functional.cross_entropy(unwrap(model(x)), y))
    assert rules(got) == [("warning", "mode-mismatch")]


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["too large a scale", "an infinite slope"])
def test_an_overflow_while_a_scaler_backs_off(kind: str) -> None:
    torch = pytest.importorskip("torch")
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1e38 if kind == "too large a scale" else 1.0)

    def step() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y) * 100
        if kind == "an infinite slope":
            loss = loss + torch.sqrt(model(x * 0).sum() * 0)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    (got, *_) = checkup(step, model=model, optimizer=optimizer).findings
    assert got.rule in ("nan-forward", "nan-backward")
    assert got.severity == ("note" if kind == "too large a scale" else "error")


@pytest.mark.torch
@pytest.mark.parametrize("name", ["Categorical", "Normal"])
def test_a_cut_is_on_the_path_and_not_in_a_check_of_arguments(name: str) -> None:
    torch = pytest.importorskip("torch")
    policy, critic, (x, _) = torch.nn.Linear(8, 3), torch.nn.Linear(8, 1), batch(torch)
    make = {"Categorical": lambda h: torch.distributions.Categorical(logits=h),
            "Normal": lambda h: torch.distributions.Normal(h, 1.0)}[name]

    def loss() -> Any:
        distribution = make(policy(x))
        actions = distribution.sample()
        chosen = distribution.log_prob(actions).detach()
        return critic(x).square().mean() - chosen.mean()

    (got,) = found(torch, torch.nn.ModuleList([policy, critic]), loss)
    assert got.rule == "cut-graph" and got.evidence["cut by"] == "detach()"
    assert got.where[0].source == "chosen = distribution.log_prob(actions).detach()"


def test_an_error_of_the_doctor_is_not_the_steps_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watch, "add", None)
    model, (x, y) = minigrad.nn.Linear(8, 3), batch(minigrad)
    with pytest.raises(TypeError, match="not callable") as raised:
        checkup(lambda: minigrad.nn.functional.cross_entropy(model(x), y).backward(), model=model)
    assert "is the doctor's own, not the step's" in raised.value.__notes__[0]
    with pytest.raises(TypeError, match="not callable") as raised:
        explain(model, x)
    assert raised.value.__notes__ == ["This error is the doctor's own, not the program's: please report it."]
