"""A compiled step leaves what an eager one leaves: results, parameters, gradients, versions, random numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minigrad as torch
from minigrad import nn, optim
from minigrad.nn import functional as F
from minigrad.utils.checkpoint import checkpoint
from tests.unit.compiler.steps import Made, compare

Batch = tuple[Any, Any]


def batch(i: int) -> Batch:
    rng = np.random.default_rng(i)
    return (torch.tensor(rng.standard_normal((8, 6)), dtype=torch.get_default_dtype()),
            torch.tensor(rng.integers(0, 5, 8)))


def images(i: int) -> Batch:
    rng = np.random.default_rng(i)
    return (torch.tensor(rng.standard_normal((4, 1, 6, 6)), dtype=torch.get_default_dtype()),
            torch.tensor(rng.integers(0, 5, 4)))


def words(i: int) -> Batch:
    rng = np.random.default_rng(i)
    return torch.tensor(rng.integers(0, 10, (8, 4))), torch.tensor(rng.integers(0, 5, 8))


def sgd(parameters: Any) -> Any:
    return optim.SGD(parameters, lr=0.1)


def learner(build: Callable[[], Any], rule: Callable[[Any], Any] = sgd, inputs: Callable[[int], Batch] = batch,
            before_step: Callable[[Any], Any] = lambda model: None) -> Callable[[], Made]:
    """A step of training with cross-entropy."""
    def make() -> Made:
        model = build()
        optimizer = rule(model.parameters())

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            before_step(model)
            optimizer.step()
            return loss

        return Made(step, inputs, [*model.parameters(), *model.buffers()])
    return make


def mlp(*middle: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: nn.Sequential(nn.Linear(6, 16), *[make() for make in middle], nn.ReLU(), nn.Linear(16, 5))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.last = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        return self.last(self.lstm(x.reshape(8, 2, 3))[0][:, -1])


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.last = nn.Embedding(10, 6), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        return self.last(self.table(x).mean(1))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = nn.TransformerEncoderLayer(6, 2, 12, dropout=0.1, batch_first=True)
        self.last = nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        return self.last(self.block(x.reshape(2, 4, 6)).reshape(8, 6))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 5)
        self.second.weight = self.first.weight

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.second(torch.tanh(self.first(x)))))


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.2))
        self.last = nn.Linear(16, 5)

    def forward(self, x: Any) -> Any:
        return self.last(checkpoint(self.first, x, use_reentrant=False))


RULES: dict[str, Callable[[Any], Any]] = {
    name: getattr(optim, name)
    for name in ("Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop")}
RULES |= {
    "SGD": sgd,
    "SGD momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
    "Adam amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.01, maximize=False),
    "Adam tensor": lambda p: optim.Adam(p, lr=torch.tensor(0.01)),
    "two groups": lambda p: optim.SGD([{"params": [each], "lr": 0.1 / (i + 1)} for i, each in enumerate(p)], lr=0.1),
}
MODELS: dict[str, Callable[[], Made]] = {
    "dropout": learner(mlp(lambda: nn.Dropout(0.5))),
    "batch norm": learner(mlp(lambda: nn.BatchNorm1d(16))),
    "batch norm, evaluating": learner(lambda: mlp(lambda: nn.BatchNorm1d(16))().eval()),
    "layer norm, gelu": learner(mlp(lambda: nn.LayerNorm(16), lambda: nn.GELU(approximate="tanh"))),
    "tanh, sigmoid, silu": learner(mlp(nn.Tanh, nn.Sigmoid, nn.SiLU)),
    "lstm": learner(Recurrent),
    "embedding": learner(Words, inputs=words),
    "attention": learner(Attention),
    "tied weights": learner(Tied),
    "checkpoint": learner(Checkpointed),
    "convolution": learner(lambda: nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5)), inputs=images),
    "clipping": learner(mlp(), before_step=lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.1)),
    "clipping by value": learner(mlp(), before_step=lambda model: nn.utils.clip_grad_value_(model.parameters(), 0.01)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rule", RULES)
def test_optimizers(rule: str, dtype: str) -> None:
    compare(learner(mlp(), RULES[rule]), dtype=dtype, programs=2 if rule == "RAdam" else 1)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("model", MODELS)
def test_models(model: str, dtype: str) -> None:
    compare(MODELS[model], dtype=dtype)


SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 7, 0.9),
    "CosineAnnealingLR": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 50),
    "ExponentialLR": lambda o: optim.lr_scheduler.ExponentialLR(o, 0.99),
    "OneCycleLR": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.2, total_steps=250),
    "LambdaLR": lambda o: optim.lr_scheduler.LambdaLR(o, lambda k: 1 / (1 + k / 50)),
    "CyclicLR": lambda o: optim.lr_scheduler.CyclicLR(o, 0.01, 0.1, 20),
    "CosineAnnealingWarmRestarts": lambda o: optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 30),
    "LinearLR": lambda o: optim.lr_scheduler.LinearLR(o, total_iters=40),
    "PolynomialLR": lambda o: optim.lr_scheduler.PolynomialLR(o, 300, 2.0),
}


@pytest.mark.parametrize("rule", ["SGD momentum", "Adam"])
@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_change_an_input(name: str, rule: str) -> None:
    def make() -> Made:
        model = mlp()()
        optimizer = RULES[rule](model.parameters())
        scheduler = SCHEDULERS[name](optimizer)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return Made(step, batch, list(model.parameters()), lambda i: scheduler.step())

    compare(make)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_penalty_on_gradients(dtype: str) -> None:
    def make() -> Made:
        model = mlp(nn.Tanh)()
        optimizer = sgd(model.parameters())

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            slopes = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
            total = loss + 0.1 * sum((slope * slope).sum() for slope in slopes)
            total.backward()
            optimizer.step()
            return total, loss

        return Made(step, batch, list(model.parameters()))

    compare(make, dtype=dtype)


def test_gradients_accumulate() -> None:
    """Without and with a `.grad` there are two programs; the optimiser is a third function, compiled too."""
    def make() -> Made:
        model = mlp()()
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def step(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
            return loss

        def after(i: int) -> None:
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

        return Made(step, batch, list(model.parameters()), after)

    compare(make, programs=2)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_zero_grad_at_the_end(set_to_none: bool) -> None:
    def make() -> Made:
        model = mlp()()
        optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)

        def step(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none)
            return loss

        return Made(step, batch, list(model.parameters()))

    compare(make, programs=1 if set_to_none else None)


def test_hooks_run() -> None:
    def make() -> Made:
        model = mlp()()
        optimizer = sgd(model.parameters())
        model[0].weight.register_hook(lambda grad: grad * 2)
        model[0].weight.register_post_accumulate_grad_hook(lambda p: [p.grad.mul_(0.5), None][1])
        model[2].register_forward_hook(lambda module, args, output: output * 1.5)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        return Made(step, batch, list(model.parameters()))

    compare(make)


def test_nan_and_infinity_stay() -> None:
    """A mask is no product: where `where` gives 0, infinity times 0 would give NaN."""
    def make() -> Made:
        w = torch.tensor([-1.0, 2.0, float("nan"), float("inf")], requires_grad=True)

        def step(x: Any) -> Any:
            w.grad = None
            y = torch.relu(w * x)
            y.backward(torch.tensor([float("inf"), float("nan"), 1.0, 2.0]))
            return y, torch.where(x > 0, w.detach(), torch.zeros(4))

        return Made(step, lambda i: (torch.tensor([1.0, -1.0, float("inf"), float(i)]),), [w])

    compare(make, steps=6)


def test_several_compiled_functions() -> None:
    def make() -> Made:
        model = mlp()()
        optimizer = optim.AdamW(model.parameters(), lr=0.01)
        passes = torch.compile(lambda x, y: backward(x, y))
        update = torch.compile(lambda: optimizer.step())

        def backward(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        def step(x: Any, y: Any) -> Any:
            loss = passes(x, y)
            update()
            return loss

        return Made(step, batch, list(model.parameters()))

    compare(make, programs=None)


def test_shapes_that_change() -> None:
    def sized(i: int) -> Batch:
        x, y = batch(i)
        return x[:4 + 2 * (i % 3)], y[:4 + 2 * (i % 3)]

    compare(learner(mlp(), inputs=sized), steps=60, programs=3)


def test_linear_algebra() -> None:
    """What NumPy's linalg gives is a statement; a system that is solved looks at its result, and is a break."""
    def make() -> Made:
        w = torch.eye(3, requires_grad=True)

        def step(x: Any) -> Any:
            w.grad = None
            values = torch.linalg.svdvals(w + x)
            values.sum().backward()
            return values

        return Made(step, lambda i: (torch.arange(9.0).reshape(3, 3) * i,), [w])

    compare(make, steps=5)
    solved = torch.compile(torch.linalg.solve)
    solved(torch.eye(2), torch.ones(2))
    with pytest.warns(UserWarning, match="a condition on data"):
        assert solved(torch.eye(2) * 2, torch.ones(2)).tolist() == [0.5, 0.5]
