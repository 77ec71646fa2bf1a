"""What a checkup leaves as it was: all that a step can change of what it trains, and also when the step fails."""

from __future__ import annotations

import copy
import enum
import inspect
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from minigrad_widgets import checkup
from minigrad_widgets.doctor.library import is_tensor

Change = Callable[[Any, Any], None]
CHANGES: list[Change] = []
LEAVES = (str, int, float, bool, bytes, type(None), type, enum.Enum)


def change(function: Change) -> Change:
    CHANGES.append(function)
    return function


class Average:
    """The average of a model's parameters, as people write it."""

    def __init__(self, model: Any) -> None:
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}
        self.copies = [p.detach().clone() for p in model.parameters()]


class World:
    """A model and all that trains it."""

    def __init__(self, torch: Any) -> None:
        class Net(torch.nn.Module):  # type: ignore[misc, name-defined]  # of a library that is chosen at run time
            def __init__(self) -> None:
                super().__init__()
                self.first, self.norm, self.last = torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)
                self.register_buffer("seen", torch.zeros(()))
                self.register_buffer("memory", torch.zeros(3))
                self.kept = [torch.zeros(2)]
                self.calls = 0

            def forward(self, x: Any) -> Any:
                self.calls += 1
                self.seen.add_(1)
                return self.last(torch.relu(self.norm(self.first(x))))

        self.model = Net()
        self.lazy = torch.nn.LazyLinear(2)
        self.twin = copy.deepcopy(self.model)
        self.average = Average(self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.01)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 2)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        self.generator = torch.Generator()
        self.x = torch.randn(8, 4)
        self.model.first.weight.register_hook(lambda grad: grad * 2)
        self.model.last.register_forward_hook(lambda module, args, output: None)

    def train(self) -> None:
        """One ordinary iteration."""
        self.optimizer.zero_grad()
        self.scaler.scale(self.model(self.x).square().mean()).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.schedule.step()


@change
def nothing_else(torch: Any, w: World) -> None:
    """Only what every step changes."""


@change
def hooks_of_modules(torch: Any, w: World) -> None:
    w.model.first.register_forward_hook(lambda module, args, output: None)
    w.model.first.register_forward_pre_hook(lambda module, args: None, prepend=True)
    w.model.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    w.model.register_state_dict_pre_hook(lambda *args: None)
    w.model.last._forward_hooks.clear()


@change
def hooks_of_tensors(torch: Any, w: World) -> None:
    w.model.first.weight.register_hook(lambda grad: grad * 3)
    w.model.last.weight.register_hook(lambda grad: grad * 3)
    w.model.last.bias.register_post_accumulate_grad_hook(lambda p: None)


@change
def hooks_of_optimizers(torch: Any, w: World) -> None:
    w.optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: None)
    w.optimizer.register_state_dict_post_hook(lambda optimizer, state: None)


@change
def hooks_of_everything(torch: Any, w: World) -> None:
    module, optimizer = (sys.modules[cls.__module__] for cls in (torch.nn.Module, torch.optim.Optimizer))
    module.register_module_forward_hook(lambda module, args, output: None)
    module.register_module_full_backward_hook(lambda module, grad_input, grad_output: None)
    optimizer.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: None)


@change
def buffers(torch: Any, w: World) -> None:
    w.model.seen = w.model.seen + 1
    w.model.register_buffer("new", torch.zeros(2))
    w.model.memory.data = torch.ones(5)
    w.model.kept.append(torch.ones(1))
    w.model.kept[0].add_(1)
    del w.twin.memory


@change
def a_buffer_that_enters_the_graph(torch: Any, w: World) -> None:
    w.model.memory.add_(w.model.first.weight.sum())


@change
def parameters_and_modules(torch: Any, w: World) -> None:
    w.model.extra = torch.nn.Parameter(torch.zeros(2))
    w.model.first.bias = None
    w.model.last = torch.nn.Linear(4, 3)
    w.model.add_module("head", torch.nn.Linear(2, 2))
    w.model.note = "an attribute"
    w.model.first.weight.note = "of a tensor"


@change
def classes(torch: Any, w: World) -> None:
    torch.nn.utils.parametrizations.weight_norm(w.model.first)
    w.lazy(w.x)


@change
def what_parameters_are(torch: Any, w: World) -> None:
    w.model.first.weight.data = torch.ones(4, 4)
    w.model.last.bias.data = torch.ones(3)
    w.model.last.weight.requires_grad_(False)
    w.model.norm.weight.grad = torch.ones(4)
    w.twin.double()


@change
def modes(torch: Any, w: World) -> None:
    w.model.eval()
    w.model.norm.train()
    torch.set_grad_enabled(False)
    torch.autograd.set_detect_anomaly(True)
    torch.set_default_dtype(torch.float64)


@change
def options_of_an_optimizer(torch: Any, w: World) -> None:
    w.optimizer.defaults["lr"] = 3.0
    w.optimizer.param_groups[0].update(lr=2.0, note="a key")
    w.optimizer.param_groups[0]["params"].pop()
    w.optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(2))]})
    w.optimizer.mine = 1


@change
def state_of_an_optimizer(torch: Any, w: World) -> None:
    for state in w.optimizer.state.values():
        state["exp_avg"].add_(1)
        state["exp_avg_sq"] = torch.zeros(1)
        state["more"] = 1
    w.optimizer.state.pop(w.model.first.weight, None)


@change
def a_state_that_is_loaded(torch: Any, w: World) -> None:
    w.optimizer.load_state_dict(w.optimizer.state_dict())
    w.schedule.load_state_dict({**w.schedule.state_dict(), "gamma": 0.5})
    w.model.load_state_dict({key: torch.ones_like(value) for key, value in w.model.state_dict().items()})


@change
def another_schedule(torch: Any, w: World) -> None:
    torch.optim.lr_scheduler.ExponentialLR(w.optimizer, 0.5)
    w.schedule.step_size = 5


@change
def steps_that_a_scaler_skips(torch: Any, w: World) -> None:
    w.optimizer.zero_grad()
    w.scaler.scale(w.model(w.x).sum() * float("inf")).backward()
    w.scaler.step(w.optimizer)
    w.scaler.update()


@change
def averages(torch: Any, w: World) -> None:
    for name, p in w.model.named_parameters():
        w.average.shadow[name] = 0.9 * w.average.shadow[name] + 0.1 * p.detach()
    for old, p in zip(w.average.copies, w.model.parameters(), strict=True):
        old.mul_(0.9).add_(p.detach(), alpha=0.1)
    w.average.copies.append(w.x)
    w.twin.load_state_dict(w.model.state_dict())


@change
def random_numbers(torch: Any, w: World) -> None:
    random.random()
    np.random.rand()
    torch.rand(2)
    torch.rand(2, generator=w.generator)


def picture(value: Any, path: str, found: dict[str, Any]) -> None:
    """Enter all there is to see of a value into `found`, by path: what it is, what it holds, which object it is."""
    if isinstance(value, LEAVES) or inspect.isroutine(value) or inspect.ismodule(value):
        found[path] = value
        return
    seen = found.setdefault("seen", set())
    found[f"{path} is"] = id(value), type(value)
    if id(value) in seen:
        return
    seen.add(id(value))
    if is_tensor(value):
        data = value.data  # an uninitialized parameter has no more than that
        found[f"{path} holds"] = (str(data.dtype), data.data_ptr(), str(data.tolist()), value.requires_grad,
                                  value.is_leaf)
        found[f"{path} hooks"] = list((value._backward_hooks or {}).items()), hooks_after(value)
        picture(value.grad, f"{path}.grad", found)
    if isinstance(value, dict):
        found[f"{path} keys"] = list(value)
        for key, each in value.items():
            picture(each, f"{path}[{key if isinstance(key, str) else id(key)}]", found)
    elif isinstance(value, (list, tuple)):
        found[f"{path} length"] = len(value)
        for i, each in enumerate(value):
            picture(each, f"{path}[{i}]", found)
    elif type(value).__name__ == "Generator":
        found[path] = value.get_state().tolist()
    for key, each in getattr(value, "__dict__", {}).items():
        picture(each, f"{path}.{key}", found)


def hooks_after(tensor: Any) -> Any:
    """The hooks that a backward pass calls with a leaf whose gradient has been added."""
    extras = getattr(tensor, "_extras", None)
    hooks = getattr(tensor, "_post_accumulate_grad_hooks", None) if extras is None else extras.post_accumulate
    return list((hooks or {}).items())


def shared(torch: Any) -> dict[str, Any]:
    """What is kept for all modules and optimizers together, by name."""
    modules = [sys.modules[cls.__module__] for cls in (torch.nn.Module, torch.optim.Optimizer)]
    return {name: each for module in modules for name, each in vars(module).items()
            if name.startswith(("_global", "EVERY_MODULE"))}


def everything(torch: Any, w: World) -> dict[str, Any]:
    """What a step of this world can change."""
    found: dict[str, Any] = {"random": random.getstate(), "numpy": np.random.get_state()[1].tolist(),
                             "library": torch.get_rng_state().tolist(), "grad": torch.is_grad_enabled(),
                             "anomaly": torch.is_anomaly_enabled(), "dtype": torch.get_default_dtype()}
    picture(w, "w", found)
    picture(shared(torch), "shared", found)
    return {key: each for key, each in found.items() if key not in ("seen", "shared is")}


@pytest.fixture
def shared_by_all(torch: Any) -> Iterator[None]:
    """Put back what a failure of these tests would leave changed for others."""
    kept = [(hooks, dict(hooks)) for hooks in shared(torch).values() if isinstance(hooks, dict)]
    dtype = torch.get_default_dtype()
    yield
    for hooks, before in kept:
        if len(hooks) != len(before):
            hooks.clear()
            hooks.update(before)
    torch.set_default_dtype(dtype)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of anomaly mode, of a schedule made after a step, of LazyLinear
@pytest.mark.parametrize("warm, fails", [(True, False), (False, True)], ids=["done", "failed"])
@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: str(changes.__name__))
@pytest.mark.usefixtures("shared_by_all")
def test_all_is_as_before(torch: Any, changes: Change, warm: bool, fails: bool) -> None:
    w = World(torch)
    if warm:
        w.train()

    def step() -> None:
        w.train()
        changes(torch, w)
        if fails:
            raise KeyError("half-way")

    before = everything(torch, w)
    if fails:
        with pytest.raises(KeyError, match="half-way"):
            checkup(step, steps=1)
    else:
        checkup(step, steps=1)
    after = everything(torch, w)
    assert {key for key in {**before, **after} if before.get(key, ...) != after.get(key, ...)} == set()
