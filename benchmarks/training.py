"""Models that learn, written once for minigrad and PyTorch: each function takes the library and gives what to run.

What is run returns what is compared: the loss and the gradients.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks import drawn

__all__ = ["TRAINING", "WARM", "cnn_model", "compiled", "filled"]

Run = Callable[[], Sequence[Any]]
Step = Callable[..., Any]
WARM = 3  # calls before a step that may be compiled is timed: the first is eager, the second traced


def leaves(library: Any, arrays: Sequence[Any]) -> list[Any]:
    """Leaves that require grad."""
    return [library.tensor(array).requires_grad_() for array in arrays]


def filled(library: Any, model: Any, arrays: Sequence[Any]) -> Any:
    """The model with these parameters."""
    with library.no_grad():
        for parameter, array in zip(model.parameters(), arrays, strict=True):
            parameter.copy_(library.tensor(array))
    return model


def repeated(made: Callable[..., tuple[Step, list[Any], list[Any]]], library: Any, **arguments: Any) -> Run:
    """A step on the same inputs each time."""
    step, (inputs, *_), parameters = made(library, **arguments)

    def run() -> Sequence[Any]:
        loss = step(*inputs)
        return [loss, *[p.grad for p in parameters]]

    return run


def learning(library: Any, model: Any, x: Any, y: Any) -> tuple[Step, list[Any], list[Any]]:
    """A step of training, two batches of the same numbers, and the parameters."""
    batches = [(library.tensor(x), library.tensor(y)) for _ in range(2)]
    optimizer = library.optim.SGD(model.parameters(), lr=0.01)
    cross_entropy, parameters = library.nn.functional.cross_entropy, list(model.parameters())

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, batches, parameters


def on_new_inputs(made: Callable[..., tuple[Step, list[Any], list[Any]]], library: Any,
                  compiled: Callable[[Step], Step], **arguments: Any) -> Run:
    """A step that may be compiled, called with other tensors than the time before.

    Gradients are compared once, by the first run; then nobody holds them, as in a loop of training.
    """
    step, batches, parameters = made(library, **arguments)
    step, turns = compiled(step), itertools.cycle(batches)
    for _ in range(WARM):
        step(*next(turns))
    first = [True]

    def run() -> Sequence[Any]:
        loss = step(*next(turns))
        return [loss, *[p.grad for p in parameters]] if first and first.pop() else [loss]

    return run


def mlp(library: Any, batch: int) -> tuple[Step, list[Any], list[Any]]:
    """784-256-128-10 with relu."""
    nn, (x, y, arrays) = library.nn, drawn.mlp(batch)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    return learning(library, filled(library, model, arrays), x, y)


def cnn_model(library: Any, side: int) -> Any:
    """Two convolutions with relu and pool, and a linear layer."""
    nn, (a, b, c) = library.nn, drawn.CNN_CHANNELS
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(b, c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(c * (side // 4) ** 2, 10))


def cnn(library: Any, batch: int, side: int) -> tuple[Step, list[Any], list[Any]]:
    """The CNN, trained."""
    x, y, arrays = drawn.cnn(batch, side)
    return learning(library, filled(library, cnn_model(library, side), arrays), x, y)


def wide_conv(library: Any, batch: int) -> Run:
    """One convolution, forward and backward."""
    x, arrays = drawn.wide_conv(batch)
    x, w, b = leaves(library, [x, *arrays])
    conv2d = library.nn.functional.conv2d

    def run() -> Sequence[Any]:
        x.grad = w.grad = b.grad = None
        loss = conv2d(x, w, b, padding=1).sum()
        loss.backward()
        return [loss, x.grad, w.grad, b.grad]

    return run


def block(library: Any, x: Any, p: Sequence[Any]) -> Any:
    """A transformer block: attention and two layers, each behind a normalisation and beside a shortcut."""
    F = library.nn.functional
    batch, length, width = x.shape
    normal = F.layer_norm(x, (width,), p[0], p[1])
    split = F.linear(normal, p[2], p[3]).reshape(batch, length, 3, drawn.HEADS, -1).permute(2, 0, 3, 1, 4)
    q, k, v = split.unbind(0)
    share = (q @ k.transpose(-2, -1) / math.sqrt(width // drawn.HEADS)).softmax(-1)
    seen = (share @ v).transpose(1, 2).reshape(batch, length, width)
    x = x + F.linear(seen, p[4], p[5])
    normal = F.layer_norm(x, (width,), p[6], p[7])
    return x + F.linear(F.gelu(F.linear(normal, p[8], p[9]), approximate="tanh"), p[10], p[11])


def transformer(library: Any, batch: int, blocks: int) -> tuple[Step, list[Any], list[Any]]:
    """Transformer blocks, one above the other, forward and backward."""
    x, factor, arrays = drawn.transformer(batch, blocks)
    inputs, factor, p = [(library.tensor(x),) for _ in range(2)], library.tensor(factor), leaves(library, arrays)

    def step(h: Any) -> Any:
        for each in p:
            each.grad = None
        for start in range(0, len(p), 12):
            h = block(library, h, p[start:start + 12])
        loss = (h * factor).mean()
        loss.backward()
        return loss

    return step, inputs, p


def lstm(library: Any, batch: int, steps: int) -> Run:
    """An LSTM layer, forward and backward."""
    x, arrays = drawn.lstm(batch, steps)
    model, x = filled(library, library.nn.LSTM(32, 64), arrays), library.tensor(x)

    def run() -> Sequence[Any]:
        model.zero_grad()
        out, _ = model(x)
        loss = out.mean()
        loss.backward()
        return [loss, *[p.grad for p in model.parameters()]]

    return run


def embedding(library: Any, batch: int, words: int) -> tuple[Step, list[Any], list[Any]]:
    """Words looked up, a linear layer, cross-entropy over all words: a step of training."""
    nn, (x, y, arrays) = library.nn, drawn.embedding(batch, words)
    model = nn.Sequential(nn.Embedding(words, 64), nn.Linear(64, words))
    return learning(library, filled(library, model, arrays), x, y)


def optimizer(library: Any, rule: str, count: int) -> Run:
    """Steps of an optimiser over `count` parameters of 64 × 64 with given gradients."""
    p = leaves(library, [drawn.rows(64, 64, seed=i) for i in range(count)])
    for i, each in enumerate(p):
        each.grad = library.tensor(drawn.rows(64, 64, seed=i + count))
    options = {"SGD": {"lr": 1e-3, "momentum": 0.9}, "Adam": {"lr": 1e-3}}[rule]
    made = getattr(library.optim, rule)(p, **options)

    def run() -> Sequence[Any]:
        made.step()
        return [p[0], p[-1]]

    return run


def loading(library: Any, count: int) -> Run:
    """Batches of 64 images of 8 × 8 in random order, all of them once."""
    library.manual_seed(0)
    data = library.utils.data
    loader = data.DataLoader(data.TensorDataset(library.tensor(drawn.rows(count, 1, 8, 8)),
                                                library.tensor(drawn.classes(10, count))), batch_size=64, shuffle=True)

    def run() -> Sequence[Any]:
        for batch in loader:
            last = batch
        return list(last)

    return run


def layer_norm(library: Any, batch: int) -> Run:
    """One normalisation, forward and backward, of (batch, 64, 64)."""
    x, w, b = leaves(library, [drawn.rows(batch, 64, 64), drawn.rows(64, seed=5), drawn.rows(64, seed=6)])
    factor, F = library.tensor(drawn.rows(batch, 64, 64, seed=7)), library.nn.functional

    def run() -> Sequence[Any]:
        x.grad = w.grad = b.grad = None
        y = F.layer_norm(x, (64,), w, b)
        y.backward(factor)
        return [y, x.grad, w.grad, b.grad]

    return run


STEPS: dict[str, Callable[..., tuple[Step, list[Any], list[Any]]]] = {
    "mlp": mlp, "cnn": cnn, "transformer": transformer, "embedding": embedding}
TRAINING: dict[str, Callable[..., Run]] = {
    **{name: functools.partial(repeated, made) for name, made in STEPS.items()}, "wide conv": wide_conv, "lstm": lstm,
    "optimizer": optimizer, "loading": loading, "layer_norm": layer_norm,
}


def compiled(library: Any, wrap: Callable[[Step], Step]) -> dict[str, Callable[..., Run]]:
    """The workloads on new inputs, by steps that `wrap` has compiled."""
    return {f"{name}, new inputs": functools.partial(on_new_inputs, made, library, wrap)
            for name, made in STEPS.items()}
