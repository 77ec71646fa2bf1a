"""Any call and any result can be inspected and checked up, with PyTorch and with minigrad alike."""

from __future__ import annotations

import functools
import importlib
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, fields
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import minigrad
from minigrad_widgets import Inspector, checkup, explain, inspect
from minigrad_widgets.graph.folding import Folding
from minigrad_widgets.graph.layout import compute_layout

pytestmark = pytest.mark.torch


@pytest.fixture(params=["minigrad", "torch"])
def lib(request: pytest.FixtureRequest, torch: ModuleType) -> Any:
    return torch if request.param == "torch" else minigrad


def begun(inspector: Inspector) -> list[str]:
    """Return the names of the nodes at which passes began."""
    trace = inspector._trace
    return [trace.nodes[root[0]]["name"] for event in trace.events if event["kind"] == "backward_start"
            for root in event["roots"]]


class Thrice:
    """An object that can be called."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __call__(self) -> Any:
        return self.x * 3


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any) -> Any:
        return function(*args)

    return run


def defaulted(x: Any) -> Callable[..., Any]:
    def run(inner: Any = x) -> Any:
        return inner * 2

    return run


CALLS = {
    "a method of a tensor": (lambda lib, x: (x.mean,), "MeanBackward0"),
    "a method with arguments": (lambda lib, x: (x.mean, 0), "MeanBackward1"),
    "a partial": (lambda lib, x: (functools.partial(lib.mul, x, 3),), "MulBackward0"),
    "a partial with keywords": (lambda lib, x: (functools.partial(lib.mul, other=x), 3 * x), "MulBackward0"),
    "a built-in": (lambda lib, x: (lib.mul, x, 3), "MulBackward0"),
    "a built-in of a list": (lambda lib, x: (lib.cat, [x, x]), "CatBackward0"),
    "an object": (lambda lib, x: (Thrice(x),), "MulBackward0"),
    "a method of an object": (lambda lib, x: (Thrice(x).__call__,), "MulBackward0"),
    "a lambda": (lambda lib, x: (lambda: x.exp(),), "ExpBackward0"),
    "a decorated function": (lambda lib, x: (logged(lambda y: y * 2), x), "MulBackward0"),
    "a function with a default": (lambda lib, x: (defaulted(x),), "MulBackward0"),
    "what is in a dict": (lambda lib, x: (lambda given: given["x"] * 2, {"x": x}), "MulBackward0"),
}


@pytest.mark.parametrize("name", CALLS)
def test_any_call_is_recorded(lib, name) -> None:
    make, node = CALLS[name]
    inspector = inspect(*make(lib, lib.ones(2, 3, requires_grad=True)))
    assert begun(inspector) == [node]
    assert inspector._trace.library.startswith(lib.__name__)


@pytest.mark.filterwarnings("ignore:.*torch.jit")  # it still works; the class of the warning is another from 2.14 on
def test_scripted_and_compiled_functions_are_recorded(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    assert begun(inspect(torch.jit.trace(lambda x: x.exp(), x), x)) == ["ExpBackward0"]
    assert begun(inspect(torch.compile(lambda x: x * 2, backend="eager"), x)) == ["MulBackward0"]


@dataclass
class Output:
    """What a model returns."""

    logits: Any
    loss: Any = None


class ModelOutput(OrderedDict[str, Any]):
    """A dict whose items are attributes too, as in transformers."""

    def __post_init__(self) -> None:
        self.update({each.name: getattr(self, each.name) for each in fields(self)})


@dataclass
class PublicOutput(ModelOutput):
    """As a transformer returns it."""

    logits: Any = None
    loss: Any = None


Pair = namedtuple("Pair", "first second")

RESULTS = {
    "the only one of a dataclass": (lambda a, b: Output(a.exp()), "ExpBackward0"),
    "the loss of a dataclass": (lambda a, b: Output(a.exp(), b.sum()), "SumBackward0"),
    "the loss of a public model": (lambda a, b: PublicOutput(a.exp(), b.sum()), "SumBackward0"),
    "the loss of a dict": (lambda a, b: {"logits": a.sum(), "loss": b.log()}, "LogBackward0"),
    "the nearest loss": (lambda a, b: {"more": [Output(a, a.sum())], "loss": b.log()}, "LogBackward0"),
    "the only scalar of a named tuple": (lambda a, b: Pair(a.exp(), b.sum()), "SumBackward0"),
    "the only scalar of a tree": (lambda a, b: [a, {"x": SimpleNamespace(y=(b.sum(),))}, "text"], "SumBackward0"),
    "the only one with a graph": (lambda a, b: (a.detach(), b.exp()), "ExpBackward0"),
    "one that is there twice": (lambda a, b: [c := b.exp(), c], "ExpBackward0"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_backward_pass_is_of_the_tensor_that_is_meant(lib, name) -> None:
    make, node = RESULTS[name]
    inspector = inspect(make, lib.ones(3, requires_grad=True), lib.ones(3, requires_grad=True))
    assert begun(inspector) == [node]
    said = [note["text"] for note in inspector._trace.notes]  # which is a loss, and of which this is the sum's pass
    assert bool(said) == (node == "ExpBackward0")
    assert all("is no loss: this is the backward pass of its sum" in text for text in said)


@pytest.mark.parametrize(("make", "paths"), [
    (lambda a, b: {"logits": a.exp(), "hidden": b.exp()}, 'out["logits"], out["hidden"]'),
    (lambda a, b: Output(a.exp(), [b.exp(), b.log()]), "out.logits, out.loss[0], out.loss[1]"),
    (lambda a, b: PublicOutput((a.exp(), b.exp())), "out.logits[0], out.logits[1]"),
    (lambda a, b: [a.sum(), b.sum()], "out[0], out[1]"),
    (lambda a, b: [a * i for i in range(8)], "out[0], out[1], out[2], out[3], out[4], out[5] and 2 more"),
])
def test_a_result_that_could_mean_several_tensors_is_listed(lib, make, paths) -> None:
    inspector = inspect(make, lib.ones(3, requires_grad=True), lib.ones(3, requires_grad=True))
    assert begun(inspector) == []
    note, = inspector._trace.notes
    assert f"graph, {paths}, so no backward pass was run" in note["text"]
    assert (inspector.lens, inspector.step) == ("forward", len(inspector._trace) - 1)
    choice = note["text"].rpartition("loss_fn=")[2]
    loss_fn = eval(choice)
    assert begun(inspect(make, lib.ones(3, requires_grad=True), lib.ones(3, requires_grad=True), loss_fn=loss_fn))


def test_a_result_that_holds_itself(lib) -> None:
    x = lib.ones(3, requires_grad=True)
    ring: list[Any] = []
    assert begun(inspect(lambda: ring.append(ring) or ring.append(x.exp()) or ring)) == ["ExpBackward0"]


@pytest.mark.parametrize("tool", [inspect, explain, checkup])
def test_what_runs_nothing_of_its_body_is_refused(tool) -> None:
    def generator() -> Any:
        yield 1

    async def coroutine() -> None: ...

    for function in (generator, coroutine, functools.partial(generator)):
        with pytest.raises(TypeError, match="runs nothing of its body"):
            tool(function)


@pytest.mark.parametrize("name", ["a function", "a decorated function", "a partial", "an object", "a compiled one"])
def test_any_step_is_checked_up_with_its_model_by_name(torch, name) -> None:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(*unused: int) -> None:
        optimizer.zero_grad()
        model(torch.ones(2, 3)).square().mean().backward()
        optimizer.step()

    class Step:
        def __call__(self) -> None:
            step()

    steps = {"a function": step, "a decorated function": logged(step), "a partial": functools.partial(step, 1),
             "an object": lambda: Step()(), "a compiled one": torch.compile(step, backend="eager")}
    report = checkup(steps[name], model=model if name == "an object" else None)
    assert report.ok
    assert "model.weight" in report.gradients


def test_errors_of_any_call_are_explained(torch) -> None:
    x = torch.ones(3, requires_grad=True)
    for call in (x.backward, functools.partial(torch.Tensor.backward, x), torch.compile(x.backward, backend="eager")):
        assert explain(call).rule == "not-a-scalar"
    assert importlib.import_module("minigrad_widgets.doctor.library").library_of([x.backward]).name == "torch"


LINEAR = ["AccumulateGrad", "TBackward0", "AccumulateGrad", "AddmmBackward0"]
SMALL_MODELS = {  # the layers, the loss, and the boxes that the model opens with
    "mlp": (lambda nn: nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), "cross_entropy",
            ["0", "1", "2", "loss"]),
    "without a loss": (lambda nn: nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), None, ["0", "1", "2"]),
    "nested": (lambda nn: nn.Sequential(nn.Sequential(nn.Flatten(), nn.Linear(3, 2)), nn.Sigmoid()), "mse_loss",
               ["0.1", "1", "loss"]),
    "a sum": (lambda nn: summed(nn, nn.Linear(3, 2), nn.Linear(3, 2)), "cross_entropy",
              ["layers.0", "layers.1", "AddBackward0", "loss"]),
    "one layer": (lambda nn: nn.Sequential(nn.Flatten(), nn.Linear(3, 2)), "cross_entropy",
                  [*LINEAR, "LogSoftmaxBackward0", "NllLossBackward0"]),
}


def summed(nn: Any, *layers: Any) -> Any:
    """Return a module that adds what its layers make of the same input."""
    class Summed(nn.Module):  # type: ignore[misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(layers)

        def forward(self, x: Any) -> Any:
            return self.layers[0](x) + self.layers[1](x)

    return Summed()


@pytest.mark.parametrize("name", SMALL_MODELS)
def test_a_small_model_opens_as_its_layers(lib: Any, name: str) -> None:
    """One layer and its loss are drawn whole: a map would have two boxes."""
    make, loss, wanted = SMALL_MODELS[name]
    target = {"cross_entropy": lib.tensor([0, 1, 0, 1, 1]), "mse_loss": lib.zeros(5, 2)}.get(loss)
    given = {} if loss is None else {"target": target, "loss_fn": getattr(lib.nn.functional, loss)}
    data = inspect(make(lib.nn), lib.ones(5, 3), **given)._data
    boxes = Folding(data, data["folded"], compute_layout).data["nodes"] if data["folded"] else data["nodes"]
    assert [box["name"] for box in boxes] == wanted
