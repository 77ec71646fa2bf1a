"""What `checkup` advises: in the form of the line that is to blame, and for the object that it is about."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from minigrad_widgets import checkup
from minigrad_widgets.doctor import Finding
from tests.widgets.doctor.models import batch, models

LIBRARIES = ["minigrad", pytest.param("torch", marks=pytest.mark.torch)]


@pytest.fixture(params=LIBRARIES)
def torch(request: pytest.FixtureRequest) -> Any:
    pytest.importorskip(request.param)
    return importlib.import_module(request.param)


def snippets(finding: Finding) -> list[str]:
    return [mend.code for mend in finding.mends]


def test_the_optimizer_that_holds_the_gradients_is_to_zero_them(torch: Any) -> None:
    G, D = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1)
    first, second = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)

    def step() -> None:
        first.zero_grad()
        torch.tanh(D(G(torch.randn(16, 4)))).mean().backward()
        first.step()
        second.step()

    (found,) = checkup(step, model=[G, D], optimizer=[first, second]).findings
    assert found.rule == "grad-accumulates" and snippets(found)[0].startswith("second.zero_grad()")


@pytest.mark.parametrize("kind", ["list", "dict", "tensor"])
def test_what_holds_the_graph_is_released_in_its_own_form(torch: Any, kind: str) -> None:
    model, (x, y) = models(torch).MLP(), batch(torch)
    history: list[Any] = []
    log: dict[str, Any] = {"total": 0.0}
    total = torch.zeros(())

    def step() -> None:
        nonlocal total
        model.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        if kind == "list":
            history.append(loss)
        elif kind == "dict":
            log["total"] += loss
        else:
            total = total + loss

    (found,) = checkup(step, model=model).findings
    assert found.rule == "graph-grows"
    assert snippets(found) == {"list": ["history.append(loss.item())", "history.append(loss.detach())"],
                               "dict": ['log["total"] += loss.item()', 'log["total"] += loss.detach()'],
                               "tensor": ["value = loss.item()", "total = total.detach()"]}[kind]


def test_a_choice_is_what_cut_the_graph_and_not_the_method_float(torch: Any) -> None:
    model, (x, y) = models(torch).MLP(), batch(torch)

    def step() -> None:
        loss = 1 - (model(x).argmax(1) == y).float().mean()
        loss.backward()

    (found,) = checkup(step, model=model).findings
    assert found.rule == "no-graph-loss" and "cut by float" not in found.what
    assert "smooth function" in found.mends[0].what


def test_an_update_that_binds_a_new_tensor(torch: Any) -> None:
    w, x = torch.ones(8, requires_grad=True), torch.randn(16, 8)

    def step() -> None:
        nonlocal w
        loss = ((x @ w) ** 2).mean()
        loss.backward()
        w = w - 0.1 * w.grad

    with pytest.warns(UserWarning, match="is not a leaf Tensor is being accessed"):
        (found,) = checkup(step).findings
    assert found.rule == "not-a-leaf" and found.where[0].source == "w = w - 0.1 * w.grad"
    assert snippets(found) == ["with torch.no_grad():\n    w -= lr * w.grad\nw.grad = None"]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # NumPy warns of the mean of nothing, PyTorch not
def test_a_batch_without_a_sample(torch: Any) -> None:
    model, (x, y) = models(torch).MLP(), batch(torch)

    def step() -> None:
        model.zero_grad()
        torch.nn.functional.mse_loss(model(x)[:0], x[:0, :3]).backward()

    found = checkup(step, model=model).findings[0]
    assert found.rule == "nan-forward" and "an empty tensor" in found.what
    assert snippets(found) == ["if len(x) == 0:\n    return"]
    del y


def test_an_optimizer_that_steps_between_two_passes(torch: Any) -> None:
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        scores = model(x)
        first, second = torch.nn.functional.cross_entropy(scores, y), (scores ** 2).mean()
        first.backward(retain_graph=True)
        optimizer.step()
        second.backward()

    found = checkup(step, model=model, optimizer=optimizer).findings[0]
    assert found.rule == "inplace-on-saved" and found.where[0].source == "optimizer.step()"
    assert found.mends[0].what == "Step the optimizer after all backward passes."


def test_a_generator_is_no_step() -> None:
    def step() -> Any:
        yield 1

    with pytest.raises(TypeError, match="calling a generator or coroutine function runs nothing of its body"):
        checkup(step)


@pytest.mark.parametrize("healthy", [True, False])
def test_clipping_before_the_backward_pass(torch: Any, healthy: bool) -> None:
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        if healthy:
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            loss.backward()
        optimizer.step()

    found = checkup(step, model=model, optimizer=optimizer).findings
    assert [(each.rule, "when there are none yet" in each.what) for each in found] == (
        [] if healthy else [("wrong-order", True)])


def test_a_schedule_that_steps_first(torch: Any) -> None:
    model, (x, y) = models(torch).MLP(), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

    def step() -> None:
        schedule.step()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    with pytest.warns(UserWarning, match="before `optimizer.step"):
        (found,) = checkup(step, model=model, optimizer=optimizer).findings
    assert (found.rule, found.where[0].source) == ("wrong-order", "schedule.step()")


CONTAINERS = {
    "ModuleList": "[torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)]",
    "ModuleDict": "{'one': torch.nn.Linear(8, 8), 'two': torch.nn.Linear(8, 8)}",
    "ParameterList": "[torch.nn.Parameter(torch.eye(8)), torch.eye(8).requires_grad_()]",
    "ParameterDict": "{'one': torch.nn.Parameter(torch.eye(8)), 'two': torch.nn.Parameter(torch.eye(8))}",
}


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("form", ["plain", "one_by_one", "nested"])
def test_what_a_plain_container_hides_is_to_be_registered(torch: Any, tmp_path: Path, kind: str, form: str) -> None:
    value = CONTAINERS[kind] if form != "nested" else f"[{CONTAINERS[kind]}]"
    if form == "nested" and not kind.startswith("Module"):
        pytest.skip("nothing looks for tensors that deep")
    empty = value[0] + value[-1]
    add = "update" if value[0] == "{" else "extend"
    made = f"self.parts = {value}" if form != "one_by_one" else f"self.parts = {empty}; self.parts.{add}({value})"
    path = tmp_path / "hiding.py"
    path.write_text("class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                    f"        {made}\n        self.last = torch.nn.Linear(8, 3)\n")
    names: dict[str, Any] = {"torch": torch, "__name__": "hiding"}
    exec(compile(path.read_text(), path, "exec"), names)
    model, (x, y) = names["Net"](), batch(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> None:
        h, parts = x, model.parts[0] if form == "nested" else model.parts
        for each in parts.values() if isinstance(parts, dict) else parts:
            h = torch.tanh(each(h) if kind.startswith("Module") else h @ each)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model.last(h), y).backward()
        optimizer.step()

    (found,) = checkup(step, model=model).findings
    assert found.rule == "not-in-optimizer" and found.where[0].source == made
    given = {"plain": value, "nested": f"[nn.{kind}(each) for each in self.parts]"}.get(form)
    outer = "ModuleList" if form == "nested" else kind
    if form != "one_by_one":
        assert snippets(found) == [f"self.parts = nn.{outer}({given})"]
    assert f"model.{'parts[0]' if value[0] == '[' else 'parts'}" in found.what and "model.parameters()" in found.what


def iterate(torch: Any, model: Any, optimizer: Any, loss: Any = None) -> Any:
    x, y = batch(torch)

    def step() -> None:
        optimizer.zero_grad()
        (loss or torch.nn.functional.cross_entropy)(model(x), y).backward()
        optimizer.step()

    return step


def test_an_optimizer_of_another_model_is_said_to_be_that(torch: Any) -> None:
    other, net = models(torch).MLP(), models(torch).MLP()
    updates = torch.optim.Adam(other.parameters(), lr=0.03)

    def step() -> None:
        iterate(torch, net, updates)()

    (found,) = checkup(step).findings
    assert found.rule == "stale-in-optimizer" and found.what.startswith(
        "updates holds the parameters of other, another model than net")
    assert snippets(found) == ["updates = Adam(net.parameters(), lr=0.03)"]
    (found,) = checkup(iterate(torch, net, updates)).findings  # which does not show where it was created
    assert "they are those of another model, or model was made anew after" in found.what


def test_a_model_that_was_made_anew_is_said_to_be_that(torch: Any) -> None:
    net = models(torch).MLP()
    updates = torch.optim.SGD(net.parameters(), lr=0.3)
    net = models(torch).MLP()

    def step() -> None:
        iterate(torch, net, updates)()

    (found,) = checkup(step).findings
    assert found.rule == "stale-in-optimizer" and "net was made anew, or copied" in found.what
    assert snippets(found) == ["updates = SGD(net.parameters(), lr=0.3)"]


@pytest.mark.parametrize("dim, given", [(0, "that add up to 1 along dimension 0, over "),
                                        (1, "probabilities: its slope"),
                                        (None, "from 0 to 1, which add up to 1 nowhere")])
def test_probabilities_are_not_said_to_be_raw_scores(torch: Any, dim: int | None, given: str) -> None:
    F, net = torch.nn.functional, models(torch).MLP()

    def loss(scores: Any, y: Any) -> Any:
        return F.nll_loss(torch.sigmoid(scores) if dim is None else F.softmax(scores, dim), y)

    found = checkup(iterate(torch, net, torch.optim.SGD(net.parameters(), lr=0.1), loss), model=net).findings
    assert [each.rule for each in found] == ["loss-contract"] and given in found[0].what
    assert "raw scores" not in found[0].what and "without bound" not in found[0].what


@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
@pytest.mark.parametrize("layers", [1, 8])
def test_a_rate_that_is_far_too_high_is_one_finding(torch: Any, layers: int) -> None:
    nn = torch.nn
    torch.manual_seed(0)
    net = nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(8, 8), nn.ReLU())), nn.Linear(8, 3))
    updates = torch.optim.SGD(net.parameters(), lr=1e4)
    found = checkup(iterate(torch, net, updates), model=net, optimizer=updates).findings
    assert [each.rule for each in found] == ["learning-rate"]
    assert "tenth" not in str(found[0].mends[0])
