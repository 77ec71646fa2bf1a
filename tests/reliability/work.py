"""The kinds of work that are interrupted. Each is a generator of steps, so that the state between them is known."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator

import minigrad as torch
from minigrad import nn
from minigrad.recorder import Trace, record
from minigrad.utils.checkpoint import checkpoint
from minigrad.utils.data import DataLoader, TensorDataset

Work = Callable[[], Iterator[None]]


def forward() -> Iterator[None]:
    x = torch.ones(2, 3, requires_grad=True)
    (x * 2 + x.exp()).matmul(torch.ones(3, 2)).sum(0)[0].relu()
    yield


def backward() -> Iterator[None]:
    x = torch.ones(2, 2, requires_grad=True)
    y = (x * x).exp()
    y.sum().backward(retain_graph=True)
    yield
    grad, = torch.autograd.grad(y.sum(), x, create_graph=True)
    grad.sum().backward()
    assert x.grad is not None
    yield


def modes() -> Iterator[None]:
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad(), torch.enable_grad(), torch.inference_mode():
        x * 2
    yield
    torch.no_grad()(torch.exp)(x)
    with torch.autograd.graph.disable_saved_tensors_hooks("no"), torch.device("cpu"):
        (x * x).sum()
    yield


def hooks() -> Iterator[None]:
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda grad: grad * 2)
    y.grad_fn.register_prehook(lambda grads: None)
    y.grad_fn.register_hook(lambda into, out: None)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        z = (y * y).sum()
    yield
    z.backward()
    yield


def recording() -> Iterator[None]:
    x = torch.ones(2, requires_grad=True)
    layer, trace = nn.Tanh(), None
    try:
        with record() as trace:
            y = layer(x * 2)
            with torch.no_grad():
                y.exp()
            (y + 0).view(2, 1).mul_(3).sum().backward()
    except KeyboardInterrupt:
        if trace is not None:
            Trace.from_json(trace.to_json())  # what had been recorded can be read
        raise
    assert trace.events
    yield


def optimizer_step() -> Iterator[None]:
    layer = nn.Sequential(nn.BatchNorm1d(2), nn.Tanh())  # made without random numbers
    optimizer = torch.optim.Adam(layer.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    yield
    for _ in range(2):
        optimizer.zero_grad()
        layer(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        scheduler.step()
        yield


def checkpointed() -> Iterator[None]:
    x = torch.ones(4, requires_grad=True)
    for reentrant in (False, True):
        y = checkpoint(lambda x: nn.functional.dropout(x.exp(), 0.5).sin(), x, use_reentrant=reentrant)
        yield
        y.sum().backward()
        yield


def loading() -> Iterator[None]:
    data = TensorDataset(torch.arange(6).reshape(6, 1), torch.arange(6))
    loader = DataLoader(data, batch_size=4, shuffle=True)
    batches = iter(loader)
    yield
    for _ in batches:
        yield


def random_numbers() -> Iterator[None]:
    torch.manual_seed(0)
    yield
    for draw in (lambda: torch.randn(20), lambda: torch.ones(2).bernoulli_(0.5),
                 lambda: torch.rand(2), lambda: torch.randperm(5), lambda: torch.empty(3).exponential_(),
                 lambda: torch.multinomial(torch.ones(4), 2)):
        draw()
        yield
    with torch.random.fork_rng():
        torch.rand(3)
    yield


def in_place() -> Iterator[None]:
    x = torch.zeros(3)
    x.add_(1)
    yield
    x[0] = 2
    x[1:].mul_(3)
    yield
    x.copy_(torch.ones(3))
    torch.relu_(x)
    yield


def anomaly() -> Iterator[None]:
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            (x * 2).sum().backward()
    yield


def files() -> Iterator[None]:
    file = io.BytesIO()
    torch.save({"x": torch.ones(2)}, file)
    file.seek(0)
    torch.load(file)
    yield


def compiled() -> Iterator[None]:
    weight = torch.ones(2, requires_grad=True)

    def step(x: torch.Tensor) -> torch.Tensor:
        loss = nn.functional.dropout(x * weight, 0.5).sum()
        loss.backward()
        weight.grad = None
        return loss

    compiled_step = torch.compile(step, backend="numpy")  # with numba each trace would compile for seconds
    for _ in range(3):  # the first call runs as it is, the second one traces, the third one runs the program
        compiled_step(torch.ones(2))
        yield


KINDS: dict[str, Work] = {
    "forward": forward, "backward": backward, "grad modes": modes, "hooks": hooks, "recording": recording,
    "optimizer step": optimizer_step, "checkpoint": checkpointed, "DataLoader": loading,
    "random numbers": random_numbers, "writes in place": in_place, "anomaly mode": anomaly, "files": files,
    "compile": compiled,
}


def run(work: Work) -> None:
    """All steps of a kind of work."""
    for _ in work():
        pass
